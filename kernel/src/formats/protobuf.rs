//! Protocol Buffers' encoding into columns, by the plan of a message.
//!
//! Fields come in any order and may come again: a first pass over a message notes where each is (the last of a
//! scalar, all of a message), a second fills the columns.

use std::collections::HashMap;
use std::mem;

use serde_json::Value;

use super::failure::{Failure, Outcome};
use super::plan;
use super::wire::{Input, unzigzag};
use crate::arrow::DataType;
use crate::arrow::tree::Column;

pub struct MessageType {
    /// In the order of the columns.
    pub fields: Vec<MessageField>,
    by_number: HashMap<u32, usize>,
}

pub struct MessageField {
    pub name: String,
    pub number: u32,
    pub kind: Kind,
    pub shape: Shape,
}

pub enum Shape {
    /// Without a value it has its type's default (proto3 without `optional`).
    Implicit,
    /// Without a value it is null. Of those with the same group one has a value at most.
    Optional {
        oneof: Option<u64>,
    },
    Required,
    Repeated {
        is_packed: bool,
    },
    Map {
        key: Box<Kind>,
    },
}

pub enum Kind {
    Double,
    Float,
    /// int32, int64 and bool's kin: two's complement of 64 bits.
    Int32,
    Int64,
    Uint32,
    /// Into a decimal.
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    /// Into a decimal.
    Fixed64,
    Sfixed32,
    Sfixed64,
    Bool,
    String,
    Bytes,
    Enum(Symbols),
    Message(MessageType),
    /// A message of google.protobuf that has one field, `value`.
    Wrapper(Box<Kind>),
    /// google.protobuf.Timestamp and google.protobuf.Duration: seconds and nanoseconds.
    Time,
}

pub struct Symbols {
    by_number: HashMap<i32, String>,
    pub by_name: HashMap<String, i32>,
    default: String,
}

pub const VARINT: u8 = 0;
pub const FIXED64: u8 = 1;
pub const LENGTH: u8 = 2;
const GROUP: u8 = 3;
const END_GROUP: u8 = 4;
pub const FIXED32: u8 = 5;

const MAX_GROUP_DEPTH: usize = 64;

impl MessageType {
    pub fn new(given: &Value, data_type: &DataType) -> Result<Self, String> {
        let DataType::Struct(columns) = data_type else { return Err("a message goes into a struct".into()) };
        let plans = plan::list(given, "fields")?;
        if plans.len() != columns.len() {
            return Err("the plan of a message and its struct differ".into());
        }
        let fields = plans
            .iter()
            .zip(columns)
            .map(|(field, column)| MessageField::new(field, &column.name, &column.data_type));
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let by_number = fields.iter().enumerate().map(|(index, field)| (field.number, index)).collect();
        Ok(Self { fields, by_number })
    }
}

impl MessageField {
    fn new(given: &Value, name: &str, data_type: &DataType) -> Result<Self, String> {
        let number = u32::try_from(plan::size(given, "number")?).map_err(|_| "a number is too large")?;
        let shape = match (plan::text(given, "shape")?, data_type) {
            ("implicit", _) => Shape::Implicit,
            ("optional", _) => Shape::Optional { oneof: given["oneof"].as_u64() },
            ("required", _) => Shape::Required,
            ("repeated", DataType::List(_)) => Shape::Repeated { is_packed: plan::flag(given, "packed") },
            ("map", DataType::Map(key, _)) => Shape::Map { key: Box::new(Kind::new(&given["key"], key)?) },
            (shape, _) => return Err(format!("{shape} does not go into {data_type:?}")),
        };
        let data_type = match data_type {
            DataType::List(item) if matches!(shape, Shape::Repeated { .. }) => item,
            DataType::Map(_, value) => value,
            other => other,
        };
        Ok(Self { name: name.into(), number, kind: Kind::new(given, data_type)?, shape })
    }
}

impl Kind {
    fn new(given: &Value, data_type: &DataType) -> Result<Self, String> {
        let kind = plan::text(given, "kind")?;
        Ok(match (kind, data_type) {
            ("double", DataType::Float64) => Self::Double,
            ("float", DataType::Float32) => Self::Float,
            ("int32", DataType::Int32) => Self::Int32,
            ("int64", DataType::Int64) => Self::Int64,
            ("uint32", DataType::Int64) => Self::Uint32,
            ("uint64", DataType::Decimal { precision: 20, scale: 0 }) => Self::Uint64,
            ("sint32", DataType::Int32) => Self::Sint32,
            ("sint64", DataType::Int64) => Self::Sint64,
            ("fixed32", DataType::Int64) => Self::Fixed32,
            ("fixed64", DataType::Decimal { precision: 20, scale: 0 }) => Self::Fixed64,
            ("sfixed32", DataType::Int32) => Self::Sfixed32,
            ("sfixed64", DataType::Int64) => Self::Sfixed64,
            ("bool", DataType::Boolean) => Self::Bool,
            ("string", DataType::Utf8) => Self::String,
            ("bytes", DataType::Binary) => Self::Bytes,
            ("enum", DataType::Utf8) => Self::Enum(Symbols::new(plan::list(given, "symbols")?)?),
            ("message", _) => Self::Message(MessageType::new(given, data_type)?),
            ("wrapper", _) => Self::Wrapper(Box::new(Self::new(&given["value"], data_type)?)),
            ("time", DataType::Timestamp { is_utc: true } | DataType::Duration) => Self::Time,
            _ => return Err(format!("Protocol Buffers' {kind} does not go into {data_type:?}")),
        })
    }

    pub fn wire_type(&self) -> u8 {
        match self {
            Self::Double | Self::Fixed64 | Self::Sfixed64 => FIXED64,
            Self::Float | Self::Fixed32 | Self::Sfixed32 => FIXED32,
            Self::String | Self::Bytes | Self::Message(_) | Self::Wrapper(_) | Self::Time => LENGTH,
            _ => VARINT,
        }
    }
}

impl Symbols {
    /// Pairs of name and number; of names with the same number the first one is read.
    fn new(pairs: &[Value]) -> Result<Self, String> {
        let mut symbols = Self { by_number: HashMap::new(), by_name: HashMap::new(), default: String::new() };
        for pair in pairs {
            let (name, number) =
                (pair[0].as_str(), pair[1].as_i64().and_then(|number| number.try_into().ok()));
            let (Some(name), Some(number)) = (name, number) else { return Err("a symbol is broken".into()) };
            if symbols.by_name.is_empty() {
                symbols.default = name.into();
            }
            symbols.by_number.entry(number).or_insert_with(|| name.into());
            symbols.by_name.insert(name.into(), number);
        }
        Ok(symbols)
    }
}

/// A value as it lies in the bytes.
#[derive(Default, Clone)]
enum Found<'a> {
    #[default]
    Nothing,
    Number(u64),
    Bytes(&'a [u8]),
    /// A message that came in several parts, which together are one.
    Joined(Vec<u8>),
}

/// A message with the memory to read it.
pub struct Reader<'m> {
    message: &'m MessageType,
    /// What the first pass finds, of a message and of those it lies in.
    numbers: usize,
}

impl<'m> Reader<'m> {
    pub fn new(message: &'m MessageType) -> Self {
        Self { message, numbers: message.fields.len() }
    }

    pub fn decode(&mut self, bytes: &[u8], column: &mut Column) -> Outcome {
        let mut found = Vec::with_capacity(self.numbers * 2);
        read_message(self.message, bytes, column, &mut found)
    }
}

fn read_message<'a>(
    message: &MessageType,
    bytes: &'a [u8],
    column: &mut Column,
    stack: &mut Vec<Found<'a>>,
) -> Outcome {
    let base = stack.len();
    stack.resize(base + message.fields.len(), Found::Nothing);
    let outcome = fill_message(message, bytes, column, stack, base);
    stack.truncate(base);
    outcome
}

fn fill_message<'a>(
    message: &MessageType,
    bytes: &'a [u8],
    column: &mut Column,
    stack: &mut Vec<Found<'a>>,
    base: usize,
) -> Outcome {
    let mut input = Input::new(bytes);
    let mut entries: Vec<(usize, &'a [u8])> = Vec::new();
    // Most writers keep to the order of the schema.
    let mut likely = 0;
    while !input.is_empty() {
        let (number, wire_type) = tag(&mut input)?;
        let index = match message.fields.get(likely) {
            Some(field) if field.number == number => Some(likely),
            _ => message.by_number.get(&number).copied(),
        };
        let Some(index) = index else {
            skip(&mut input, wire_type, number, 0)?;
            continue;
        };
        let field = &message.fields[index];
        likely =
            if matches!(field.shape, Shape::Repeated { .. } | Shape::Map { .. }) { index } else { index + 1 };
        let in_field = |failure: Box<Failure>| failure.in_field(&field.name);
        match field.shape {
            Shape::Repeated { .. } => {
                let items = column.fields()[index].items();
                read_repeated(&field.kind, &mut input, wire_type, items, stack).map_err(in_field)?;
            }
            Shape::Map { .. } => {
                check_wire_type(LENGTH, wire_type).map_err(in_field)?;
                entries.push((index, sized(&mut input).map_err(in_field)?));
            }
            Shape::Implicit | Shape::Required | Shape::Optional { .. } => {
                check_wire_type(field.kind.wire_type(), wire_type).map_err(in_field)?;
                let value = found(&mut input, wire_type).map_err(in_field)?;
                if let Shape::Optional { oneof: Some(group) } = field.shape {
                    forget_others(message, index, group, &mut stack[base..]);
                }
                let before = mem::take(&mut stack[base + index]);
                let is_message = matches!(field.kind, Kind::Message(_) | Kind::Wrapper(_) | Kind::Time);
                stack[base + index] = if is_message { join(before, value) } else { value };
            }
        }
    }
    for (index, field) in message.fields.iter().enumerate() {
        let in_field = |failure: Box<Failure>| failure.in_field(&field.name);
        let field_column = &mut column.fields()[index];
        match &field.shape {
            Shape::Repeated { .. } => field_column.close_items()?,
            Shape::Map { key } => {
                let entries = entries.iter().filter(|(at, _)| *at == index).map(|&(_, entry)| entry);
                read_map(key, &field.kind, entries, field_column, stack).map_err(in_field)?;
            }
            shape => match mem::take(&mut stack[base + index]) {
                Found::Nothing => match shape {
                    Shape::Implicit => push_default(&field.kind, field_column)?,
                    Shape::Required => return Err(in_field(Failure::new("it is required and missing"))),
                    _ => field_column.push_null(),
                },
                value => read_value(&field.kind, value, field_column, stack).map_err(in_field)?,
            },
        }
    }
    column.close_struct();
    Ok(())
}

fn forget_others(message: &MessageType, index: usize, group: u64, found: &mut [Found<'_>]) {
    for (other, (field, value)) in message.fields.iter().zip(found).enumerate() {
        let is_of_group = matches!(field.shape, Shape::Optional { oneof: Some(of) } if of == group);
        if other != index && is_of_group {
            *value = Found::Nothing;
        }
    }
}

fn join<'a>(before: Found<'a>, value: Found<'a>) -> Found<'a> {
    let mut joined = match before {
        Found::Bytes(bytes) => bytes.to_vec(),
        Found::Joined(bytes) => bytes,
        _ => return value,
    };
    if let Found::Bytes(bytes) = value {
        joined.extend_from_slice(bytes);
    }
    Found::Joined(joined)
}

fn tag(input: &mut Input<'_>) -> Result<(u32, u8), Box<Failure>> {
    let tag = input.varint()?;
    match u32::try_from(tag >> 3) {
        Ok(number) if number > 0 => Ok((number, (tag & 7) as u8)),
        _ => Err(Failure::new("it is no message: a field has a number that none can have")),
    }
}

fn check_wire_type(expected: u8, found: u8) -> Outcome {
    if expected == found {
        return Ok(());
    }
    Err(Failure::new(format!("it has the wire type {found}, not {expected}: it is of another type")))
}

fn sized<'a>(input: &mut Input<'a>) -> Result<&'a [u8], Box<Failure>> {
    let length = input.varint()?;
    input.bytes(usize::try_from(length).unwrap_or(usize::MAX))
}

fn found<'a>(input: &mut Input<'a>, wire_type: u8) -> Result<Found<'a>, Box<Failure>> {
    Ok(match wire_type {
        VARINT => Found::Number(input.varint()?),
        FIXED64 => Found::Number(u64::from_le_bytes(input.array()?)),
        FIXED32 => Found::Number(u32::from_le_bytes(input.array()?).into()),
        _ => Found::Bytes(sized(input)?),
    })
}

fn skip(input: &mut Input<'_>, wire_type: u8, number: u32, depth: usize) -> Outcome {
    match wire_type {
        VARINT => drop(input.varint()?),
        FIXED64 => drop(input.array::<8>()?),
        LENGTH => drop(sized(input)?),
        FIXED32 => drop(input.array::<4>()?),
        GROUP if depth < MAX_GROUP_DEPTH => loop {
            let (inner, wire_type) = tag(input)?;
            if wire_type == END_GROUP {
                if inner != number {
                    return Err(Failure::new("it is no message: a group ends that did not begin"));
                }
                break;
            }
            skip(input, wire_type, inner, depth + 1)?;
        },
        _ => return Err(Failure::new(format!("it is no message: there is no wire type {wire_type}"))),
    }
    Ok(())
}

fn read_repeated<'a>(
    kind: &Kind,
    input: &mut Input<'a>,
    wire_type: u8,
    items: &mut Column,
    stack: &mut Vec<Found<'a>>,
) -> Outcome {
    let item_type = kind.wire_type();
    if wire_type == LENGTH && item_type != LENGTH {
        let mut packed = Input::new(sized(input)?);
        while !packed.is_empty() {
            read_value(kind, found(&mut packed, item_type)?, items, stack)?;
        }
        return Ok(());
    }
    check_wire_type(item_type, wire_type)?;
    read_value(kind, found(input, wire_type)?, items, stack)
}

fn read_map<'a>(
    key: &Kind,
    value: &Kind,
    entries: impl Iterator<Item = &'a [u8]>,
    column: &mut Column,
    stack: &mut Vec<Found<'a>>,
) -> Outcome {
    let mut parsed = Vec::new();
    for entry in entries {
        let mut input = Input::new(entry);
        let (mut found_key, mut found_value) = (Found::Nothing, Found::Nothing);
        while !input.is_empty() {
            match tag(&mut input)? {
                (1, wire_type) if wire_type == key.wire_type() => found_key = found(&mut input, wire_type)?,
                (2, wire_type) if wire_type == value.wire_type() => {
                    found_value = found(&mut input, wire_type)?
                }
                (number @ 1..=2, wire_type) => {
                    return Err(Failure::new(format!(
                        "field {number} of an entry has wire type {wire_type}"
                    )));
                }
                (number, wire_type) => skip(&mut input, wire_type, number, 0)?,
            }
        }
        parsed.push((found_key, found_value));
    }
    let is_last = last_of_each_key(&parsed);
    let (keys, values) = column.entries();
    for ((found_key, found_value), is_last) in parsed.into_iter().zip(is_last) {
        if !is_last {
            continue;
        }
        read_or_default(key, found_key, keys, stack)?;
        read_or_default(value, found_value, values, stack)?;
    }
    Ok(column.close_items()?)
}

/// Which entries no later one replaces.
fn last_of_each_key(entries: &[(Found<'_>, Found<'_>)]) -> Vec<bool> {
    let mut last: HashMap<(u64, &[u8]), usize> = HashMap::with_capacity(entries.len());
    let mut is_last = vec![true; entries.len()];
    for (index, (key, _)) in entries.iter().enumerate() {
        let key = match key {
            Found::Number(number) => (*number, &[][..]),
            Found::Bytes(bytes) => (0, *bytes),
            _ => (0, &[][..]),
        };
        if let Some(earlier) = last.insert(key, index) {
            is_last[earlier] = false;
        }
    }
    is_last
}

fn read_or_default<'a>(
    kind: &Kind,
    value: Found<'a>,
    column: &mut Column,
    stack: &mut Vec<Found<'a>>,
) -> Outcome {
    match value {
        Found::Nothing => push_default(kind, column),
        value => read_value(kind, value, column, stack),
    }
}

/// What a field has that is not in the bytes.
fn push_default(kind: &Kind, column: &mut Column) -> Outcome {
    match kind {
        Kind::String | Kind::Bytes => Ok(column.push_bytes(b"")?),
        Kind::Enum(symbols) => Ok(column.push_bytes(symbols.default.as_bytes())?),
        Kind::Message(_) | Kind::Time => read_value(kind, Found::Bytes(&[]), column, &mut Vec::new()),
        Kind::Wrapper(inner) => push_default(inner, column),
        _ => read_value(kind, Found::Number(0), column, &mut Vec::new()),
    }
}

fn read_value<'a>(kind: &Kind, value: Found<'a>, column: &mut Column, stack: &mut Vec<Found<'a>>) -> Outcome {
    match value {
        Found::Nothing => Err(Failure::new("it is missing")),
        Found::Number(number) => read_number(kind, number, column),
        Found::Bytes(bytes) => read_bytes(kind, bytes, column, stack),
        // A new stack: the bytes live no longer than this.
        Found::Joined(bytes) => read_bytes(kind, &bytes, column, &mut Vec::new()),
    }
}

fn read_number(kind: &Kind, number: u64, column: &mut Column) -> Outcome {
    // What is wider than its field is cut off, as the specification says.
    let value = match kind {
        Kind::Double => {
            column.push_float(f64::from_bits(number));
            return Ok(());
        }
        Kind::Float => {
            column.push_float(f32::from_bits(number as u32).into());
            return Ok(());
        }
        Kind::Uint64 | Kind::Fixed64 => {
            column.push_decimal(number.into());
            return Ok(());
        }
        Kind::Bool => {
            column.push_bool(number != 0);
            return Ok(());
        }
        Kind::Enum(symbols) => {
            let number = number as i32;
            match symbols.by_number.get(&number) {
                Some(symbol) => column.push_bytes(symbol.as_bytes())?,
                // An enum may have got a new symbol since.
                None => column.push_bytes(number.to_string().as_bytes())?,
            }
            return Ok(());
        }
        Kind::Int32 | Kind::Sfixed32 => i64::from(number as i32),
        Kind::Int64 | Kind::Sfixed64 => number as i64,
        Kind::Uint32 | Kind::Fixed32 => i64::from(number as u32),
        Kind::Sint32 => i64::from(unzigzag(u64::from(number as u32)) as i32),
        Kind::Sint64 => unzigzag(number),
        _ => return Err(Failure::new("a number, where there should be bytes")),
    };
    if column.push_int(value) { Ok(()) } else { Err(Failure::new(format!("{value} is too large"))) }
}

fn read_bytes<'a>(kind: &Kind, bytes: &'a [u8], column: &mut Column, stack: &mut Vec<Found<'a>>) -> Outcome {
    match kind {
        Kind::Bytes => Ok(column.push_bytes(bytes)?),
        Kind::String => {
            std::str::from_utf8(bytes).map_err(|error| Failure::new(format!("not UTF-8: {error}")))?;
            Ok(column.push_bytes(bytes)?)
        }
        Kind::Message(message) => read_message(message, bytes, column, stack),
        Kind::Wrapper(inner) => {
            let value = last_of(bytes, 1, inner.wire_type())?;
            read_or_default(inner, value, column, stack)
        }
        Kind::Time => {
            let number = |field| match last_of(bytes, field, VARINT)? {
                Found::Number(number) => Ok::<_, Box<Failure>>(number as i64),
                _ => Ok(0),
            };
            let (seconds, nanos) = (number(1)?, number(2)?);
            let micros =
                seconds.checked_mul(1_000_000).and_then(|micros| micros.checked_add(nanos.div_euclid(1000)));
            if micros.is_some_and(|micros| column.push_int(micros)) {
                return Ok(());
            }
            Err(Failure::new(format!("{seconds} seconds are more than a timestamp can hold")))
        }
        _ => Err(Failure::new("bytes, where there should be a number")),
    }
}

/// The last value of a field in a message.
fn last_of(bytes: &[u8], wanted: u32, wanted_type: u8) -> Result<Found<'_>, Box<Failure>> {
    let mut input = Input::new(bytes);
    let mut last = Found::Nothing;
    while !input.is_empty() {
        let (number, wire_type) = tag(&mut input)?;
        if number == wanted {
            check_wire_type(wanted_type, wire_type)?;
            last = found(&mut input, wire_type)?;
        } else {
            skip(&mut input, wire_type, number, 0)?;
        }
    }
    Ok(last)
}

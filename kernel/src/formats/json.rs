//! JSON into columns. serde_json reads the text; values go from its visitors into the columns.
//!
//! As Spark's from_json: fields that are missing are null, those that are not asked for are passed over, and a
//! string column takes any value as its text. tests/spark/columns/json_documents.py compares both, and lists what
//! differs.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::value::RawValue;

use super::failure::{Failure, Outcome};
use super::{json_relaxed, numbers, times};
use crate::arrow::DataType;
use crate::arrow::tree::{Column, Full};

/// A type, ready to be looked up by the names of fields.
pub struct JsonNode {
    pub data_type: DataType,
    pub inner: Inner,
}

pub enum Inner {
    Leaf,
    Struct {
        names: Vec<String>,
        by_name: HashMap<String, usize>,
        nodes: Vec<JsonNode>,
    },
    List(Box<JsonNode>),
    /// The values; keys are strings.
    Map(Box<JsonNode>),
}

impl JsonNode {
    pub fn new(data_type: &DataType) -> Result<Self, String> {
        let inner = match data_type {
            DataType::Struct(fields) => {
                let names: Vec<_> = fields.iter().map(|field| field.name.clone()).collect();
                let by_name = names.iter().cloned().enumerate().map(|(index, name)| (name, index)).collect();
                let nodes = fields.iter().map(|field| Self::new(&field.data_type));
                Inner::Struct { names, by_name, nodes: nodes.collect::<Result<_, _>>()? }
            }
            DataType::List(item) => Inner::List(Box::new(Self::new(item)?)),
            DataType::Map(key, value) if **key == DataType::Utf8 => Inner::Map(Box::new(Self::new(value)?)),
            DataType::Map(..) => return Err("the keys of maps in JSON are strings".into()),
            DataType::Duration => return Err("JSON has no form for durations".into()),
            _ => Inner::Leaf,
        };
        Ok(Self { data_type: data_type.clone(), inner })
    }
}

/// What has nothing in it is null.
pub fn decode(node: &JsonNode, bytes: &[u8], column: &mut Column) -> Outcome {
    if bytes.trim_ascii().is_empty() {
        column.push_null();
        return Ok(());
    }
    let row = column.rows();
    decode_strictly(node, bytes, column, false).or_else(|failure| {
        // Only documents that are no JSON pay for what else Spark reads.
        let Some(strict) = json_relaxed::to_strict(bytes) else {
            return Err(failure);
        };
        column.truncate(row);
        decode_strictly(node, &strict, column, true)
    })
}

fn decode_strictly(node: &JsonNode, bytes: &[u8], column: &mut Column, is_relaxed: bool) -> Outcome {
    let reading = Reading { trail: RefCell::new(None), is_relaxed };
    // The text of a whole document is checked several times as fast as that of each name and value.
    let result = match std::str::from_utf8(bytes) {
        Ok(text) => read(node, serde_json::Deserializer::from_str(text), column, &reading),
        Err(_) => read(node, serde_json::Deserializer::from_slice(bytes), column, &reading),
    };
    result.map_err(|error| {
        let mut failure = Failure::new(error.to_string());
        for step in reading.trail.take().unwrap_or_default() {
            failure = failure.in_field(&step);
        }
        failure
    })
}

fn read<'de, R: serde_json::de::Read<'de>>(
    node: &JsonNode,
    mut deserializer: serde_json::Deserializer<R>,
    column: &mut Column,
    reading: &Reading,
) -> serde_json::Result<()> {
    Seed { node, column, reading }.deserialize(&mut deserializer)?;
    deserializer.end()
}

/// Of one document.
struct Reading {
    /// Where an error happened: the innermost step first. None before there is one.
    trail: RefCell<Option<Vec<String>>>,
    /// Whether it was no JSON, so that a text may have been a number without quotation marks.
    is_relaxed: bool,
}

struct Seed<'a> {
    node: &'a JsonNode,
    column: &'a mut Column,
    reading: &'a Reading,
}

fn note<E>(reading: &Reading, step: impl FnOnce() -> String) -> impl FnOnce(E) -> E {
    move |error| {
        reading.trail.borrow_mut().get_or_insert_default().push(step());
        error
    }
}

fn full<E: Error>(_: Full) -> E {
    E::custom("the column would hold more than 2 GiB: read fewer records at a time")
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.node.data_type {
            // Of these the text counts: numbers would have lost digits.
            DataType::Utf8 | DataType::Float32 | DataType::Float64 | DataType::Decimal { .. } => {
                let raw = <&RawValue>::deserialize(deserializer)?.get();
                self.take_text(raw)
            }
            _ => deserializer.deserialize_any(self),
        }
    }
}

/// What a JSON string means.
fn unquote<E: Error>(raw: &str) -> Result<Cow<'_, str>, E> {
    let inner = &raw[1..raw.len() - 1];
    if memchr_backslash(inner) {
        serde_json::from_str(raw).map(Cow::Owned).map_err(E::custom)
    } else {
        Ok(Cow::Borrowed(inner))
    }
}

fn memchr_backslash(text: &str) -> bool {
    text.as_bytes().contains(&b'\\')
}

impl Seed<'_> {
    /// Takes a value by its text, of which the JSON is known to be right.
    fn take_text<E: Error>(self, raw: &str) -> Result<(), E> {
        let column = self.column;
        if raw == "null" {
            column.push_null();
            return Ok(());
        }
        let is_string = raw.starts_with('"');
        let text = if is_string { unquote(raw)? } else { Cow::Borrowed(raw) };
        let wrong = || E::custom(format_args!("{} is no {}", shortened(raw), self.node));
        match self.node.data_type {
            DataType::Utf8 => column.push_bytes(text.as_bytes()).map_err(full),
            DataType::Decimal { precision, scale } => {
                // Spark leaves out the commas of `"1,000.5"`.
                let digits =
                    if is_string && text.contains(',') { text.replace(',', "").into() } else { text };
                let value = numbers::parse_decimal(&digits, precision, scale).ok_or_else(wrong)?;
                column.push_decimal(value);
                Ok(())
            }
            DataType::Float32 => {
                // Rounded once: by way of a double it might be rounded twice.
                let value =
                    if is_string { named_float(&text).map(|value| value as f32) } else { raw.parse().ok() };
                column.push_float(value.ok_or_else(wrong)?.into());
                Ok(())
            }
            _ => {
                let value = if is_string { named_float(&text) } else { raw.parse().ok() };
                column.push_float(value.ok_or_else(wrong)?);
                Ok(())
            }
        }
    }

    fn pushed<E: Error>(&self, is_pushed: bool, value: i64) -> Result<(), E> {
        if is_pushed { Ok(()) } else { Err(E::invalid_value(Unexpected::Signed(value), self)) }
    }
}

/// What numbers cannot be in JSON, in the words that Spark takes.
fn named_float(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" | "+Infinity" | "INF" | "+INF" => Some(f64::INFINITY),
        "-Infinity" | "-INF" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}

impl fmt::Display for JsonNode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.data_type {
            DataType::Boolean => formatter.write_str("boolean"),
            DataType::Int8 => formatter.write_str("tinyint"),
            DataType::Int16 => formatter.write_str("smallint"),
            DataType::Int32 => formatter.write_str("int"),
            DataType::Int64 => formatter.write_str("bigint"),
            DataType::Float32 => formatter.write_str("float"),
            DataType::Float64 => formatter.write_str("double"),
            DataType::Utf8 => formatter.write_str("string"),
            DataType::Binary => formatter.write_str("binary (a string in base64)"),
            DataType::Date => formatter.write_str("date (such as 2013-01-31)"),
            DataType::Timestamp { is_utc: true } => {
                formatter.write_str("timestamp (such as 2013-01-31T23:59:59Z, or seconds)")
            }
            DataType::Timestamp { is_utc: false } => {
                formatter.write_str("timestamp_ntz (such as 2013-01-31T23:59:59, without a zone)")
            }
            DataType::Duration => formatter.write_str("duration"),
            DataType::Decimal { precision, scale } => write!(formatter, "decimal({precision},{scale})"),
            DataType::Struct(_) => formatter.write_str("struct (an object)"),
            DataType::List(_) => formatter.write_str("array"),
            DataType::Map(..) => formatter.write_str("map (an object)"),
        }
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.node, formatter)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.column.push_null();
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        if self.node.data_type != DataType::Boolean {
            return Err(E::invalid_type(Unexpected::Bool(value), &self));
        }
        self.column.push_bool(value);
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        match self.node.data_type {
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
                let is_pushed = self.column.push_int(value);
                self.pushed(is_pushed, value)
            }
            // Spark takes whole numbers for seconds.
            DataType::Timestamp { is_utc: true } => {
                let is_pushed =
                    value.checked_mul(1_000_000).is_some_and(|micros| self.column.push_int(micros));
                self.pushed(is_pushed, value)
            }
            _ => Err(E::invalid_type(Unexpected::Signed(value), &self)),
        }
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => Err(E::invalid_value(Unexpected::Unsigned(value), &self)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let is_pushed = match self.node.data_type {
            DataType::Binary if self.reading.is_relaxed && named_float(text).is_some() => false,
            DataType::Binary => match from_base64(text) {
                Some(bytes) => return self.column.push_bytes(&bytes).map_err(full),
                None => false,
            },
            DataType::Date => times::parse_date(text).is_some_and(|days| self.column.push_int(days.into())),
            DataType::Timestamp { is_utc } => {
                times::parse_timestamp(text, is_utc).is_some_and(|micros| self.column.push_int(micros))
            }
            _ => return Err(E::invalid_type(Unexpected::Str(&shortened(text)), &self)),
        };
        if is_pushed { Ok(()) } else { Err(E::invalid_value(Unexpected::Str(&shortened(text)), &self)) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        let Inner::List(node) = &self.node.inner else {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        };
        let mut count = 0;
        while let Some(()) = sequence
            .next_element_seed(Seed { node, column: self.column.items(), reading: self.reading })
            .map_err(note(self.reading, || format!("[{count}]")))?
        {
            count += 1;
        }
        self.column.close_items().map_err(full)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        match &self.node.inner {
            Inner::Struct { names, by_name, nodes } => {
                visit_struct(names, by_name, nodes, map, self.column, self.reading)
            }
            Inner::Map(node) => visit_entries(node, map, self.column, self.reading),
            _ => Err(A::Error::invalid_type(Unexpected::Map, &self)),
        }
    }
}

fn visit_struct<'de, A: MapAccess<'de>>(
    names: &[String],
    by_name: &HashMap<String, usize>,
    nodes: &[JsonNode],
    mut map: A,
    column: &mut Column,
    reading: &Reading,
) -> Result<(), A::Error> {
    let row = column.rows();
    // Most writers keep to an order, so that the next field is the likeliest.
    let mut likely = 0;
    while let Some(found) = map.next_key_seed(FieldName { names, by_name, likely })? {
        let Some(index) = found else {
            map.next_value::<IgnoredAny>()?;
            continue;
        };
        likely = index + 1;
        let field = &mut column.fields()[index];
        if field.rows() > row {
            // It was there before: the last one counts.
            field.truncate(row);
        }
        let seed = Seed { node: &nodes[index], column: field, reading };
        map.next_value_seed(seed).map_err(note(reading, || names[index].clone()))?;
    }
    for field in column.fields() {
        if field.rows() == row {
            field.push_null();
        }
    }
    column.close_struct();
    Ok(())
}

fn visit_entries<'de, A: MapAccess<'de>>(
    node: &JsonNode,
    mut map: A,
    column: &mut Column,
    reading: &Reading,
) -> Result<(), A::Error> {
    let mut count = 0;
    loop {
        let (key, value) = column.entries();
        if map.next_key_seed(EntryKey(key))?.is_none() {
            break;
        }
        let seed = Seed { node, column: value, reading };
        map.next_value_seed(seed).map_err(note(reading, || format!("[{count}]")))?;
        count += 1;
    }
    column.close_items().map_err(full)
}

/// Finds the field that a key names.
struct FieldName<'a> {
    names: &'a [String],
    by_name: &'a HashMap<String, usize>,
    likely: usize,
}

impl<'de> DeserializeSeed<'de> for FieldName<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldName<'_> {
    type Value = Option<usize>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Option<usize>, E> {
        if self.names.get(self.likely).is_some_and(|likely| likely == name) {
            return Ok(Some(self.likely));
        }
        Ok(self.by_name.get(name).copied())
    }
}

/// Takes the key of a map's entry.
struct EntryKey<'a>(&'a mut Column);

impl<'de> DeserializeSeed<'de> for EntryKey<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for EntryKey<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<(), E> {
        self.0.push_bytes(key.as_bytes()).map_err(full)
    }
}

/// The standard alphabet, padded or not. Lines may break between groups of four.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut rest = text.trim_ascii_end().trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(rest.len() / 4 * 3 + 2);
    while !rest.is_empty() {
        let (group, after) = rest.split_at(rest.len().min(4));
        if group.len() == 1 {
            return None;
        }
        let mut bits = 0_u32;
        for &digit in group {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
        rest = after.trim_ascii_start();
    }
    Some(bytes)
}

//! Avro's binary encoding into columns, by the plan of a schema, or of a writer's schema and a reader's.
//!
//! Hand-written like Kafka's own formats: apache-avro makes an object of each value, and arrow-avro gives up a batch
//! with its first bad record.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::avro_skip::{Skipped, Skipping};
use super::avro_wire::{block, branch, sized};
use super::failure::{Failure, Outcome};
use super::wire::Input;
use super::{numbers, plan};
use crate::arrow::tree::Column;
use crate::arrow::{DataType, Field};

/// A schema of Avro, as its reader has it, joined to the type of the column that it goes into.
pub enum AvroNode {
    Null,
    Boolean,
    /// Of 32 bits.
    Int,
    /// Of 64 bits.
    Long,
    /// Milliseconds, in a column of microseconds.
    Millis,
    /// A whole number, in a column of fractions.
    LongAsDouble,
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    /// The sixteen bytes of a UUID, as text.
    Uuid,
    Decimal {
        precision: u8,
        /// None: bytes of any length.
        size: Option<usize>,
    },
    /// A symbol that the reader does not know is the reason.
    Enum(Vec<Result<String, String>>),
    Array(Box<AvroNode>),
    Map(Box<AvroNode>),
    Record(Vec<RecordField>),
    Union(Vec<AvroNode>),
    /// It goes into one field of a struct, whose others are null then.
    Member(usize, Box<AvroNode>),
    /// It cannot be read, for this reason.
    Mismatch(String),
}

pub struct RecordField {
    pub name: String,
    pub source: FieldSource,
}

/// Where a field comes from, and the number of the column that it goes into.
pub enum FieldSource {
    Written(usize, AvroNode),
    /// Nobody wrote it: it is read out of these bytes.
    Default(usize, AvroNode, Vec<u8>),
    /// It is in the bytes, and in no column.
    Skipped(Skipped),
}

/// What `barnabas.formats.avro_resolution` has made of one or two schemas.
pub struct AvroPlan<'a> {
    given: &'a Value,
    records: &'a [Value],
    skipping: Arc<Skipping>,
}

impl<'a> AvroPlan<'a> {
    pub fn new(given: &'a Value) -> Result<Self, String> {
        let records = plan::list(given, "records")?;
        Ok(Self { given, records, skipping: Arc::new(Skipping::new(records)?) })
    }

    pub fn joined(&self, data_type: &DataType) -> Result<AvroNode, String> {
        self.node(&self.given["root"], data_type)
    }

    fn node(&self, given: &Value, data_type: &DataType) -> Result<AvroNode, String> {
        let Some(member) = given["member"].as_u64() else { return self.value(given, data_type) };
        if plan::text(given, "kind")? == "mismatch" {
            return self.value(given, data_type);
        }
        let DataType::Struct(columns) = data_type else {
            return Err(format!("a union of several types does not go into {data_type:?}"));
        };
        let column = columns.get(member as usize).ok_or("a union has more types than its struct fields")?;
        Ok(AvroNode::Member(member as usize, Box::new(self.value(given, &column.data_type)?)))
    }

    fn value(&self, given: &Value, data_type: &DataType) -> Result<AvroNode, String> {
        let kind = plan::text(given, "kind")?;
        let meaning = given["meaning"].as_str();
        let node = match (kind, data_type) {
            ("null", _) => AvroNode::Null,
            ("boolean", DataType::Boolean) => AvroNode::Boolean,
            ("int" | "long", DataType::Timestamp { .. }) => match meaning {
                Some("timestamp-millis" | "local-timestamp-millis") => AvroNode::Millis,
                _ => AvroNode::Long,
            },
            ("int", DataType::Int32 | DataType::Int64 | DataType::Date) => AvroNode::Int,
            ("long", DataType::Int64) => AvroNode::Long,
            ("long_as_double", DataType::Float32 | DataType::Float64) => AvroNode::LongAsDouble,
            ("float", DataType::Float32 | DataType::Float64) => AvroNode::Float,
            ("double", DataType::Float64) => AvroNode::Double,
            ("bytes", DataType::Binary) => AvroNode::Bytes,
            ("string", DataType::Utf8) => AvroNode::String,
            ("bytes", DataType::Decimal { precision, .. }) => {
                AvroNode::Decimal { precision: *precision, size: None }
            }
            ("fixed", DataType::Decimal { precision, .. }) => {
                AvroNode::Decimal { precision: *precision, size: Some(plan::size(given, "size")?) }
            }
            ("fixed", DataType::Binary) => AvroNode::Fixed(plan::size(given, "size")?),
            ("fixed", DataType::Utf8) if meaning == Some("uuid") => AvroNode::Uuid,
            ("enum", DataType::Utf8) => {
                let symbols = plan::list(given, "symbols")?.iter().map(|symbol| match symbol.as_str() {
                    Some(text) => Ok(text.to_owned()),
                    None => Err(plan::text(symbol, "mismatch").unwrap_or("no symbol").to_owned()),
                });
                AvroNode::Enum(symbols.collect())
            }
            ("array", DataType::List(item)) => {
                let item = self.node(&given["items"], item)?;
                if item.takes_no_bytes() {
                    // A few bytes could ask for any number of them.
                    return Err("there is no column for an array of what takes no bytes".into());
                }
                AvroNode::Array(Box::new(item))
            }
            ("map", DataType::Map(key, value)) if **key == DataType::Utf8 => {
                AvroNode::Map(Box::new(self.node(&given["values"], value)?))
            }
            ("record", DataType::Struct(columns)) => self.record(plan::size(given, "number")?, columns)?,
            ("union", _) => {
                let branches = plan::list(given, "branches")?.iter();
                let nodes = branches.map(|branch| self.node(&branch["node"], data_type));
                AvroNode::Union(nodes.collect::<Result<_, _>>()?)
            }
            ("mismatch", _) => AvroNode::Mismatch(plan::text(given, "message")?.to_owned()),
            _ => return Err(format!("Avro's {kind} does not go into {data_type:?}")),
        };
        Ok(node)
    }

    fn record(&self, number: usize, columns: &[Field]) -> Result<AvroNode, String> {
        let record = self.records.get(number).ok_or("the plan has no such record")?;
        let fields = plan::list(record, "fields")?;
        let made = fields.iter().map(|given| {
            let name = plan::text(given, "name")?.to_owned();
            if plan::flag(given, "is_skipped") {
                let skipped = Skipped::new(&given["node"], self.skipping.clone())?;
                return Ok(RecordField { name, source: FieldSource::Skipped(skipped) });
            }
            let column = columns.iter().position(|column| column.name == name);
            let column = column.ok_or_else(|| format!("the struct has no field {name:?}"))?;
            let node = self.node(&given["node"], &columns[column].data_type)?;
            let source = match given["default"].as_array() {
                None => FieldSource::Written(column, node),
                Some(bytes) => {
                    let bytes = bytes.iter().filter_map(|byte| u8::try_from(byte.as_u64()?).ok());
                    FieldSource::Default(column, node, bytes.collect())
                }
            };
            Ok(RecordField { name, source })
        });
        let made = made.collect::<Result<Vec<_>, String>>()?;
        let filled = made.iter().filter_map(|field| field.source.column()).collect::<HashSet<_>>();
        if filled.len() != columns.len() {
            return Err("the plan of a record and its struct differ".into());
        }
        Ok(AvroNode::Record(made))
    }
}

impl FieldSource {
    fn column(&self) -> Option<usize> {
        match self {
            Self::Written(column, _) | Self::Default(column, _, _) => Some(*column),
            Self::Skipped(_) => None,
        }
    }
}

impl AvroNode {
    fn takes_no_bytes(&self) -> bool {
        match self {
            Self::Null | Self::Fixed(0) | Self::Decimal { size: Some(0), .. } => true,
            Self::Member(_, node) => node.takes_no_bytes(),
            Self::Record(fields) => fields.iter().all(|field| match &field.source {
                FieldSource::Written(_, node) => node.takes_no_bytes(),
                FieldSource::Default(..) => true,
                FieldSource::Skipped(skipped) => skipped.takes_no_bytes(),
            }),
            _ => false,
        }
    }
}

pub fn decode(node: &AvroNode, bytes: &[u8], column: &mut Column) -> Outcome {
    let mut input = Input::new(bytes);
    read(node, &mut input, column)?;
    if !input.is_empty() {
        return Err(Failure::new(format!(
            "{} bytes are left over: it was written with another schema",
            input.len()
        )));
    }
    Ok(())
}

fn read(node: &AvroNode, input: &mut Input<'_>, column: &mut Column) -> Outcome {
    match node {
        AvroNode::Null => column.push_null(),
        AvroNode::Boolean => match input.byte()? {
            value @ 0..=1 => column.push_bool(value == 1),
            other => return Err(Failure::new(format!("{other} is no boolean"))),
        },
        AvroNode::Int => {
            let value = input.zigzag()?;
            if i32::try_from(value).is_err() || !column.push_int(value) {
                return Err(too_large(value));
            }
        }
        AvroNode::Long => {
            let value = input.zigzag()?;
            if !column.push_int(value) {
                return Err(too_large(value));
            }
        }
        AvroNode::Millis => {
            let millis = input.zigzag()?;
            if !millis.checked_mul(1000).is_some_and(|micros| column.push_int(micros)) {
                return Err(too_large(millis));
            }
        }
        AvroNode::LongAsDouble => column.push_float(input.zigzag()? as f64),
        AvroNode::Float => column.push_float(f32::from_le_bytes(input.array()?).into()),
        AvroNode::Double => column.push_float(f64::from_le_bytes(input.array()?)),
        AvroNode::Bytes => column.push_bytes(sized(input)?)?,
        AvroNode::String => {
            let bytes = sized(input)?;
            std::str::from_utf8(bytes).map_err(|error| Failure::new(format!("not UTF-8: {error}")))?;
            column.push_bytes(bytes)?;
        }
        AvroNode::Fixed(size) => column.push_bytes(input.bytes(*size)?)?,
        AvroNode::Uuid => column.push_bytes(&uuid_text(input.array()?))?,
        AvroNode::Decimal { precision, size } => {
            let bytes = match size {
                Some(size) => input.bytes(*size)?,
                None => sized(input)?,
            };
            let value = numbers::from_big_endian(bytes).filter(|&value| numbers::fits(value, *precision));
            let Some(value) = value else {
                return Err(Failure::new(format!("a decimal has more than {precision} digits")));
            };
            column.push_decimal(value);
        }
        AvroNode::Enum(symbols) => {
            let index = input.zigzag()?;
            let symbol = usize::try_from(index).ok().and_then(|index| symbols.get(index));
            match symbol {
                Some(Ok(symbol)) => column.push_bytes(symbol.as_bytes())?,
                Some(Err(reason)) => return Err(Failure::new(reason)),
                None => {
                    return Err(Failure::new(format!("{index} is none of the {} symbols", symbols.len())));
                }
            }
        }
        AvroNode::Array(item) => {
            let mut index = 0_u64;
            while let Some(count) = block(input)? {
                for _ in 0..count {
                    read(item, input, column.items()).map_err(|failure| failure.in_item(index))?;
                    index += 1;
                }
            }
            column.close_items()?;
        }
        AvroNode::Map(value) => {
            let mut index = 0_u64;
            while let Some(count) = block(input)? {
                for _ in 0..count {
                    let (keys, values) = column.entries();
                    let entry =
                        read(&AvroNode::String, input, keys).and_then(|()| read(value, input, values));
                    entry.map_err(|failure| failure.in_item(index))?;
                    index += 1;
                }
            }
            column.close_items()?;
        }
        AvroNode::Record(fields) => {
            let columns = column.fields();
            for field in fields {
                let outcome = match &field.source {
                    FieldSource::Written(number, node) => read(node, input, &mut columns[*number]),
                    FieldSource::Default(number, node, bytes) => {
                        read(node, &mut Input::new(bytes), &mut columns[*number])
                    }
                    FieldSource::Skipped(skipped) => skipped.skip(input),
                };
                outcome.map_err(|failure| failure.in_field(&field.name))?;
            }
            column.close_struct();
        }
        AvroNode::Union(branches) => {
            let branch = branch(input, branches)?;
            read(branch, input, column)?;
        }
        AvroNode::Member(chosen, node) => {
            for (number, column) in column.fields().iter_mut().enumerate() {
                if number == *chosen {
                    read(node, input, column)?;
                } else {
                    column.push_null();
                }
            }
            column.close_struct();
        }
        AvroNode::Mismatch(reason) => return Err(Failure::new(reason)),
    }
    Ok(())
}

#[cold]
fn too_large(value: i64) -> Box<Failure> {
    Failure::new(format!("{value} is too large for its type"))
}

fn uuid_text(bytes: [u8; 16]) -> [u8; 36] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'-'; 36];
    let mut place = 0;
    for (index, byte) in bytes.into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            place += 1;
        }
        text[place] = DIGITS[usize::from(byte >> 4)];
        text[place + 1] = DIGITS[usize::from(byte & 15)];
        place += 2;
    }
    text
}

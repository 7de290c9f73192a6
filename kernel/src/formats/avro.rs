//! Avro's binary encoding into columns, by the plan of a schema.
//!
//! Hand-written like Kafka's own formats: apache-avro makes an object of each value, and arrow-avro gives up a batch
//! with its first bad record.

use serde_json::Value;

use super::failure::{Failure, Outcome};
use super::wire::Input;
use super::{numbers, plan};
use crate::arrow::DataType;
use crate::arrow::tree::Column;

/// A schema of Avro, joined to the type of the column that it goes into.
pub enum AvroNode {
    Null,
    Boolean,
    /// Of 32 bits.
    Int,
    /// Of 64 bits.
    Long,
    /// Milliseconds, in a column of microseconds.
    Millis,
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
    Enum(Vec<String>),
    Array(Box<AvroNode>),
    Map(Box<AvroNode>),
    Record(Vec<RecordField>),
    /// Every branch goes into the column itself.
    Optional(Vec<AvroNode>),
    /// Each branch goes into its own field of a struct; None is null.
    Members(Vec<Option<AvroNode>>),
}

pub struct RecordField {
    pub name: String,
    pub node: AvroNode,
}

impl AvroNode {
    pub fn new(given: &Value, data_type: &DataType) -> Result<Self, String> {
        let kind = plan::text(given, "kind")?;
        let node = match (kind, data_type) {
            ("null", _) => Self::Null,
            ("boolean", DataType::Boolean) => Self::Boolean,
            ("int", DataType::Int32 | DataType::Int64 | DataType::Date) => Self::Int,
            ("long", DataType::Int64 | DataType::Timestamp { .. }) => Self::Long,
            ("millis", DataType::Timestamp { .. }) => Self::Millis,
            ("float", DataType::Float32 | DataType::Float64) => Self::Float,
            ("double", DataType::Float64) => Self::Double,
            ("bytes", DataType::Binary) => Self::Bytes,
            ("string", DataType::Utf8) => Self::String,
            ("fixed", DataType::Binary) => Self::Fixed(plan::size(given, "size")?),
            ("uuid", DataType::Utf8) => Self::Uuid,
            ("decimal", DataType::Decimal { precision, .. }) => {
                let size = if given["size"].is_null() { None } else { Some(plan::size(given, "size")?) };
                Self::Decimal { precision: *precision, size }
            }
            ("enum", DataType::Utf8) => {
                let symbols = plan::list(given, "symbols")?.iter().filter_map(Value::as_str);
                Self::Enum(symbols.map(str::to_string).collect())
            }
            ("array", DataType::List(item)) => {
                let item = Self::new(&given["items"], item)?;
                if item.takes_no_bytes() {
                    // A few bytes could ask for any number of them.
                    return Err("there is no column for an array of what takes no bytes".into());
                }
                Self::Array(Box::new(item))
            }
            ("map", DataType::Map(key, value)) if **key == DataType::Utf8 => {
                Self::Map(Box::new(Self::new(&given["values"], value)?))
            }
            ("record", DataType::Struct(columns)) => {
                let nodes = plan::list(given, "fields")?;
                if nodes.len() != columns.len() {
                    return Err("the plan of a record and its struct differ".into());
                }
                let fields = nodes.iter().zip(columns).map(|(node, column)| {
                    Ok(RecordField { name: column.name.clone(), node: Self::new(node, &column.data_type)? })
                });
                Self::Record(fields.collect::<Result<_, String>>()?)
            }
            ("optional", _) => {
                let branches = plan::list(given, "branches")?.iter();
                Self::Optional(branches.map(|branch| Self::new(branch, data_type)).collect::<Result<_, _>>()?)
            }
            ("members", DataType::Struct(columns)) => {
                let mut columns = columns.iter();
                let branches = plan::list(given, "branches")?.iter().map(|branch| {
                    if branch["kind"] == "null" {
                        return Ok(None);
                    }
                    let column = columns.next().ok_or("a union has more members than its struct fields")?;
                    Self::new(branch, &column.data_type).map(Some)
                });
                let branches = branches.collect::<Result<_, String>>()?;
                if columns.next().is_some() {
                    return Err("a struct has more fields than its union members".into());
                }
                Self::Members(branches)
            }
            _ => return Err(format!("Avro's {kind} does not go into {data_type:?}")),
        };
        Ok(node)
    }
}

impl AvroNode {
    fn takes_no_bytes(&self) -> bool {
        match self {
            Self::Null | Self::Fixed(0) | Self::Decimal { size: Some(0), .. } => true,
            Self::Record(fields) => fields.iter().all(|field| field.node.takes_no_bytes()),
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
            let Some(symbol) = symbol else {
                return Err(Failure::new(format!("{index} is none of the {} symbols", symbols.len())));
            };
            column.push_bytes(symbol.as_bytes())?;
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
            for (field, column) in fields.iter().zip(column.fields()) {
                read(&field.node, input, column).map_err(|failure| failure.in_field(&field.name))?;
            }
            column.close_struct();
        }
        AvroNode::Optional(branches) => {
            let branch = branch(input, branches)?;
            read(branch, input, column)?;
        }
        AvroNode::Members(branches) => match branch(input, branches)? {
            None => column.push_null(),
            Some(chosen) => {
                for (member, column) in branches.iter().flatten().zip(column.fields()) {
                    if std::ptr::eq(member, chosen) {
                        read(member, input, column)?;
                    } else {
                        column.push_null();
                    }
                }
                column.close_struct();
            }
        },
    }
    Ok(())
}

#[cold]
fn too_large(value: i64) -> Box<Failure> {
    Failure::new(format!("{value} is too large for its type"))
}

fn sized<'a>(input: &mut Input<'a>) -> Result<&'a [u8], Box<Failure>> {
    let length = input.zigzag()?;
    match usize::try_from(length) {
        Ok(length) => input.bytes(length),
        Err(_) => Err(Failure::new(format!("a length of {length} bytes"))),
    }
}

/// The number of items that follow; None at the end of an array or map.
fn block(input: &mut Input<'_>) -> Result<Option<u64>, Box<Failure>> {
    let count = input.zigzag()?;
    if count < 0 {
        // The block's bytes, for readers that skip it.
        input.zigzag()?;
    }
    let items = count.unsigned_abs();
    // Each takes at least a byte.
    if items > input.len() as u64 {
        return Err(Failure::new(format!("{items} items in {} bytes", input.len())));
    }
    Ok((items > 0).then_some(items))
}

fn branch<'a, T>(input: &mut Input<'_>, branches: &'a [T]) -> Result<&'a T, Box<Failure>> {
    let index = input.zigzag()?;
    let branch = usize::try_from(index).ok().and_then(|index| branches.get(index));
    branch
        .ok_or_else(|| Failure::new(format!("{index} is none of the {} types of its union", branches.len())))
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

//! The types of columns that formats are decoded into and encoded from, read out of a schema of the interface.

#![allow(unsafe_code)]

use super::ffi::ArrowSchema;
use super::import::{ImportError, children, format, name};

/// Spark's types, in the layout that Spark itself takes: offsets of 32 bits, times in microseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataType {
    Boolean,
    Int8,
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
    Utf8,
    Binary,
    /// Days since 1970.
    Date,
    /// Microseconds since 1970, of an instant (`is_utc`) or as a clock somewhere shows them.
    Timestamp {
        is_utc: bool,
    },
    /// Microseconds.
    Duration,
    /// In 16 bytes.
    Decimal {
        precision: u8,
        scale: u8,
    },
    Struct(Vec<Field>),
    List(Box<DataType>),
    Map(Box<DataType>, Box<DataType>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub data_type: DataType,
}

impl DataType {
    pub fn new(schema: &ArrowSchema) -> Result<Self, ImportError> {
        let text = format(schema);
        let unknown = || ImportError(format!("there is no format for the Arrow type {text:?}"));
        if !schema.dictionary.is_null() {
            return Err(ImportError("there is no format for dictionaries: cast them".into()));
        }
        let inner = children(schema);
        Ok(match text {
            "b" => Self::Boolean,
            "c" => Self::Int8,
            "s" => Self::Int16,
            "i" => Self::Int32,
            "l" => Self::Int64,
            "f" => Self::Float32,
            "g" => Self::Float64,
            "u" => Self::Utf8,
            "z" => Self::Binary,
            "tdD" => Self::Date,
            "tDu" => Self::Duration,
            "+s" => {
                let fields = inner
                    .iter()
                    .map(|field| Ok(Field { name: name(field).to_string(), data_type: Self::new(field)? }));
                Self::Struct(fields.collect::<Result<_, ImportError>>()?)
            }
            "+l" => {
                let [item] = inner[..] else { return Err(unknown()) };
                Self::List(Box::new(Self::new(item)?))
            }
            "+m" => {
                let [entries] = inner[..] else { return Err(unknown()) };
                let parts = children(entries);
                let [key, value] = parts[..] else { return Err(unknown()) };
                Self::Map(Box::new(Self::new(key)?), Box::new(Self::new(value)?))
            }
            _ => {
                if let Some(zone) = text.strip_prefix("tsu:") {
                    Self::Timestamp { is_utc: !zone.is_empty() }
                } else {
                    Self::decimal(text).ok_or_else(unknown)?
                }
            }
        })
    }

    fn decimal(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix("d:")?.split(',');
        let (precision, scale) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let is_of_16_bytes = matches!(parts.next(), None | Some("128"));
        (is_of_16_bytes && precision <= 38 && scale <= precision)
            .then_some(Self::Decimal { precision, scale })
    }
}

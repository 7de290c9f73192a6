//! How values of an Avro schema lie in bytes, as `barnabas.formats.avro_values` has worked it out: types by number,
//! so that a type may contain itself.

use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::Value;

use crate::formats::plan;

/// What the bytes of a plain value mean in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Date,
    TimeMillis,
    TimeMicros,
    TimestampMillis,
    TimestampMicros,
    LocalMillis,
    LocalMicros,
    Uuid,
    Duration,
    Decimal { precision: usize, scale: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    /// A whole number that is read as one with a fraction.
    LongAsDouble,
}

pub struct AvroField {
    pub text: String,
    pub name: Py<PyString>,
    pub node: Node,
    /// Of a field that is written: what is written where the value has none. Of one that is only read: where it is
    /// read from, as nobody wrote it.
    pub default: Option<Vec<u8>>,
    /// It is in the bytes, and not in the value.
    pub is_skipped: bool,
}

pub struct AvroRecord {
    pub name: Py<PyString>,
    pub fields: Vec<AvroField>,
}

pub struct Branch {
    pub node: Node,
    /// The full name of a named type, the kind of any other.
    pub name: Py<PyString>,
    pub is_told: bool,
}

pub struct Enum {
    /// By the number that was written; the second is why there is none.
    pub symbols: Vec<Result<Py<PyString>, String>>,
    pub texts: Vec<String>,
}

pub enum Node {
    Plain(Plain),
    Meant(Plain, Meaning),
    Enum(Enum),
    Array(Box<Node>),
    Map(Box<Node>),
    /// By number.
    Record(usize),
    Union(Vec<Branch>),
    /// It cannot be read, for this reason.
    Mismatch(String),
}

/// Which fields of a record may be missing, or too many, in a value that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Those that have a default or take null may be missing, and others are overlooked.
    None,
    /// Those that have a default may be missing.
    ButDefaults,
    All,
}

impl Strictness {
    /// Whether a field has to be there.
    pub fn wants(self, has_default: bool) -> bool {
        match self {
            Self::None => false,
            Self::ButDefaults => !has_default,
            Self::All => true,
        }
    }
}

pub struct Plan {
    pub root: Node,
    pub records: Vec<AvroRecord>,
    pub strictness: Strictness,
}

impl Plan {
    pub fn new(py: Python<'_>, text: &str) -> Result<Self, String> {
        let given = plan::parse(text)?;
        let records = plan::list(&given, "records")?.iter();
        Ok(Self {
            root: node(py, &given["root"])?,
            records: records.map(|given| record(py, given)).collect::<Result<_, _>>()?,
            strictness: match given["strict"].as_str() {
                Some("but_defaults") => Strictness::ButDefaults,
                Some("all") => Strictness::All,
                _ => Strictness::None,
            },
        })
    }
}

fn record(py: Python<'_>, given: &Value) -> Result<AvroRecord, String> {
    let fields = plan::list(given, "fields")?.iter().map(|given| {
        let text = plan::text(given, "name")?;
        let default = given["default"]
            .as_array()
            .map(|bytes| bytes.iter().filter_map(|byte| u8::try_from(byte.as_u64()?).ok()).collect());
        Ok(AvroField {
            text: text.to_owned(),
            name: PyString::intern(py, text).unbind(),
            node: node(py, &given["node"])?,
            default,
            is_skipped: plan::flag(given, "is_skipped"),
        })
    });
    Ok(AvroRecord {
        name: PyString::intern(py, plan::text(given, "name")?).unbind(),
        fields: fields.collect::<Result<_, String>>()?,
    })
}

fn plain(given: &Value) -> Result<Option<Plain>, String> {
    Ok(Some(match plan::text(given, "kind")? {
        "null" => Plain::Null,
        "boolean" => Plain::Boolean,
        "int" => Plain::Int,
        "long" => Plain::Long,
        "float" => Plain::Float,
        "double" => Plain::Double,
        "bytes" => Plain::Bytes,
        "string" => Plain::String,
        "fixed" => Plain::Fixed(plan::size(given, "size")?),
        "long_as_double" => Plain::LongAsDouble,
        _ => return Ok(None),
    }))
}

fn meaning(given: &Value) -> Result<Option<Meaning>, String> {
    let Some(name) = given["meaning"].as_str() else { return Ok(None) };
    Ok(Some(match name {
        "date" => Meaning::Date,
        "time-millis" => Meaning::TimeMillis,
        "time-micros" => Meaning::TimeMicros,
        "timestamp-millis" => Meaning::TimestampMillis,
        "timestamp-micros" => Meaning::TimestampMicros,
        "local-timestamp-millis" => Meaning::LocalMillis,
        "local-timestamp-micros" => Meaning::LocalMicros,
        "uuid" => Meaning::Uuid,
        "duration" => Meaning::Duration,
        "decimal" => Meaning::Decimal {
            precision: plan::size(given, "precision")?,
            scale: plan::size(given, "scale")?,
        },
        other => return Err(format!("unknown meaning {other:?}")),
    }))
}

fn node(py: Python<'_>, given: &Value) -> Result<Node, String> {
    if let Some(plain) = plain(given)? {
        return Ok(match meaning(given)? {
            None => Node::Plain(plain),
            Some(meaning) => Node::Meant(plain, meaning),
        });
    }
    Ok(match plan::text(given, "kind")? {
        "enum" => {
            let symbols = plan::list(given, "symbols")?.iter().map(|symbol| match symbol.as_str() {
                Some(text) => Ok(PyString::intern(py, text).unbind()),
                None => Err(plan::text(symbol, "mismatch").unwrap_or("no symbol").to_owned()),
            });
            let texts = plan::list(given, "symbols")?.iter();
            Node::Enum(Enum {
                symbols: symbols.collect(),
                texts: texts.map(|symbol| symbol.as_str().unwrap_or_default().to_owned()).collect(),
            })
        }
        "array" => Node::Array(Box::new(node(py, &given["items"])?)),
        "map" => Node::Map(Box::new(node(py, &given["values"])?)),
        "record" => Node::Record(plan::size(given, "number")?),
        "union" => {
            let branches = plan::list(given, "branches")?.iter().map(|given| {
                Ok(Branch {
                    node: node(py, &given["node"])?,
                    name: PyString::intern(py, plan::text(given, "name")?).unbind(),
                    is_told: plan::flag(given, "is_told"),
                })
            });
            Node::Union(branches.collect::<Result<_, String>>()?)
        }
        "mismatch" => Node::Mismatch(plan::text(given, "message")?.to_owned()),
        other => return Err(format!("unknown kind {other:?}")),
    })
}

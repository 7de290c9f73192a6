//! One format with one schema: whole columns, row by row.

use super::failure::{Failure, Outcome};
use super::framing::Framing;
use super::{avro, avro_encode, json, json_encode, plan, protobuf, protobuf_encode};
use crate::arrow::tree::Column;
use crate::arrow::{DataType, Field, ImportError, ImportedColumn};

/// One format with one schema.
pub struct Format {
    data_type: DataType,
    codec: Codec,
    pub(super) framing: Framing,
}

enum Codec {
    Text,
    Json(json::JsonNode),
    Avro(avro::AvroNode),
    Protobuf(protobuf::MessageType),
}

/// A column, and what could not be read: columns of the row, the place in it, and the reason.
pub struct Decoded {
    pub column: Column,
    pub errors: Column,
}

/// The type of `Decoded::errors`.
pub fn error_type() -> DataType {
    let field = |name: &str, data_type| Field { name: name.into(), data_type };
    DataType::Struct(vec![
        field("row", DataType::Int64),
        field("field", DataType::Utf8),
        field("error", DataType::Utf8),
    ])
}

impl Format {
    /// `name` is that of a format; `plan` is JSON, for the formats that need one.
    pub fn new(name: &str, data_type: DataType, plan: &str, framing: Framing) -> Result<Self, String> {
        let codec = match name {
            "string" if data_type == DataType::Utf8 => Codec::Text,
            "string" => return Err("the format string gives strings".into()),
            "json" => Codec::Json(json::JsonNode::new(&data_type)?),
            "avro" => Codec::Avro(avro::AvroPlan::new(&plan::parse(plan)?)?.joined(&data_type)?),
            "protobuf" => Codec::Protobuf(protobuf::MessageType::new(&plan::parse(plan)?, &data_type)?),
            _ => return Err(format!("unknown format {name:?}")),
        };
        Ok(Self { data_type, codec, framing })
    }

    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// A null stays null. With `stop_at_error` the rows after the first bad one are left out.
    pub fn decode(&self, values: &ImportedColumn, stop_at_error: bool) -> Result<Decoded, ImportError> {
        let mut decoder = Decoder::new(self);
        decode_rows(&self.data_type, values, stop_at_error, |_, bytes, column| {
            decoder.decode(self.framing.strip(bytes)?, column)
        })
    }

    /// A column of bytes. The error names the row.
    pub fn encode(&self, values: &ImportedColumn) -> Result<Column, (usize, Box<Failure>)> {
        let mut column = Column::new(&DataType::Binary);
        column.reserve(values.len());
        let mut bytes = Vec::new();
        for row in 0..values.len() {
            if values.is_null(row) {
                column.push_null();
                continue;
            }
            bytes.clear();
            self.framing.write(&mut bytes);
            let outcome = match &self.codec {
                Codec::Text => {
                    values.bytes(row).map(|text| bytes.extend_from_slice(text)).map_err(Into::into)
                }
                Codec::Json(node) => json_encode::encode(node, values, row, &mut bytes),
                Codec::Avro(node) => avro_encode::encode(node, values, row, &mut bytes),
                Codec::Protobuf(message) => protobuf_encode::encode(message, values, row, &mut bytes),
            };
            outcome
                .and_then(|()| column.push_bytes(&bytes).map_err(Into::into))
                .map_err(|failure| (row, failure))?;
        }
        Ok(column)
    }
}

/// Of one format: what it keeps from one value to the next.
pub(super) struct Decoder<'a> {
    codec: &'a Codec,
    reader: Option<protobuf::Reader<'a>>,
}

impl<'a> Decoder<'a> {
    pub fn new(format: &'a Format) -> Self {
        let reader = match &format.codec {
            Codec::Protobuf(message) => Some(protobuf::Reader::new(message)),
            _ => None,
        };
        Self { codec: &format.codec, reader }
    }

    pub fn decode(&mut self, bytes: &[u8], column: &mut Column) -> Outcome {
        match self.codec {
            Codec::Text => decode_text(bytes, column),
            Codec::Json(node) => json::decode(node, bytes, column),
            Codec::Avro(node) => avro::decode(node, bytes, column),
            Codec::Protobuf(_) => self.reader.as_mut().map_or(Ok(()), |reader| reader.decode(bytes, column)),
        }
    }
}

/// `decode` is given the row, its bytes and the column.
pub(super) fn decode_rows(
    data_type: &DataType,
    values: &ImportedColumn,
    stop_at_error: bool,
    mut decode: impl FnMut(usize, &[u8], &mut Column) -> Outcome,
) -> Result<Decoded, ImportError> {
    let mut column = Column::new(data_type);
    let mut errors = Column::new(&error_type());
    column.reserve(values.len());
    for row in 0..values.len() {
        if values.is_null(row) {
            column.push_null();
            continue;
        }
        if let Err(failure) = decode(row, values.bytes(row)?, &mut column) {
            column.truncate(row);
            column.push_null();
            push_error(&mut errors, row, &failure);
            if stop_at_error {
                break;
            }
        }
    }
    Ok(Decoded { column, errors })
}

fn decode_text(bytes: &[u8], column: &mut Column) -> Outcome {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(column.push_bytes(text.as_bytes())?),
        Err(error) => Err(Failure::new(format!("not UTF-8: {error}"))),
    }
}

fn push_error(errors: &mut Column, row: usize, failure: &Failure) {
    let before = errors.rows();
    let [rows, fields, messages] = errors.fields() else { unreachable!() };
    let pushed = rows.push_int(row as i64)
        && fields.push_bytes(failure.path().as_bytes()).is_ok()
        && messages.push_bytes(failure.message().as_bytes()).is_ok();
    if pushed {
        errors.close_struct();
    } else {
        // Two gigabytes of messages: the rows are null all the same.
        errors.truncate(before);
    }
}

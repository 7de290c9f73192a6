//! Columns into JSON, as Spark's to_json: fields that are null are left out.

use serde::Serialize;

use super::failure::{Failure, Outcome};
use super::json::{Inner, JsonNode};
use super::{numbers, times};
use crate::arrow::{DataType, ImportedColumn};

pub fn encode(node: &JsonNode, values: &ImportedColumn, row: usize, output: &mut Vec<u8>) -> Outcome {
    match (&node.inner, &node.data_type) {
        (Inner::Struct { names, nodes, .. }, _) => {
            output.push(b'{');
            let mut is_first = true;
            for ((name, node), field) in names.iter().zip(nodes).zip(values.fields()) {
                if field.is_null(row) {
                    continue;
                }
                if !is_first {
                    output.push(b',');
                }
                is_first = false;
                write(output, name)?;
                output.push(b':');
                encode(node, field, row, output).map_err(|failure| failure.in_field(name))?;
            }
            output.push(b'}');
        }
        (Inner::List(node), _) => {
            let (items, range) = values.items(row)?;
            output.push(b'[');
            for (index, item) in range.enumerate() {
                if index > 0 {
                    output.push(b',');
                }
                encode_or_null(node, items, item, output).map_err(|failure| failure.in_item(index))?;
            }
            output.push(b']');
        }
        (Inner::Map(node), _) => {
            let (keys, entries, range) = values.entries(row)?;
            output.push(b'{');
            for (index, entry) in range.enumerate() {
                if index > 0 {
                    output.push(b',');
                }
                write(output, text(keys.bytes(entry)?)?)?;
                output.push(b':');
                encode_or_null(node, entries, entry, output).map_err(|failure| failure.in_item(index))?;
            }
            output.push(b'}');
        }
        (Inner::Leaf, data_type) => encode_leaf(data_type, values, row, output)?,
    }
    Ok(())
}

fn encode_or_null(node: &JsonNode, values: &ImportedColumn, row: usize, output: &mut Vec<u8>) -> Outcome {
    if values.is_null(row) {
        output.extend_from_slice(b"null");
        return Ok(());
    }
    encode(node, values, row, output)
}

fn encode_leaf(data_type: &DataType, values: &ImportedColumn, row: usize, output: &mut Vec<u8>) -> Outcome {
    match data_type {
        DataType::Boolean => write(output, &values.bool(row)),
        DataType::Utf8 => write(output, text(values.bytes(row)?)?),
        DataType::Float32 => {
            let value = values.float32(row);
            if value.is_finite() { write(output, &value) } else { write(output, name_of(value.into())) }
        }
        DataType::Float64 => {
            let value = values.float64(row);
            if value.is_finite() { write(output, &value) } else { write(output, name_of(value)) }
        }
        DataType::Decimal { scale, .. } => {
            numbers::write_decimal(output, values.decimal(row), *scale);
            Ok(())
        }
        DataType::Binary => {
            write_base64(output, values.bytes(row)?);
            Ok(())
        }
        DataType::Date => {
            output.push(b'"');
            times::write_date(output, values.int(row));
            output.push(b'"');
            Ok(())
        }
        DataType::Timestamp { is_utc } => {
            output.push(b'"');
            times::write_timestamp(output, values.int(row), *is_utc);
            output.push(b'"');
            Ok(())
        }
        _ => write(output, &values.int(row)),
    }
}

fn write<T: Serialize + ?Sized>(output: &mut Vec<u8>, value: &T) -> Outcome {
    serde_json::to_writer(output, value).map_err(|error| Failure::new(error.to_string()))
}

fn text(bytes: &[u8]) -> Result<&str, Box<Failure>> {
    std::str::from_utf8(bytes).map_err(|error| Failure::new(format!("a string is not UTF-8: {error}")))
}

fn name_of(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

fn write_base64(output: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    output.push(b'"');
    for group in bytes.chunks(3) {
        let mut whole = [0; 3];
        whole[..group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes([0, whole[0], whole[1], whole[2]]);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            output.push(if place <= group.len() { digit } else { b'=' });
        }
    }
    output.push(b'"');
}

//! Columns into Protocol Buffers' encoding, by the plan of a message.

use super::failure::{Failure, Outcome};
use super::protobuf::{Kind, MessageField, MessageType, Shape};
use super::wire::{write_varint, zigzag};
use crate::arrow::ImportedColumn;

/// A field is written once it has a value; with `Implicit` only if that is not its type's default.
pub fn encode(message: &MessageType, values: &ImportedColumn, row: usize, output: &mut Vec<u8>) -> Outcome {
    for (field, column) in message.fields.iter().zip(values.fields()) {
        encode_field(field, column, row, output).map_err(|failure| failure.in_field(&field.name))?;
    }
    check_oneofs(message, values, row)
}

fn check_oneofs(message: &MessageType, values: &ImportedColumn, row: usize) -> Outcome {
    let mut taken: Vec<(u64, &str)> = Vec::new();
    for (field, column) in message.fields.iter().zip(values.fields()) {
        let Shape::Optional { oneof: Some(group) } = field.shape else { continue };
        if column.is_null(row) {
            continue;
        }
        if let Some((_, other)) = taken.iter().find(|(of, _)| *of == group) {
            let message = format!("it has a value, and so has {other}: of a oneof one has at most");
            return Err(Failure::new(message).in_field(&field.name));
        }
        taken.push((group, &field.name));
    }
    Ok(())
}

fn encode_field(field: &MessageField, column: &ImportedColumn, row: usize, output: &mut Vec<u8>) -> Outcome {
    if column.is_null(row) {
        return match field.shape {
            Shape::Required => Err(Failure::new("null, and it is required")),
            _ => Ok(()),
        };
    }
    match &field.shape {
        Shape::Implicit | Shape::Optional { .. } | Shape::Required => {
            let start = output.len();
            write_tag(output, field.number, field.kind.wire_type());
            let is_default = encode_value(&field.kind, column, row, output)?;
            if is_default && matches!(field.shape, Shape::Implicit) {
                output.truncate(start);
            }
        }
        Shape::Repeated { is_packed } => {
            let (items, range) = column.items(row)?;
            if *is_packed && !range.is_empty() {
                write_tag(output, field.number, 2);
                return with_length(output, |output| {
                    for (index, item) in range.enumerate() {
                        encode_item(&field.kind, items, item, output)
                            .map_err(|failure| failure.in_item(index))?;
                    }
                    Ok(())
                });
            }
            for (index, item) in range.enumerate() {
                write_tag(output, field.number, field.kind.wire_type());
                encode_item(&field.kind, items, item, output).map_err(|failure| failure.in_item(index))?;
            }
        }
        Shape::Map { key } => {
            let (keys, entries, range) = column.entries(row)?;
            for (index, entry) in range.enumerate() {
                write_tag(output, field.number, 2);
                let written = with_length(output, |output| {
                    write_tag(output, 1, key.wire_type());
                    encode_item(key, keys, entry, output)?;
                    write_tag(output, 2, field.kind.wire_type());
                    encode_item(&field.kind, entries, entry, output)
                });
                written.map_err(|failure| failure.in_item(index))?;
            }
        }
    }
    Ok(())
}

fn encode_item(kind: &Kind, values: &ImportedColumn, row: usize, output: &mut Vec<u8>) -> Outcome {
    if values.is_null(row) {
        return Err(Failure::new("null, which lists and maps of Protocol Buffers do not take"));
    }
    encode_value(kind, values, row, output).map(drop)
}

fn write_tag(output: &mut Vec<u8>, number: u32, wire_type: u8) {
    write_varint(output, u64::from(number) << 3 | u64::from(wire_type));
}

/// Writes what `write` does, and its length before it.
fn with_length(output: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Outcome) -> Outcome {
    let start = output.len();
    write(output)?;
    let length = output.len() - start;
    let end = output.len();
    write_varint(output, length as u64);
    // The length goes before what it measures.
    let length_bytes = output.len() - end;
    output[start..].rotate_right(length_bytes);
    Ok(())
}

/// Whether it is the default of its type.
fn encode_value(
    kind: &Kind,
    values: &ImportedColumn,
    row: usize,
    output: &mut Vec<u8>,
) -> Result<bool, Box<Failure>> {
    let is_default = match kind {
        Kind::Double => {
            let value = values.float64(row);
            output.extend_from_slice(&value.to_le_bytes());
            value.to_bits() == 0
        }
        Kind::Float => {
            let value = values.float32(row);
            output.extend_from_slice(&value.to_le_bytes());
            value.to_bits() == 0
        }
        Kind::Uint64 => {
            let value = unsigned(values.decimal(row))?;
            write_varint(output, value);
            value == 0
        }
        Kind::Fixed64 => {
            let value = unsigned(values.decimal(row))?;
            output.extend_from_slice(&value.to_le_bytes());
            value == 0
        }
        Kind::Bool => {
            output.push(values.bool(row).into());
            !values.bool(row)
        }
        Kind::String | Kind::Bytes => {
            let bytes = values.bytes(row)?;
            write_varint(output, bytes.len() as u64);
            output.extend_from_slice(bytes);
            bytes.is_empty()
        }
        Kind::Enum(symbols) => {
            let text = String::from_utf8_lossy(values.bytes(row)?);
            let number = symbols.by_name.get(text.as_ref()).copied().or_else(|| text.parse().ok());
            let number =
                number.ok_or_else(|| Failure::new(format!("{text:?} is none of the enum's symbols")))?;
            write_varint(output, i64::from(number) as u64);
            number == 0
        }
        Kind::Message(message) => {
            with_length(output, |output| encode(message, values, row, output))?;
            false
        }
        Kind::Wrapper(inner) => {
            with_length(output, |output| {
                let start = output.len();
                write_tag(output, 1, inner.wire_type());
                if encode_value(inner, values, row, output)? {
                    output.truncate(start);
                }
                Ok(())
            })?;
            false
        }
        Kind::Time => {
            let micros = values.int(row);
            let (seconds, nanos) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000) * 1000);
            with_length(output, |output| {
                for (number, value) in [(1, seconds), (2, nanos)] {
                    if value != 0 {
                        write_tag(output, number, 0);
                        write_varint(output, value as u64);
                    }
                }
                Ok(())
            })?;
            false
        }
        _ => encode_int(kind, values.int(row), output)?,
    };
    Ok(is_default)
}

fn encode_int(kind: &Kind, value: i64, output: &mut Vec<u8>) -> Result<bool, Box<Failure>> {
    let is_unsigned = matches!(kind, Kind::Uint32 | Kind::Fixed32);
    if is_unsigned && u32::try_from(value).is_err() {
        return Err(Failure::new(format!("{value} is not between 0 and {}", u32::MAX)));
    }
    match kind {
        Kind::Sint32 | Kind::Sint64 => write_varint(output, zigzag(value)),
        Kind::Fixed32 | Kind::Sfixed32 => output.extend_from_slice(&(value as u32).to_le_bytes()),
        Kind::Sfixed64 => output.extend_from_slice(&value.to_le_bytes()),
        _ => write_varint(output, value as u64),
    }
    Ok(value == 0)
}

fn unsigned(value: i128) -> Result<u64, Box<Failure>> {
    u64::try_from(value).map_err(|_| Failure::new(format!("{value} is not between 0 and {}", u64::MAX)))
}

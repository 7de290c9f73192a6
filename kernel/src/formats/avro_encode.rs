//! Columns into Avro's binary encoding, by the plan of a schema.

use super::avro::{AvroNode, FieldSource};
use super::failure::{Failure, Outcome};
use super::numbers::to_big_endian;
use super::wire::write_zigzag;
use crate::arrow::ImportedColumn;

pub fn encode(node: &AvroNode, values: &ImportedColumn, row: usize, output: &mut Vec<u8>) -> Outcome {
    if let AvroNode::Union(branches) = node {
        return encode_branch(branches, values, row, output);
    }
    if values.is_null(row) {
        return if matches!(node, AvroNode::Null) { Ok(()) } else { Err(null_refused()) };
    }
    match node {
        AvroNode::Null => return Err(Failure::new("a value, where the schema has only null")),
        AvroNode::Boolean => output.push(values.bool(row).into()),
        AvroNode::Int => {
            let value = values.int(row);
            if i32::try_from(value).is_err() {
                return Err(Failure::new(format!("{value} is too large for Avro's int")));
            }
            write_zigzag(output, value);
        }
        AvroNode::Long => write_zigzag(output, values.int(row)),
        AvroNode::Millis => write_zigzag(output, values.int(row).div_euclid(1000)),
        AvroNode::Float => output.extend_from_slice(&float(values, row).to_le_bytes()),
        AvroNode::Double => output.extend_from_slice(&values.float64(row).to_le_bytes()),
        AvroNode::Bytes | AvroNode::String => write_sized(output, values.bytes(row)?),
        AvroNode::Fixed(size) => {
            let bytes = values.bytes(row)?;
            if bytes.len() != *size {
                return Err(Failure::new(format!("{} bytes, where Avro's fixed takes {size}", bytes.len())));
            }
            output.extend_from_slice(bytes);
        }
        AvroNode::Uuid => {
            let text = values.bytes(row)?;
            let uuid = parse_uuid(text);
            let uuid =
                uuid.ok_or_else(|| Failure::new(format!("{:?} is no UUID", String::from_utf8_lossy(text))))?;
            output.extend_from_slice(&uuid);
        }
        AvroNode::Decimal { size, .. } => encode_decimal(*size, values.decimal(row), output)?,
        AvroNode::Enum(symbols) => {
            let text = values.bytes(row)?;
            let index =
                symbols.iter().position(|symbol| matches!(symbol, Ok(known) if known.as_bytes() == text));
            let index = index.ok_or_else(|| {
                Failure::new(format!("{:?} is none of the enum's symbols", String::from_utf8_lossy(text)))
            })?;
            write_zigzag(output, index as i64);
        }
        AvroNode::Array(node) => {
            let (items, range) = values.items(row)?;
            if !range.is_empty() {
                write_zigzag(output, range.len() as i64);
            }
            for (index, item) in range.enumerate() {
                encode(node, items, item, output).map_err(|failure| failure.in_item(index))?;
            }
            output.push(0);
        }
        AvroNode::Map(node) => {
            let (keys, entries, range) = values.entries(row)?;
            if !range.is_empty() {
                write_zigzag(output, range.len() as i64);
            }
            for (index, entry) in range.enumerate() {
                write_sized(output, keys.bytes(entry)?);
                encode(node, entries, entry, output).map_err(|failure| failure.in_item(index))?;
            }
            output.push(0);
        }
        AvroNode::Record(fields) => {
            for field in fields {
                let FieldSource::Written(column, node) = &field.source else { return Err(for_reading()) };
                encode(node, &values.fields()[*column], row, output)
                    .map_err(|failure| failure.in_field(&field.name))?;
            }
        }
        AvroNode::LongAsDouble | AvroNode::Mismatch(_) => return Err(for_reading()),
        AvroNode::Member(..) | AvroNode::Union(_) => unreachable!("done above"),
    }
    Ok(())
}

fn encode_branch(
    branches: &[AvroNode],
    values: &ImportedColumn,
    row: usize,
    output: &mut Vec<u8>,
) -> Outcome {
    let is_null = values.is_null(row);
    if !is_null && branches.iter().any(|branch| matches!(branch, AvroNode::Member(..))) {
        return encode_member(branches, values, row, output);
    }
    let start = output.len();
    let mut failed = None;
    let has_double = branches.iter().any(|branch| matches!(branch, AvroNode::Double));
    // Of int and long the first one that takes the value.
    for (index, branch) in branches.iter().enumerate() {
        if is_null != matches!(branch, AvroNode::Null) {
            continue;
        }
        // A float would be less than what the column of doubles holds.
        if has_double && matches!(branch, AvroNode::Float) {
            continue;
        }
        write_zigzag(output, index as i64);
        match encode(branch, values, row, output) {
            Ok(()) => return Ok(()),
            Err(failure) => failed = Some(failure),
        }
        output.truncate(start);
    }
    Err(failed.unwrap_or_else(null_refused))
}

fn encode_member(
    branches: &[AvroNode],
    values: &ImportedColumn,
    row: usize,
    output: &mut Vec<u8>,
) -> Outcome {
    let mut chosen = None;
    for (index, branch) in branches.iter().enumerate() {
        let AvroNode::Member(member, node) = branch else { continue };
        let field = &values.fields()[*member];
        if field.is_null(row) {
            continue;
        }
        if chosen.is_some() {
            return Err(Failure::new("more than one member of a union has a value"));
        }
        chosen = Some((index, node, field));
    }
    let (index, node, field) = chosen.ok_or_else(|| Failure::new("no member of a union has a value"))?;
    write_zigzag(output, index as i64);
    encode(node, field, row, output)
}

#[cold]
fn for_reading() -> Box<Failure> {
    Failure::new("this form reads one schema as another one has it, and cannot write")
}

#[cold]
fn null_refused() -> Box<Failure> {
    Failure::new("null, which its Avro type does not take")
}

/// A union of float and double has a column of doubles.
fn float(values: &ImportedColumn, row: usize) -> f32 {
    values.float_of_any_width(row) as f32
}

fn write_sized(output: &mut Vec<u8>, bytes: &[u8]) {
    write_zigzag(output, bytes.len() as i64);
    output.extend_from_slice(bytes);
}

fn encode_decimal(size: Option<usize>, value: i128, output: &mut Vec<u8>) -> Outcome {
    let whole = value.to_be_bytes();
    let short = to_big_endian(&whole);
    let Some(size) = size else {
        write_sized(output, short);
        return Ok(());
    };
    let Some(missing) = size.checked_sub(short.len()) else {
        return Err(Failure::new(format!(
            "a decimal of {} bytes, where Avro's fixed takes {size}",
            short.len()
        )));
    };
    output.resize(output.len() + missing, if value < 0 { 0xff } else { 0 });
    output.extend_from_slice(short);
    Ok(())
}

fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    let mut digits = text.iter().filter(|&&byte| byte != b'-').map(|&byte| char::from(byte).to_digit(16));
    for byte in &mut bytes {
        *byte = (digits.next()?? << 4 | digits.next()??) as u8;
    }
    digits.next().is_none().then_some(bytes)
}

//! Values of several writers in one column, each of which names its schema: read by that, into the type of one reader.

use std::collections::{HashMap, HashSet};

use super::failure::Failure;
use super::format::{Decoded, Decoder, Format, decode_rows};
use super::framing::{id_of, strip_index};
use crate::arrow::{DataType, ImportError, ImportedColumn};

/// How serializers name a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaKey {
    /// Behind a zero, before the value or in a header of the record.
    Id(u32),
    /// Behind a one, likewise.
    Guid([u8; 16]),
}

const GUID_MAGIC: u8 = 1;

/// What is known of one schema: how values are read by it, or why they are not.
pub enum Writer<'a> {
    Known(&'a Format),
    Refused(String),
}

pub type Writers<'a> = HashMap<SchemaKey, Writer<'a>>;

/// The schema of a value, what stands behind its name, and the value's own bytes where that is not the same:
/// `header` is that of the record, where it has one.
#[inline]
fn key_of<'a>(bytes: &'a [u8], header: Option<&'a [u8]>) -> Result<Named<'a>, Box<Failure>> {
    let named = header.unwrap_or(bytes);
    let (key, rest) = match named.split_first_chunk::<17>() {
        Some((&[GUID_MAGIC, ref guid @ ..], rest)) => (SchemaKey::Guid(*guid), rest),
        _ => id_of(named).map(|(id, rest)| (SchemaKey::Id(id), rest))?,
    };
    Ok(Named { key, rest, value: header.map(|_| bytes) })
}

struct Named<'a> {
    key: SchemaKey,
    rest: &'a [u8],
    value: Option<&'a [u8]>,
}

/// None where the record has no such header.
fn header_of(headers: Option<&ImportedColumn>, row: usize) -> Result<Option<&[u8]>, Box<Failure>> {
    match headers {
        Some(headers) if !headers.is_null(row) => Ok(Some(headers.bytes(row)?)),
        _ => Ok(None),
    }
}

/// The schemas that values name, each once; those that name none are left out. `headers` has a row for each value.
pub fn schema_keys(
    values: &ImportedColumn,
    headers: Option<&ImportedColumn>,
) -> Result<Vec<SchemaKey>, ImportError> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut last = None;
    for row in (0..values.len()).filter(|&row| !values.is_null(row)) {
        let bytes = values.bytes(row)?;
        let Ok(header) = header_of(headers, row) else { continue };
        let Ok(Named { key, .. }) = key_of(bytes, header) else { continue };
        if last != Some(key) {
            last = Some(key);
            if seen.insert(key) {
                found.push(key);
            }
        }
    }
    Ok(found)
}

/// As `Format::decode`, into `data_type`, which all `writers` give.
pub fn decode_by_schema(
    data_type: &DataType,
    values: &ImportedColumn,
    headers: Option<&ImportedColumn>,
    writers: &Writers<'_>,
    stop_at_error: bool,
) -> Result<Decoded, ImportError> {
    let mut places = HashMap::with_capacity(writers.len());
    let mut decoders: Vec<Result<(&Format, Decoder<'_>), &str>> = Vec::with_capacity(writers.len());
    for (key, writer) in writers {
        places.insert(*key, decoders.len());
        decoders.push(match writer {
            Writer::Known(format) => Ok((*format, Decoder::new(format))),
            Writer::Refused(reason) => Err(reason.as_str()),
        });
    }
    // Most values have the schema of the one before.
    let mut last = None;
    decode_rows(data_type, values, stop_at_error, |row, bytes, column| {
        let named = key_of(bytes, header_of(headers, row)?)?;
        let place = match last {
            Some((key, place)) if key == named.key => place,
            _ => *places.get(&named.key).ok_or_else(|| Failure::new("its schema is not known"))?,
        };
        last = Some((named.key, place));
        match &mut decoders[place] {
            Ok((format, decoder)) => {
                // Of Protocol Buffers the way to the message stands behind the schema, wherever that is named.
                let rest = strip_index(named.rest, format.framing.message_index())?;
                decoder.decode(named.value.unwrap_or(rest), column)
            }
            Err(reason) => Err(Failure::new(*reason)),
        }
    })
}

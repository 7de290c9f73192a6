//! The rows that columns have room for, filled in the loop that decodes records.
//!
//! While they are filled they are nobody else's, so that where they are and how many there are stays in registers.

use super::column::{BytesRoom, HeadersColumn};
use crate::records::{RecordSlices, RecordTaker, Span};

/// Why the record after the last row was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// There is none: the cursor stopped.
    Cursor,
    /// More is not to go into these columns.
    Full,
    /// Columns that grow by this much have room for it.
    NoRoom { key_bytes: usize, value_bytes: usize },
}

/// What has been filled.
#[derive(Debug, Clone, Copy)]
pub struct FilledRows {
    pub rows: usize,
    pub key_bytes: usize,
    pub value_bytes: usize,
    pub stop: Stop,
}

pub struct Rows<'a> {
    pub key: BytesRoom<'a>,
    pub value: BytesRoom<'a>,
    pub offset: &'a mut [i64],
    pub timestamp: &'a mut [i64],
    pub headers: Option<&'a mut HeadersColumn>,
    /// Rows that the columns have already.
    pub first_row: usize,
    /// Of keys and values, and of headers, in all rows.
    pub max_bytes: usize,
    pub filled: FilledRows,
}

impl RecordTaker for Rows<'_> {
    // Nothing may refer to the record: all its parts would be written to memory.
    #[inline(always)]
    fn take(&mut self, payload: &[u8], record: RecordSlices) -> bool {
        let FilledRows { rows, key_bytes, value_bytes, .. } = self.filled;
        let row = self.first_row + rows;
        let bytes = |span: Option<Span>| span.map_or(0, Span::len);
        let key_length = self.key.first_byte + key_bytes + bytes(record.key);
        let value_length = self.value.first_byte + value_bytes + bytes(record.value);
        if row > 0 && key_length + value_length > self.max_bytes {
            self.filled.stop = Stop::Full;
            return false;
        }
        let no_room = Stop::NoRoom { key_bytes: bytes(record.key), value_bytes: bytes(record.value) };
        let (Some(offset), Some(timestamp), Some(key_end), Some(value_end)) = (
            self.offset.get_mut(rows),
            self.timestamp.get_mut(rows),
            self.key.ends.get_mut(rows),
            self.value.ends.get_mut(rows),
        ) else {
            self.filled.stop = no_room;
            return false;
        };
        let (Some(key_bytes), Some(value_bytes)) = (
            copied(self.key.bytes, key_bytes, payload, record.key),
            copied(self.value.bytes, value_bytes, payload, record.value),
        ) else {
            self.filled.stop = no_room;
            return false;
        };
        if record.header_count > 0 {
            if let Some(headers) = &mut self.headers {
                if !headers.take(row, record.headers.of(payload), self.max_bytes) {
                    self.filled.stop = Stop::Full;
                    return false;
                }
            }
        }
        *offset = record.offset;
        *timestamp = record.timestamp.saturating_mul(1000);
        *key_end = key_length as i32;
        *value_end = value_length as i32;
        if record.key.is_none() {
            self.key.validity.push_nulls(row, 1);
        }
        if record.value.is_none() {
            self.value.validity.push_nulls(row, 1);
        }
        self.filled.rows = rows + 1;
        self.filled.key_bytes = key_bytes;
        self.filled.value_bytes = value_bytes;
        true
    }
}

/// Where in `room` the value ends that was copied to `start`; None if it does not fit.
#[inline(always)]
fn copied(room: &mut [u8], start: usize, payload: &[u8], value: Option<Span>) -> Option<usize> {
    let Some(value) = value else { return Some(start) };
    let end = start + value.len();
    let from = value.start as usize;
    // With what lies around a short value: a call takes longer than a few more bytes.
    let is_copied = match value.len() {
        0..=16 => copy_chunk::<16>(room, start, payload, from),
        17..=64 => copy_chunk::<64>(room, start, payload, from),
        65..=128 => copy_chunk::<128>(room, start, payload, from),
        _ => false,
    };
    if !is_copied {
        room.get_mut(start..end)?.copy_from_slice(value.of(payload));
    }
    Some(end)
}

#[inline(always)]
fn copy_chunk<const BYTES: usize>(room: &mut [u8], start: usize, payload: &[u8], from: usize) -> bool {
    let room = room.get_mut(start..).and_then(|rest| rest.first_chunk_mut::<BYTES>());
    let chunk = payload.get(from..).and_then(|rest| rest.first_chunk::<BYTES>());
    let (Some(room), Some(chunk)) = (room, chunk) else { return false };
    *room = *chunk;
    true
}

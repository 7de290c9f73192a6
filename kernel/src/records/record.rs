//! One record inside the decompressed payload of a batch of magic 2: where its parts are.

use super::header::BatchHeader;
use super::varint::{read_varint, read_varlong};
use crate::error::Reason;

/// A range of bytes of a payload. Payloads are below 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    #[inline]
    pub fn of(self, payload: &[u8]) -> &[u8] {
        &payload[self.start as usize..self.end as usize]
    }

    #[inline]
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// A decoded record, its parts as spans of the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordSlices {
    pub offset: i64,
    pub timestamp: i64,
    pub key: Option<Span>,
    pub value: Option<Span>,
    /// The headers in wire format, without their count.
    pub headers: Span,
    pub header_count: u32,
    /// The whole record, with the length before it.
    pub whole: Span,
}

/// What a record's offset and timestamp count from.
#[derive(Debug, Clone, Copy)]
pub struct RecordBase {
    offset: i64,
    last_offset_delta: i32,
    timestamp: i64,
    log_append_time: Option<i64>,
}

impl From<&BatchHeader> for RecordBase {
    fn from(header: &BatchHeader) -> Self {
        Self {
            offset: header.base_offset,
            last_offset_delta: header.last_offset_delta,
            timestamp: header.base_timestamp,
            log_append_time: header.is_log_append_time().then_some(header.max_timestamp),
        }
    }
}

/// Steps through the records of one payload.
#[derive(Debug, Clone)]
pub struct RecordDecoder {
    base: RecordBase,
    position: usize,
    records_left: i32,
}

impl RecordDecoder {
    pub fn new(header: &BatchHeader) -> Self {
        Self { base: header.into(), position: 0, records_left: header.record_count }
    }

    pub fn records_left(&self) -> usize {
        self.records_left as usize
    }

    /// The record that the decoder stands before; None after the last. `payload` must be the same at every
    /// call.
    #[inline(always)]
    pub fn peek(&self, payload: &[u8]) -> Result<Option<RecordSlices>, Reason> {
        if self.records_left == 0 {
            return if self.position == payload.len() { Ok(None) } else { Err(LEFT_OVER.into()) };
        }
        let Some(record) = decode(payload, self.position, &self.base) else {
            return Err(self.bad_record());
        };
        if self.records_left == 1 && record.whole.end as usize != payload.len() {
            return Err(LEFT_OVER.into());
        }
        Ok(Some(record))
    }

    #[cold]
    fn bad_record(&self) -> Reason {
        format!(
            "the record at byte {} of the batch's records, {} before the last, has lengths or an offset that cannot be",
            self.position,
            self.records_left - 1
        )
        .into()
    }

    /// Goes on to what follows `record`, the one that `peek` gave.
    #[inline]
    pub fn step_over(&mut self, record: &RecordSlices) {
        self.position = record.whole.end as usize;
        self.records_left -= 1;
    }

    /// `peek` and `step_over` at once.
    #[inline]
    pub fn next(&mut self, payload: &[u8]) -> Result<Option<RecordSlices>, Reason> {
        let record = self.peek(payload)?;
        if let Some(record) = &record {
            self.step_over(record);
        }
        Ok(record)
    }
}

const LEFT_OVER: &str = "bytes are left over after the batch's last record";

#[inline(always)]
fn nullable_span(data: &[u8], position: &mut usize) -> Option<Option<Span>> {
    let length = read_varint(data, position)?;
    if length < 0 {
        return (length == -1).then_some(None);
    }
    let start = *position;
    let end = start.checked_add(length as usize)?;
    if end > data.len() {
        return None;
    }
    *position = end;
    Some(Some(Span::new(start, end)))
}

#[inline(always)]
fn decode(payload: &[u8], start: usize, base: &RecordBase) -> Option<RecordSlices> {
    let mut cursor = start;
    let position = &mut cursor;
    let length = usize::try_from(read_varint(payload, position)?).ok()?;
    let end = position.checked_add(length)?;
    // What belongs to a record lies inside its length: the slice makes that hold.
    let data = payload.get(..end)?;
    if *position == end {
        return None;
    }
    *position += 1;
    let timestamp_delta = read_varlong(data, position)?;
    let offset_delta = read_varint(data, position)?;
    if offset_delta < 0 || offset_delta > base.last_offset_delta {
        return None;
    }
    let key = nullable_span(data, position)?;
    let value = nullable_span(data, position)?;
    let header_count = u32::try_from(read_varint(data, position)?).ok()?;
    let headers_start = *position;
    if header_count > 0 {
        skip_headers(data, position, header_count)?;
    }
    if *position != end {
        return None;
    }
    Some(RecordSlices {
        offset: base.offset + i64::from(offset_delta),
        timestamp: base.log_append_time.unwrap_or_else(|| base.timestamp.wrapping_add(timestamp_delta)),
        key,
        value,
        headers: Span::new(headers_start, end),
        header_count,
        whole: Span::new(start, end),
    })
}

#[inline(never)]
fn skip_headers(data: &[u8], position: &mut usize, header_count: u32) -> Option<()> {
    for _ in 0..header_count {
        nullable_span(data, position)??;
        nullable_span(data, position)?;
    }
    Some(())
}

/// The headers in a span that `RecordDecoder` has found good, as key and value.
pub struct HeaderIter<'a> {
    data: &'a [u8],
    position: usize,
}

impl<'a> HeaderIter<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, position: 0 }
    }
}

impl<'a> Iterator for HeaderIter<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = nullable_span(self.data, &mut self.position)??;
        let value = nullable_span(self.data, &mut self.position)?;
        Some((key.of(self.data), value.map(|span| span.of(self.data))))
    }
}

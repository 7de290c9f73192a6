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

    /// Where in the payload it stands.
    pub fn position(&self) -> usize {
        self.position
    }

    pub fn records_left(&self) -> usize {
        self.records_left as usize
    }

    /// The record that the decoder stands before, if it is an ordinary one with others behind it, as nearly all are:
    /// whoever takes such a record has it in registers. None says nothing; `peek` tells. `payload` must be the same
    /// at every call.
    #[inline(always)]
    pub fn peek_ordinary(&self, payload: &[u8]) -> Option<RecordSlices> {
        if self.records_left > 1 { decode_ordinary(payload, self.position, &self.base) } else { None }
    }

    /// The record that the decoder stands before; None after the last.
    #[inline(never)]
    pub fn peek(&self, payload: &[u8]) -> Result<Option<RecordSlices>, Reason> {
        if self.records_left == 0 {
            return if self.position == payload.len() { Ok(None) } else { Err(LEFT_OVER.into()) };
        }
        let record = decode(payload, self.position, &self.base).ok_or_else(|| self.bad_record())?;
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
    #[inline(always)]
    pub fn step_over(&mut self, record: &RecordSlices) {
        self.position = record.whole.end as usize;
        self.records_left -= 1;
    }

    /// `peek` and `step_over` at once.
    pub fn next(&mut self, payload: &[u8]) -> Result<Option<RecordSlices>, Reason> {
        let record = match self.peek_ordinary(payload) {
            Some(record) => Some(record),
            None => self.peek(payload)?,
        };
        if let Some(record) = &record {
            self.step_over(record);
        }
        Ok(record)
    }
}

pub(super) const LEFT_OVER: &str = "bytes are left over after the batch's last record";

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

/// The bytes from a position on, as many as nearly every two numbers of a record take.
#[derive(Clone, Copy)]
struct Window {
    bytes: u64,
    position: usize,
}

impl Window {
    #[inline(always)]
    fn at(payload: &[u8], position: usize) -> Option<Self> {
        let bytes = payload.get(position..)?.first_chunk()?;
        Some(Self { bytes: u64::from_le_bytes(*bytes), position })
    }

    #[inline(always)]
    fn skip(&mut self, count: usize) {
        self.bytes >>= 8 * count;
        self.position += count;
    }

    /// A number of one to three bytes, not yet zigzag decoded; None for a longer one.
    #[inline(always)]
    fn short(&mut self) -> Option<u32> {
        let bytes = self.bytes as u32;
        if bytes & 0x80 == 0 {
            self.skip(1);
            return Some(bytes & 0x7f);
        }
        let two = bytes & 0x7f | (bytes >> 1) & 0x3f80;
        if bytes & 0x8000 == 0 {
            self.skip(2);
            return Some(two);
        }
        if bytes & 0x0080_0000 == 0 {
            self.skip(3);
            return Some(two | (bytes >> 2) & 0x001f_c000);
        }
        None
    }

    /// As `short`, for a number that is not negative.
    #[inline(always)]
    fn short_length(&mut self) -> Option<usize> {
        length_of(self.short()?)
    }

    /// The bytes behind their length, which is -1 for none.
    #[inline(always)]
    fn short_span(&mut self) -> Option<Option<Span>> {
        let raw = self.short()?;
        if raw == 1 {
            return Some(None);
        }
        let length = length_of(raw)?;
        let start = self.position;
        self.position += length;
        Some(Some(Span::new(start, self.position)))
    }
}

/// A number that is not negative, zigzag decoded.
#[inline(always)]
fn length_of(raw: u32) -> Option<usize> {
    (raw & 1 == 0).then_some((raw >> 1) as usize)
}

/// As `decode`, for a record whose numbers are small and that has no headers, which most have. None says nothing of it.
#[inline(always)]
fn decode_ordinary(payload: &[u8], start: usize, base: &RecordBase) -> Option<RecordSlices> {
    let mut window = Window::at(payload, start)?;
    let length = window.short_length()?;
    let end = window.position + length;
    // The attributes.
    window.skip(1);
    let timestamp_delta = window.short()?;
    let timestamp_delta = i64::from(timestamp_delta >> 1) ^ -i64::from(timestamp_delta & 1);
    let mut window = Window::at(payload, window.position)?;
    let offset_delta = window.short_length()?;
    if offset_delta as i64 > i64::from(base.last_offset_delta) {
        return None;
    }
    let key = window.short_span()?;
    let mut window = Window::at(payload, window.position)?;
    let value = window.short_span()?;
    let headers_start = window.position + 1;
    // Positions only grow: when the last is inside of the record, all are.
    if headers_start != end || *payload.get(window.position)? != 0 {
        return None;
    }
    Some(RecordSlices {
        offset: base.offset + offset_delta as i64,
        timestamp: base.log_append_time.unwrap_or_else(|| base.timestamp.wrapping_add(timestamp_delta)),
        key,
        value,
        headers: Span::new(headers_start, end),
        header_count: 0,
        whole: Span::new(start, end),
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::write_varint;

    const BASE: RecordBase =
        RecordBase { offset: 1000, last_offset_delta: 20_000, timestamp: 5000, log_append_time: None };

    /// Numbers by chance, the same in every run.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % limit
        }
    }

    fn bytes_or_null(output: &mut Vec<u8>, bytes: Option<&[u8]>) {
        write_varint(output, bytes.map_or(-1, |bytes| bytes.len() as i32));
        output.extend_from_slice(bytes.unwrap_or_default());
    }

    fn record(chance: &mut Chance) -> Vec<u8> {
        const SIZES: [usize; 6] = [0, 1, 5, 63, 100, 9000];
        let bytes = |chance: &mut Chance| {
            let size = SIZES[chance.below(SIZES.len())];
            (chance.below(5) > 0).then(|| vec![chance.below(256) as u8; size])
        };
        let mut body = vec![0];
        write_varint(&mut body, chance.below(3_000_000) as i32 - 1000);
        write_varint(&mut body, chance.below(20_010) as i32 - 2);
        let (key, value) = (bytes(chance), bytes(chance));
        bytes_or_null(&mut body, key.as_deref());
        bytes_or_null(&mut body, value.as_deref());
        let headers = if chance.below(4) == 0 { chance.below(3) } else { 0 };
        write_varint(&mut body, headers as i32);
        for _ in 0..headers {
            bytes_or_null(&mut body, Some(b"name"));
            bytes_or_null(&mut body, None);
        }
        let mut output = Vec::new();
        write_varint(&mut output, body.len() as i32);
        output.extend(body);
        output
    }

    #[test]
    fn ordinary_records_are_what_all_records_are() {
        let mut chance = Chance(7);
        let mut ordinary = 0;
        for _ in 0..200_000 {
            let mut payload = record(&mut chance);
            match chance.below(4) {
                0 => payload.truncate(chance.below(payload.len() + 1)),
                1 => payload.extend(record(&mut chance)),
                _ => {}
            }
            for _ in 0..chance.below(3) {
                if let at @ 1.. = payload.len().min(24) {
                    let at = chance.below(at);
                    payload[at] = chance.below(256) as u8;
                }
            }
            if let Some(record) = decode_ordinary(&payload, 0, &BASE) {
                assert_eq!(decode(&payload, 0, &BASE), Some(record), "{payload:?}");
                ordinary += 1;
            }
        }
        assert!(ordinary > 10_000, "{ordinary}");
    }

    #[test]
    fn a_small_record_with_others_behind_it_is_ordinary() {
        let mut payload = vec![16, 0, 2, 4, 2, b'k', 4, b'a', b'b', 0];
        payload[0] = (payload.len() as u8 - 1) * 2;
        payload.extend([0; 8]);
        let record = decode_ordinary(&payload, 0, &BASE).unwrap();
        assert_eq!((record.offset, record.timestamp, record.header_count), (1002, 5001, 0));
        assert_eq!((record.key, record.value), (Some(Span::new(5, 6)), Some(Span::new(7, 9))));
        assert_eq!(record.whole, Span::new(0, 10));
    }
}

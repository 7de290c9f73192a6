//! The columns of Spark's Kafka source, filled record by record. Knows Arrow's layout, not its interface.

use std::sync::{Arc, Mutex};

use super::buffer::Buffer;
use crate::records::{HeaderIter, RecordSlices, Span};

/// Offsets of variable-length columns are of 32 bits.
const MAX_COLUMN_BYTES: usize = i32::MAX as usize;

/// One bit a row; nothing at all while every row is valid.
#[derive(Default)]
pub struct Validity {
    /// Only up to the last valid row, and the rows before the first null.
    bits: Option<Vec<u8>>,
    null_count: usize,
}

impl Validity {
    /// Notes the row after `rows` others.
    #[inline(always)]
    fn push(&mut self, rows: usize, valid: bool) {
        if !valid {
            self.push_nulls(rows, 1);
        } else if self.bits.is_some() {
            self.push_valid(rows);
        }
    }

    fn push_valid(&mut self, rows: usize) {
        let Some(bits) = &mut self.bits else { return };
        if bits.len() <= rows / 8 {
            bits.resize(rows / 8 + 1, 0);
        }
        bits[rows / 8] |= 1 << (rows % 8);
    }

    /// Notes that the `count` rows after `rows` others are null.
    #[inline(always)]
    fn push_nulls(&mut self, rows: usize, count: usize) {
        if self.bits.is_none() {
            self.begin(rows);
        }
        self.null_count += count;
    }

    #[cold]
    fn begin(&mut self, rows: usize) {
        let mut bits = vec![0xff; rows / 8];
        if rows % 8 > 0 {
            bits.push((1 << (rows % 8)) - 1);
        }
        self.bits = Some(bits);
    }

    /// Has a bit for each of so many rows.
    fn finish(&mut self, rows: usize) {
        if let Some(bits) = &mut self.bits {
            bits.resize(rows.div_ceil(8), 0);
        }
    }

    pub fn bits(&self) -> Option<&[u8]> {
        self.bits.as_deref()
    }

    pub fn null_count(&self) -> usize {
        self.null_count
    }
}

/// A column of binary values or strings.
pub struct BytesColumn {
    pub offsets: Buffer<i32>,
    pub data: Buffer<u8>,
    pub validity: Validity,
}

impl Default for BytesColumn {
    fn default() -> Self {
        let mut offsets = Buffer::default();
        offsets.push(0);
        Self { offsets, data: Buffer::default(), validity: Validity::default() }
    }
}

impl BytesColumn {
    fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    fn push(&mut self, value: Option<&[u8]>) {
        self.validity.push(self.rows(), value.is_some());
        self.data.extend(value.unwrap_or_default());
        self.offsets.push(self.data.len() as i32);
    }

    /// Appends the value that lies there in `payload`.
    #[inline(always)]
    fn push_span(&mut self, payload: &[u8], value: Option<Span>) {
        self.validity.push(self.rows(), value.is_some());
        if let Some(value) = value {
            self.data.extend_from(payload, value.start as usize, value.end as usize);
        }
        self.offsets.push(self.data.len() as i32);
    }

    fn push_repeated(&mut self, value: &[u8], times: usize) {
        self.data.reserve(value.len() * times);
        self.offsets.reserve(times);
        for _ in 0..times {
            self.data.extend(value);
            self.offsets.push(self.data.len() as i32);
        }
    }

    fn fits(&self, length: usize) -> bool {
        self.data.len() + length <= MAX_COLUMN_BYTES
    }

    fn finish(&mut self) {
        self.validity.finish(self.rows());
        self.offsets.shrink();
        self.data.shrink();
    }
}

/// Lists of headers; a record without any has a null, as in Spark.
pub struct HeadersColumn {
    pub offsets: Buffer<i32>,
    pub validity: Validity,
    pub keys: BytesColumn,
    pub values: BytesColumn,
}

impl Default for HeadersColumn {
    fn default() -> Self {
        let mut offsets = Buffer::default();
        offsets.push(0);
        Self {
            offsets,
            validity: Validity::default(),
            keys: BytesColumn::default(),
            values: BytesColumn::default(),
        }
    }
}

impl HeadersColumn {
    /// Appends the headers of the row after `rows` others, of which those not pushed have none.
    fn push(&mut self, rows: usize, headers: &[u8]) {
        self.fill(rows);
        for (key, value) in HeaderIter::new(headers) {
            self.keys.push(Some(String::from_utf8_lossy(key).as_bytes()));
            self.values.push(value);
        }
        self.validity.push(rows, true);
        self.offsets.push(self.keys.rows() as i32);
    }

    /// Notes that there are so many rows now, those not pushed without headers.
    fn fill(&mut self, rows: usize) {
        let known = self.offsets.len() - 1;
        if rows > known {
            self.validity.push_nulls(known, rows - known);
            self.offsets.fill(rows + 1, self.keys.rows() as i32);
        }
    }

    fn fits(&self, headers: Span) -> bool {
        // A header takes at least two bytes, and its key grows threefold if none of it is UTF-8.
        self.keys.fits(headers.len() * 3) && self.values.fits(headers.len())
    }

    fn finish(&mut self, rows: usize) {
        self.fill(rows);
        self.validity.finish(rows);
        self.offsets.shrink();
        self.keys.finish();
        self.values.finish();
    }
}

/// The topic's name in every row. One column is kept for the next batches of the same topic, which then is there
/// already.
#[derive(Default)]
pub struct TopicColumn {
    /// The rows that each name is in, up to a row.
    runs: Vec<(usize, Arc<str>)>,
    column: Arc<RepeatedName>,
}

/// One name, many times; or several, for one batch.
#[derive(Default)]
struct RepeatedName {
    name: Option<Arc<str>>,
    column: BytesColumn,
}

static LAST_TOPIC: Mutex<Option<Arc<RepeatedName>>> = Mutex::new(None);
/// What is longer is not kept.
const MAX_KEPT_BYTES: usize = 1 << 20;

impl TopicColumn {
    pub fn offsets(&self) -> &[i32] {
        &self.column.column.offsets[..=self.rows()]
    }

    pub fn data(&self) -> &[u8] {
        &self.column.column.data[..self.offsets()[self.rows()] as usize]
    }

    fn rows(&self) -> usize {
        self.runs.last().map_or(0, |(end, _)| *end)
    }

    fn push(&mut self, rows_end: usize, name: &Arc<str>) {
        match self.runs.last_mut() {
            Some((end, last)) if last == name => *end = rows_end,
            _ => self.runs.push((rows_end, Arc::clone(name))),
        }
    }

    fn finish(&mut self) {
        let Some((_, first)) = self.runs.first() else { return };
        if self.runs.len() == 1 {
            let mut kept = LAST_TOPIC.try_lock().ok();
            if let Some(Some(kept)) = kept.as_deref() {
                if kept.name.as_ref() == Some(first) && kept.column.rows() >= self.rows() {
                    self.column = Arc::clone(kept);
                    return;
                }
            }
            let mut made = RepeatedName { name: Some(Arc::clone(first)), column: BytesColumn::default() };
            made.column.push_repeated(first.as_bytes(), self.rows());
            self.column = Arc::new(made);
            if self.column.column.data.len() <= MAX_KEPT_BYTES {
                if let Some(kept) = kept.as_deref_mut() {
                    *kept = Some(Arc::clone(&self.column));
                }
            }
            return;
        }
        let mut column = BytesColumn::default();
        for (end, name) in &self.runs {
            let rows = end - column.rows();
            column.push_repeated(name.as_bytes(), rows);
        }
        self.column = Arc::new(RepeatedName { name: None, column });
    }
}

/// Columns key, value, topic, partition, offset, timestamp, timestampType and perhaps headers.
pub struct RecordColumns {
    pub key: BytesColumn,
    pub value: BytesColumn,
    pub topic: TopicColumn,
    pub partition: Buffer<i32>,
    pub offset: Buffer<i64>,
    /// In microseconds, as Spark has it.
    pub timestamp: Buffer<i64>,
    pub timestamp_type: Buffer<i32>,
    pub headers: Option<HeadersColumn>,
    topic_bytes: usize,
    max_bytes: usize,
    /// What the batches that are not begun yet may come to.
    likely_bytes: usize,
}

impl RecordColumns {
    /// Takes records until their keys, values and headers come to about `max_bytes`; `likely_bytes` is what all
    /// batches may come to.
    pub fn new(with_headers: bool, max_bytes: usize, likely_bytes: usize) -> Self {
        Self {
            key: BytesColumn::default(),
            value: BytesColumn::default(),
            topic: TopicColumn::default(),
            partition: Buffer::default(),
            offset: Buffer::default(),
            timestamp: Buffer::default(),
            timestamp_type: Buffer::default(),
            headers: with_headers.then(HeadersColumn::default),
            topic_bytes: 0,
            max_bytes: max_bytes.min(MAX_COLUMN_BYTES),
            likely_bytes,
        }
    }

    pub fn num_rows(&self) -> usize {
        self.offset.len()
    }

    /// Bytes in all buffers.
    pub fn num_bytes(&self) -> usize {
        let bytes_column = |column: &BytesColumn| column.data.len() + 4 * column.offsets.len();
        let headers = self.headers.as_ref().map_or(0, |headers| {
            4 * headers.offsets.len() + bytes_column(&headers.keys) + bytes_column(&headers.values)
        });
        let topic = self.topic.data().len() + 4 * self.topic.offsets().len();
        let fixed = self.num_rows() * (4 + 8 + 8 + 4);
        bytes_column(&self.key) + bytes_column(&self.value) + topic + fixed + headers
    }

    /// Bytes of keys, values and headers.
    pub fn value_bytes(&self) -> usize {
        let headers =
            self.headers.as_ref().map_or(0, |headers| headers.keys.data.len() + headers.values.data.len());
        self.key.data.len() + self.value.data.len() + headers
    }

    /// Makes room for a batch, of which so much is left, and for those that are likely to follow; for `max_rows` at
    /// most.
    pub fn reserve(&mut self, records: usize, batch_bytes: usize, max_rows: usize) {
        let room = self.max_bytes.saturating_sub(self.value.data.len());
        let bytes = self.likely_bytes.max(batch_bytes).min(room);
        self.likely_bytes = self.likely_bytes.saturating_sub(batch_bytes);
        let row_bytes = batch_bytes.div_ceil(records.max(1)).max(1);
        // Batches are not all alike, and growing copies all that is there.
        let rows = ((bytes + bytes / 8) / row_bytes).min(max_rows);
        self.value.data.reserve((rows * row_bytes).min(room));
        if let Some(key_bytes) = self.key.data.len().checked_div(self.num_rows()) {
            self.key.data.reserve((rows * key_bytes).min(room));
        }
        self.key.offsets.reserve(rows);
        self.value.offsets.reserve(rows);
        self.partition.reserve(rows);
        self.offset.reserve(rows);
        self.timestamp.reserve(rows);
        self.timestamp_type.reserve(rows);
    }

    /// How many more rows the topic's column can take.
    pub fn topic_room(&self, topic: &str) -> usize {
        (MAX_COLUMN_BYTES - self.topic_bytes) / topic.len().max(1)
    }

    /// Appends a record's own columns; false if it does not fit any more. The columns that a partition's
    /// records have in common follow with `finish_run`.
    #[inline(always)]
    pub fn push(&mut self, payload: &[u8], record: RecordSlices) -> bool {
        let rows = self.offset.len();
        if rows > 0 {
            let size = record.key.map_or(0, Span::len) + record.value.map_or(0, Span::len);
            if self.key.data.len() + self.value.data.len() + size > self.max_bytes {
                return false;
            }
        }
        if record.header_count > 0 && !self.push_headers(rows, payload, record.headers) {
            return false;
        }
        self.key.push_span(payload, record.key);
        self.value.push_span(payload, record.value);
        self.offset.push(record.offset);
        self.timestamp.push(record.timestamp.saturating_mul(1000));
        true
    }

    #[inline(never)]
    fn push_headers(&mut self, rows: usize, payload: &[u8], span: Span) -> bool {
        let Some(headers) = &mut self.headers else { return true };
        let full = headers.keys.data.len() + headers.values.data.len() > self.max_bytes;
        if rows > 0 && (full || !headers.fits(span)) {
            return false;
        }
        headers.push(rows, span.of(payload));
        true
    }

    /// Fills up the columns that all records pushed since the last call have in common.
    pub fn finish_run(&mut self, topic: &Arc<str>, partition: i32, timestamp_type: i32) {
        let rows = self.num_rows();
        self.topic_bytes += (rows - self.partition.len()) * topic.len();
        self.topic.push(rows, topic);
        self.partition.fill(rows, partition);
        self.timestamp_type.fill(rows, timestamp_type);
    }

    /// To be called when all records are there.
    pub fn finish(&mut self) {
        let rows = self.num_rows();
        self.key.finish();
        self.value.finish();
        self.topic.finish();
        self.partition.shrink();
        self.offset.shrink();
        self.timestamp.shrink();
        self.timestamp_type.shrink();
        if let Some(headers) = &mut self.headers {
            headers.finish(rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_appears_with_the_first_null_and_counts_from_the_first_row() {
        for nulls_from in 0..20 {
            let mut validity = Validity::default();
            for row in 0..20 {
                validity.push(row, row < nulls_from);
            }
            validity.finish(20);
            assert_eq!(validity.null_count(), 20 - nulls_from);
            let bits = validity.bits().unwrap();
            assert_eq!(bits.len(), 3);
            for row in 0..20 {
                assert_eq!(bits[row / 8] >> (row % 8) & 1 == 1, row < nulls_from, "{nulls_from} {row}");
            }
        }
    }
}

//! The columns of Spark's Kafka source, filled record by record. Knows Arrow's layout, not its interface.

use crate::records::{HeaderIter, RecordSlices};

/// Offsets of variable-length columns are of 32 bits.
const MAX_COLUMN_BYTES: usize = i32::MAX as usize;

/// One bit a row; nothing at all while every row is valid.
#[derive(Default)]
pub struct Validity {
    bits: Option<Vec<u8>>,
    null_count: usize,
}

impl Validity {
    /// Notes the row after `rows` others.
    #[inline(always)]
    fn push(&mut self, rows: usize, valid: bool) {
        if !valid || self.bits.is_some() {
            self.push_bit(rows, valid);
        }
    }

    fn push_bit(&mut self, rows: usize, valid: bool) {
        let bits = self.bits.get_or_insert_with(|| {
            let mut bits = vec![0xff; rows / 8];
            if rows % 8 > 0 {
                bits.push((1 << (rows % 8)) - 1);
            }
            bits
        });
        if rows % 8 == 0 {
            bits.push(0);
        }
        if valid {
            bits[rows / 8] |= 1 << (rows % 8);
        } else {
            self.null_count += 1;
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
    pub offsets: Vec<i32>,
    pub data: Vec<u8>,
    pub validity: Validity,
}

impl Default for BytesColumn {
    fn default() -> Self {
        Self { offsets: vec![0], data: Vec::new(), validity: Validity::default() }
    }
}

impl BytesColumn {
    fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    #[inline(always)]
    fn push(&mut self, value: Option<&[u8]>) {
        self.validity.push(self.rows(), value.is_some());
        if let Some(value) = value {
            self.data.extend_from_slice(value);
        }
        self.offsets.push(self.data.len() as i32);
    }

    fn push_repeated(&mut self, value: &[u8], times: usize) {
        self.data.reserve(value.len() * times);
        self.offsets.reserve(times);
        for _ in 0..times {
            self.data.extend_from_slice(value);
            self.offsets.push(self.data.len() as i32);
        }
    }

    #[inline]
    fn fits(&self, length: usize) -> bool {
        self.data.len() + length <= MAX_COLUMN_BYTES
    }
}

/// Lists of headers; a record without any has a null, as in Spark.
pub struct HeadersColumn {
    pub offsets: Vec<i32>,
    pub validity: Validity,
    pub keys: BytesColumn,
    pub values: BytesColumn,
}

impl HeadersColumn {
    #[inline]
    fn push(&mut self, payload: &[u8], record: &RecordSlices) {
        if record.header_count > 0 {
            for (key, value) in HeaderIter::new(record.headers.of(payload)) {
                self.keys.push(Some(String::from_utf8_lossy(key).as_bytes()));
                self.values.push(value);
            }
        }
        self.validity.push(self.offsets.len() - 1, record.header_count > 0);
        self.offsets.push(self.keys.rows() as i32);
    }

    fn fits(&self, record: &RecordSlices) -> bool {
        // A header takes at least two bytes, and its key grows threefold if none of it is UTF-8.
        self.keys.fits(record.headers.len() * 3) && self.values.fits(record.headers.len())
    }
}

/// Columns key, value, topic, partition, offset, timestamp, timestampType and perhaps headers.
pub struct RecordColumns {
    pub key: BytesColumn,
    pub value: BytesColumn,
    pub topic: BytesColumn,
    pub partition: Vec<i32>,
    pub offset: Vec<i64>,
    /// In microseconds, as Spark has it.
    pub timestamp: Vec<i64>,
    pub timestamp_type: Vec<i32>,
    pub headers: Option<HeadersColumn>,
    max_bytes: usize,
}

impl RecordColumns {
    /// Takes records until their keys, values and headers come to about `max_bytes`.
    pub fn new(with_headers: bool, max_bytes: usize) -> Self {
        let headers = with_headers.then(|| HeadersColumn {
            offsets: vec![0],
            validity: Validity::default(),
            keys: BytesColumn::default(),
            values: BytesColumn::default(),
        });
        Self {
            key: BytesColumn::default(),
            value: BytesColumn::default(),
            topic: BytesColumn::default(),
            partition: Vec::new(),
            offset: Vec::new(),
            timestamp: Vec::new(),
            timestamp_type: Vec::new(),
            headers,
            max_bytes: max_bytes.min(MAX_COLUMN_BYTES),
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
        let fixed = self.num_rows() * (4 + 8 + 8 + 4);
        bytes_column(&self.key) + bytes_column(&self.value) + bytes_column(&self.topic) + fixed + headers
    }

    /// Makes room for what a batch may hold.
    pub fn reserve(&mut self, records: usize, payload_bytes: usize) {
        self.key.offsets.reserve(records);
        self.value.offsets.reserve(records);
        self.offset.reserve(records);
        self.timestamp.reserve(records);
        if self.value.data.capacity() - self.value.data.len() < payload_bytes {
            self.value.data.reserve(payload_bytes.min(self.max_bytes));
        }
        if let Some(headers) = &mut self.headers {
            headers.offsets.reserve(records);
        }
    }

    /// How many more rows the topic's column can take.
    pub fn topic_room(&self, topic: &str) -> usize {
        (MAX_COLUMN_BYTES - self.topic.data.len()) / topic.len().max(1)
    }

    /// Appends a record's own columns; false if it does not fit any more. The columns that a partition's
    /// records have in common follow with `finish_run`.
    #[inline]
    pub fn push(&mut self, payload: &[u8], record: &RecordSlices) -> bool {
        let key = record.key.map(|key| key.of(payload));
        let value = record.value.map(|value| value.of(payload));
        let (key_bytes, value_bytes) = (key.map_or(0, <[u8]>::len), value.map_or(0, <[u8]>::len));
        if !self.offset.is_empty() {
            let bytes = self.key.data.len() + self.value.data.len() + key_bytes + value_bytes;
            if bytes > self.max_bytes {
                return false;
            }
        }
        if let Some(headers) = &mut self.headers {
            if record.header_count > 0 {
                let full = headers.keys.data.len() + headers.values.data.len() > self.max_bytes;
                if !self.offset.is_empty() && (full || !headers.fits(record)) {
                    return false;
                }
            }
            headers.push(payload, record);
        }
        self.key.push(key);
        self.value.push(value);
        self.offset.push(record.offset);
        self.timestamp.push(record.timestamp.saturating_mul(1000));
        true
    }

    /// Fills up the columns that all records pushed since the last call have in common.
    pub fn finish_run(&mut self, topic: &str, partition: i32, timestamp_type: i32) {
        let rows = self.num_rows() - self.partition.len();
        self.topic.push_repeated(topic.as_bytes(), rows);
        self.partition.resize(self.offset.len(), partition);
        self.timestamp_type.resize(self.offset.len(), timestamp_type);
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
            assert_eq!(validity.null_count(), 20 - nulls_from);
            let bits = validity.bits().unwrap();
            assert_eq!(bits.len(), 3);
            for row in 0..20 {
                assert_eq!(bits[row / 8] >> (row % 8) & 1 == 1, row < nulls_from, "{nulls_from} {row}");
            }
        }
    }
}

//! Writing record batches of magic 2.

use std::sync::Arc;

use super::header::{BatchHeader, HEADER_BYTES};
use super::varint::{put_varlong, varlong_size, write_varint};
use crate::compression::{Compression, LevelChoice};
use crate::spare_memory;

/// Who writes a batch, for idempotence and transactions (KIP-98); all -1 for a plain producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerState {
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
    pub is_transactional: bool,
}

impl ProducerState {
    pub const NONE: Self =
        Self { producer_id: -1, producer_epoch: -1, base_sequence: -1, is_transactional: false };
}

/// What a record without headers has in their place: their count.
pub const NO_HEADERS: &[u8] = &[0];

/// Headers as a record holds them, their count first.
pub fn encode_headers<'a>(headers: impl ExactSizeIterator<Item = (&'a [u8], Option<&'a [u8]>)>) -> Vec<u8> {
    let mut output = Vec::new();
    write_varint(&mut output, headers.len() as i32);
    for (key, value) in headers {
        write_nullable(&mut output, Some(key));
        write_nullable(&mut output, value);
    }
    output
}

fn write_nullable(output: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            write_varint(output, bytes.len() as i32);
            output.extend_from_slice(bytes);
        }
        None => write_varint(output, -1),
    }
}

#[inline]
fn nullable_size(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(1, |bytes| varlong_size(bytes.len() as i64) + bytes.len())
}

#[inline(always)]
fn put_bytes<'a>(output: &'a mut [u8], bytes: &[u8]) -> &'a mut [u8] {
    let (front, rest) = output.split_at_mut(bytes.len());
    front.copy_from_slice(bytes);
    rest
}

#[inline(always)]
fn put_nullable<'a>(output: &'a mut [u8], bytes: Option<&[u8]>) -> &'a mut [u8] {
    match bytes {
        Some(bytes) => put_bytes(put_varlong(output, bytes.len() as i64), bytes),
        None => put_varlong(output, -1),
    }
}

/// A record about to be written. `headers` as `encode_headers` makes them.
#[derive(Debug, Clone, Copy)]
pub struct NewRecord<'a> {
    pub timestamp: i64,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    pub headers: &'a [u8],
    /// What key, value and headers take.
    body_size: usize,
}

impl<'a> NewRecord<'a> {
    #[inline(always)]
    pub fn new(timestamp: i64, key: Option<&'a [u8]>, value: Option<&'a [u8]>, headers: &'a [u8]) -> Self {
        let body_size = nullable_size(key) + nullable_size(value) + headers.len();
        Self { timestamp, key, value, headers, body_size }
    }

    /// The most bytes that the record takes in any batch.
    #[inline]
    pub fn max_size(&self) -> usize {
        const MAX_VARINT: usize = 5;
        const MAX_VARLONG: usize = 10;
        MAX_VARINT + 1 + MAX_VARLONG + MAX_VARINT + self.body_size
    }
}

/// One batch under construction.
#[derive(Debug, Clone)]
pub struct BatchBuilder {
    compression: Compression,
    compression_level: Option<i32>,
    /// Chooses zstd's level.
    level_choice: Option<Arc<LevelChoice>>,
    max_bytes: usize,
    /// Up to `end` room for the header, then the records; behind it old contents or zeros.
    bytes: Vec<u8>,
    end: usize,
    record_count: i32,
    base_timestamp: i64,
    max_timestamp: i64,
}

/// What a batch begins with where no spare memory is there.
const FIRST_BYTES: usize = 4 * 1024;

impl BatchBuilder {
    pub fn new(compression: Compression, compression_level: Option<i32>, max_bytes: usize) -> Self {
        Self {
            compression,
            compression_level,
            level_choice: None,
            max_bytes,
            bytes: Vec::new(),
            end: HEADER_BYTES,
            record_count: 0,
            base_timestamp: -1,
            max_timestamp: -1,
        }
    }

    /// Has zstd's level, where none is named, chosen by what batches before this one came to.
    pub fn choose_level_by(&mut self, choice: &Arc<LevelChoice>) {
        if self.compression == Compression::Zstd && self.compression_level.is_none() {
            self.level_choice = Some(Arc::clone(choice));
        }
    }

    /// Whether `append` would take the record.
    #[inline]
    pub fn has_room_for(&self, record: &NewRecord<'_>) -> bool {
        if self.record_count == 0 || self.end + record.max_size() <= self.max_bytes {
            return true;
        }
        let (_, _, body_size) = self.measured(record);
        self.end + varlong_size(body_size as i64) + body_size <= self.max_bytes
    }

    /// What the record takes here: its timestamp and its offset from the first, and its size without the length.
    #[inline(always)]
    fn measured(&self, record: &NewRecord<'_>) -> (i64, i64, usize) {
        let timestamp_delta = record.timestamp.wrapping_sub(self.base_timestamp);
        let offset_delta = i64::from(self.record_count);
        let body_size = 1 + varlong_size(timestamp_delta) + varlong_size(offset_delta) + record.body_size;
        (timestamp_delta, offset_delta, body_size)
    }

    /// False when the record does not fit any more. The first always fits.
    #[inline]
    pub fn append(&mut self, record: &NewRecord<'_>) -> bool {
        if self.record_count == 0 {
            self.base_timestamp = record.timestamp;
            self.max_timestamp = record.timestamp;
        }
        let (timestamp_delta, offset_delta, body_size) = self.measured(record);
        let size = varlong_size(body_size as i64) + body_size;
        if self.record_count > 0 && self.end + size > self.max_bytes {
            return false;
        }
        if self.end + size > self.bytes.len() {
            self.grow(self.end + size);
        }
        let output = &mut self.bytes[self.end..self.end + size];
        let output = put_varlong(output, body_size as i64);
        let output = put_bytes(output, &[0]);
        let output = put_varlong(output, timestamp_delta);
        let output = put_varlong(output, offset_delta);
        let output = put_nullable(output, record.key);
        let output = put_nullable(output, record.value);
        put_bytes(output, record.headers);
        self.end += size;
        self.record_count += 1;
        self.max_timestamp = self.max_timestamp.max(record.timestamp);
        true
    }

    #[cold]
    fn grow(&mut self, least: usize) {
        if self.bytes.is_empty() {
            self.bytes = spare_memory::take(least, self.max_bytes.max(least)).unwrap_or_default();
        }
        let doubled = (self.bytes.len() * 2).max(FIRST_BYTES).min(self.max_bytes);
        self.bytes.resize(self.bytes.capacity().max(doubled).max(least), 0);
    }

    #[inline]
    pub fn record_count(&self) -> usize {
        self.record_count as usize
    }

    /// Bytes of header and records, before compression.
    #[inline]
    pub fn size(&self) -> usize {
        self.end
    }

    /// Compresses the records. There must be at least one.
    pub fn seal(mut self) -> SealedBatch {
        let bytes = if self.compression == Compression::None {
            self.bytes.truncate(self.end);
            std::mem::take(&mut self.bytes)
        } else {
            let mut compressed = spare_memory::take(self.end, self.max_bytes).unwrap_or_default();
            compressed.clear();
            compressed.resize(HEADER_BYTES, 0);
            let records = &self.bytes[HEADER_BYTES..self.end];
            match &self.level_choice {
                Some(choice) => choice.compress(records, &mut compressed),
                None => self.compression.compress(records, self.compression_level, &mut compressed),
            }
            compressed
        };
        let header = BatchHeader {
            base_offset: 0,
            leader_epoch: -1,
            attributes: BatchHeader::new_attributes(self.compression, false, false),
            last_offset_delta: self.record_count - 1,
            base_timestamp: self.base_timestamp,
            max_timestamp: self.max_timestamp,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            record_count: self.record_count,
        };
        SealedBatch { bytes, header, compression: self.compression }
    }
}

impl Drop for BatchBuilder {
    fn drop(&mut self) {
        spare_memory::give_back(std::mem::take(&mut self.bytes));
    }
}

/// A batch that takes no more records. Its header can be written again and again.
#[derive(Debug, Clone)]
pub struct SealedBatch {
    bytes: Vec<u8>,
    header: BatchHeader,
    compression: Compression,
}

impl Drop for SealedBatch {
    fn drop(&mut self) {
        spare_memory::give_back(std::mem::take(&mut self.bytes));
    }
}

impl SealedBatch {
    /// Sets who writes the batch, and where it is known to stand in a log.
    pub fn encode(
        &mut self,
        producer: &ProducerState,
        base_offset: i64,
        leader_epoch: i32,
        is_control: bool,
    ) -> &[u8] {
        self.header = BatchHeader {
            base_offset,
            leader_epoch,
            attributes: BatchHeader::new_attributes(self.compression, producer.is_transactional, is_control),
            producer_id: producer.producer_id,
            producer_epoch: producer.producer_epoch,
            base_sequence: producer.base_sequence,
            ..self.header
        };
        self.header.write(&mut self.bytes);
        &self.bytes
    }

    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// Header and records; the header is meaningful after `encode` only.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A batch with this header around `records`, which are compressed as the header says.
pub fn finish_batch(header: &BatchHeader, compression: Compression, records: &[u8]) -> Vec<u8> {
    let mut batch = vec![0; HEADER_BYTES];
    compression.compress(records, None, &mut batch);
    header.write(&mut batch);
    batch
}

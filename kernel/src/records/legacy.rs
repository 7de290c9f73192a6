//! Message sets of magic 0 and 1, plain and compressed (KIP-31, KIP-32). Only read, never written.

use super::record::{RecordSlices, Span};
use crate::checksums::crc32;
use crate::compression::{Compression, HeaderChecksum};
use crate::error::{CorruptBatch, Reason};
use crate::spare_memory::SpareBytes;

/// Size and offset before each message.
const LOG_OVERHEAD: usize = 12;
/// The smallest message of magic 0: checksum, magic, attributes, two lengths.
pub const MIN_ENTRY_BYTES: usize = LOG_OVERHEAD + 14;
const CRC_AT: usize = 12;
const MAGIC_AT: usize = 16;
const ATTRIBUTES_AT: usize = 17;
const TIMESTAMP_AT: usize = 18;
const LOG_APPEND_TIME_BIT: u8 = 1 << 3;

/// One entry of a message set: a message, or a wrapper around a compressed set.
#[derive(Debug, Clone, Copy)]
pub struct LegacyEntry {
    pub offset: i64,
    pub magic: u8,
    pub attributes: u8,
    pub timestamp: i64,
    pub key: Option<Span>,
    pub value: Option<Span>,
}

fn nullable_span(entry: &[u8], position: &mut usize) -> Option<Option<Span>> {
    let length = i32::from_be_bytes(entry.get(*position..*position + 4)?.try_into().ok()?);
    *position += 4;
    if length < 0 {
        return (length == -1).then_some(None);
    }
    let start = *position;
    let end = start.checked_add(length as usize)?;
    if end > entry.len() {
        return None;
    }
    *position = end;
    Some(Some(Span::new(start, end)))
}

impl LegacyEntry {
    /// Reads `entry`, which is exactly one entry of at least `MIN_ENTRY_BYTES`.
    pub fn read(entry: &[u8]) -> Result<Self, CorruptBatch> {
        let offset = i64::from_be_bytes(entry[..8].try_into().expect("eight bytes"));
        Self::read_parts(offset, entry).ok_or_else(|| {
            CorruptBatch::new(offset, "a message of the old format has lengths that do not fit")
        })
    }

    fn read_parts(offset: i64, entry: &[u8]) -> Option<Self> {
        if !(0..i64::MAX).contains(&offset) {
            return None;
        }
        let magic = entry[MAGIC_AT];
        let attributes = entry[ATTRIBUTES_AT];
        let mut position = TIMESTAMP_AT;
        let mut timestamp = -1;
        if magic == 1 {
            timestamp = i64::from_be_bytes(entry.get(position..position + 8)?.try_into().ok()?);
            position += 8;
        }
        let key = nullable_span(entry, &mut position)?;
        let value = nullable_span(entry, &mut position)?;
        (position == entry.len()).then_some(Self { offset, magic, attributes, timestamp, key, value })
    }

    pub fn check_crc(entry: &[u8]) -> Result<(), Reason> {
        let stored = u32::from_be_bytes(entry[CRC_AT..MAGIC_AT].try_into().expect("four bytes"));
        let computed = crc32(&entry[MAGIC_AT..]);
        if stored == computed {
            return Ok(());
        }
        Err(format!("wrong checksum: the message says {stored:#010x}, its bytes give {computed:#010x}")
            .into())
    }

    pub fn compression(&self) -> Result<Compression, CorruptBatch> {
        match Compression::from_attributes(i16::from(self.attributes)) {
            Ok(Compression::Zstd) => {
                Err(CorruptBatch::new(self.offset, "zstd does not exist in messages of the old format"))
            }
            Ok(compression) => Ok(compression),
            Err(reason) => Err(CorruptBatch::new(self.offset, reason)),
        }
    }

    pub fn is_log_append_time(&self) -> bool {
        self.magic == 1 && self.attributes & LOG_APPEND_TIME_BIT != 0
    }

    fn as_record(&self, offset: i64, timestamp: i64, moved_by: usize) -> RecordSlices {
        let moved = |span: Span| Span::new(span.start as usize + moved_by, span.end as usize + moved_by);
        RecordSlices {
            offset,
            timestamp,
            key: self.key.map(moved),
            value: self.value.map(moved),
            headers: Span::new(0, 0),
            header_count: 0,
            whole: Span::new(0, 0),
        }
    }

    /// The only record of an entry that is not compressed.
    pub fn single_record(&self) -> RecordSlices {
        self.as_record(self.offset, self.timestamp, 0)
    }

    /// The records of a compressed entry: the decompressed set, and where they are in it.
    pub fn unwrap(
        &self,
        entry: &[u8],
        limit: usize,
    ) -> Result<(SpareBytes, Vec<RecordSlices>), CorruptBatch> {
        let corrupt = |reason: Reason| CorruptBatch::new(self.offset, reason);
        let value = self.value.ok_or_else(|| corrupt("a compressed message has no value".into()))?;
        let set = self
            .compression()?
            .decompress_with(value.of(entry), limit, HeaderChecksum::StandardOrWithMagic)
            .map_err(corrupt)?;
        let mut records = Vec::new();
        let mut position = 0;
        while position < set.len() {
            let inner = next_entry(&set[position..])
                .ok_or_else(|| corrupt("a compressed set of messages is cut short".into()))?;
            let message = LegacyEntry::read(inner)?;
            if message.magic != self.magic || message.attributes & 7 != 0 {
                return Err(corrupt("a message inside a compressed one has another format".into()));
            }
            let timestamp = if self.is_log_append_time() { self.timestamp } else { message.timestamp };
            records.push(message.as_record(message.offset, timestamp, position));
            position += inner.len();
        }
        let last =
            records.last().ok_or_else(|| corrupt("a compressed message holds no messages".into()))?.offset;
        if self.magic == 1 {
            // KIP-31: offsets inside are relative, and the wrapper has the offset of the last.
            for record in &mut records {
                record.offset = (self.offset - last)
                    .checked_add(record.offset)
                    .filter(|offset| (0..=self.offset).contains(offset))
                    .ok_or_else(|| corrupt("a relative offset leads outside the compressed set".into()))?;
            }
        } else if last != self.offset {
            return Err(corrupt("a compressed message has not the offset of its last message".into()));
        }
        if records.windows(2).any(|pair| pair[0].offset >= pair[1].offset) {
            return Err(corrupt("the offsets inside a compressed message do not rise".into()));
        }
        Ok((set, records))
    }
}

/// The whole entry at the start of `set`; None if it is cut short or its size is impossible.
fn next_entry(set: &[u8]) -> Option<&[u8]> {
    let size = i32::from_be_bytes(set.get(8..LOG_OVERHEAD)?.try_into().ok()?);
    let total = LOG_OVERHEAD + usize::try_from(size).ok()?;
    if total < MIN_ENTRY_BYTES || set.get(MAGIC_AT).is_none_or(|&magic| magic > 1) {
        return None;
    }
    set.get(..total)
}

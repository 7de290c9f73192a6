//! Message sets of magic 0 and 1, plain and compressed (KIP-31, KIP-32).

use super::record::{RecordSlices, Span};
use crate::checksums::crc32;
use crate::compression::{self, Compression, HeaderChecksum};
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

fn does_not_fit(offset: i64) -> CorruptBatch {
    CorruptBatch::new(offset, "a message of the old format has lengths that do not fit")
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
        let read = if (0..i64::MAX).contains(&offset) { Self::read_parts(offset, entry) } else { None };
        read.ok_or_else(|| does_not_fit(offset))
    }

    /// As `read`, what a producer sent: its offset says nothing.
    pub fn read_produced(entry: &[u8]) -> Result<Self, CorruptBatch> {
        if entry[MAGIC_AT] > 1 {
            return Err(CorruptBatch::new(0, "a batch of magic 2 among messages of the old format"));
        }
        Self::read_parts(0, entry).ok_or_else(|| does_not_fit(0))
    }

    fn read_parts(offset: i64, entry: &[u8]) -> Option<Self> {
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
        let (set, mut records) = self.open(entry, limit, Self::read)?;
        let last = records.last().expect("there is one at least").offset;
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

    /// As `unwrap`, what a producer sent: the records' offsets say nothing.
    pub fn unwrap_produced(
        &self,
        entry: &[u8],
        limit: usize,
    ) -> Result<(SpareBytes, Vec<RecordSlices>), CorruptBatch> {
        self.open(entry, limit, Self::read_produced)
    }

    /// The decompressed set and its messages, at least one, with the offsets that they have in it.
    fn open(
        &self,
        entry: &[u8],
        limit: usize,
        read: impl Fn(&[u8]) -> Result<Self, CorruptBatch>,
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
            let message = read(inner)?;
            if message.magic != self.magic || message.attributes & 7 != 0 {
                return Err(corrupt("a message inside a compressed one has another format".into()));
            }
            let timestamp = if self.is_log_append_time() { self.timestamp } else { message.timestamp };
            records.push(message.as_record(message.offset, timestamp, position));
            position += inner.len();
        }
        if records.is_empty() {
            return Err(corrupt("a compressed message holds no messages".into()));
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

/// A message to be written: by itself, inside a compressed set, or the wrapper around one.
pub struct NewMessage<'a> {
    pub offset: i64,
    pub magic: u8,
    pub compression: Compression,
    pub is_log_append_time: bool,
    pub timestamp: i64,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
}

impl NewMessage<'_> {
    pub fn write(&self, output: &mut Vec<u8>) {
        let start = output.len();
        output.extend_from_slice(&self.offset.to_be_bytes());
        // Size and checksum, which the rest decides.
        output.extend_from_slice(&[0; 8]);
        let has_time = self.magic == 1;
        let time_type = if has_time && self.is_log_append_time { LOG_APPEND_TIME_BIT } else { 0 };
        output.extend_from_slice(&[self.magic, self.compression as u8 | time_type]);
        if has_time {
            output.extend_from_slice(&self.timestamp.to_be_bytes());
        }
        for part in [self.key, self.value] {
            let length = part.map_or(-1, |bytes| bytes.len() as i32);
            output.extend_from_slice(&length.to_be_bytes());
            output.extend_from_slice(part.unwrap_or_default());
        }
        let message = &mut output[start..];
        let size = (message.len() - LOG_OVERHEAD) as i32;
        message[8..LOG_OVERHEAD].copy_from_slice(&size.to_be_bytes());
        let checksum = crc32(&message[MAGIC_AT..]);
        message[CRC_AT..MAGIC_AT].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// The value of a wrapper. KIP-57: with magic 0 LZ4's header has the checksum that clients of then expect.
pub fn compress(compression: Compression, magic: u8, set: &[u8]) -> Vec<u8> {
    let mut value = Vec::new();
    compression.compress(set, None, &mut value);
    if compression == Compression::Lz4 && magic == 0 {
        compression::checksum_header_with_magic(&mut value);
    }
    value
}

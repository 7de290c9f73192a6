//! Whole batches of any magic in a run of bytes: cutting them apart, checking and opening them.

use std::ops::Deref;

use super::header::{BatchHeader, HEADER_BYTES, LOG_OVERHEAD, MAGIC_AT};
use super::legacy::{LegacyEntry, MIN_ENTRY_BYTES};
use super::limits::Limits;
use super::record::{RecordDecoder, RecordSlices};
use crate::compression::Compression;
use crate::error::CorruptBatch;
use crate::spare_memory::SpareBytes;

/// Where a whole batch lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchFrame {
    pub start: usize,
    pub end: usize,
}

/// The bytes that the records of a batch lie in.
pub enum RecordBytes<'a> {
    /// Those of the batch itself.
    Lent(&'a [u8]),
    Decompressed(SpareBytes),
}

impl Deref for RecordBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Lent(bytes) => bytes,
            Self::Decompressed(bytes) => bytes,
        }
    }
}

/// The header of a batch of some magic.
#[derive(Debug, Clone, Copy)]
pub enum Batch {
    Current(BatchHeader),
    Legacy(LegacyEntry),
}

impl Batch {
    pub fn read(batch: &[u8]) -> Result<Self, CorruptBatch> {
        if batch[MAGIC_AT] == 2 {
            BatchHeader::read(batch).map(Self::Current)
        } else {
            LegacyEntry::read(batch).map(Self::Legacy)
        }
    }

    pub fn check_crc(&self, batch: &[u8]) -> Result<(), CorruptBatch> {
        match self {
            Self::Current(_) => BatchHeader::check_crc(batch),
            Self::Legacy(_) => LegacyEntry::check_crc(batch),
        }
        .map_err(|reason| CorruptBatch::new(self.base_offset(), reason))
    }

    /// For an entry of an old message set its only offset, which of a compressed one is the last.
    pub fn base_offset(&self) -> i64 {
        match self {
            Self::Current(header) => header.base_offset,
            Self::Legacy(entry) => entry.offset,
        }
    }

    pub fn last_offset(&self) -> i64 {
        match self {
            Self::Current(header) => header.last_offset(),
            Self::Legacy(entry) => entry.offset,
        }
    }

    pub fn leader_epoch(&self) -> i32 {
        match self {
            Self::Current(header) => header.leader_epoch,
            Self::Legacy(_) => -1,
        }
    }

    pub fn max_timestamp(&self) -> i64 {
        match self {
            Self::Current(header) => header.max_timestamp,
            Self::Legacy(entry) => entry.timestamp,
        }
    }

    /// As in Kafka: -1 none, 0 create time, 1 log append time.
    pub fn timestamp_type(&self) -> i32 {
        match self {
            Self::Current(header) => i32::from(header.is_log_append_time()),
            Self::Legacy(entry) if entry.magic == 0 => -1,
            Self::Legacy(entry) => i32::from(entry.is_log_append_time()),
        }
    }

    pub fn compression(&self) -> Result<Compression, CorruptBatch> {
        match self {
            Self::Current(header) => header.compression(),
            Self::Legacy(entry) => entry.compression(),
        }
    }

    /// All records, decoded: the payload they lie in, and where.
    pub fn records<'a>(
        &self,
        batch: &'a [u8],
        limits: &Limits,
    ) -> Result<(RecordBytes<'a>, Vec<RecordSlices>), CorruptBatch> {
        match self {
            Self::Current(header) => {
                let payload = match open_payload(header, batch, limits.max_decompressed_bytes)? {
                    Some(payload) => RecordBytes::Decompressed(payload),
                    None => RecordBytes::Lent(&batch[HEADER_BYTES..]),
                };
                let corrupt = |reason| CorruptBatch::new(header.base_offset, reason);
                let mut decoder = RecordDecoder::new(header);
                // A record takes 7 bytes at least: a count that lies reserves no more than that allows.
                let mut records = Vec::with_capacity(decoder.records_left().min(payload.len() / 7));
                while let Some(record) = decoder.next(&payload).map_err(corrupt)? {
                    records.push(record);
                }
                Ok((payload, records))
            }
            Self::Legacy(entry) if entry.compression()? == Compression::None => {
                Ok((RecordBytes::Lent(batch), vec![entry.single_record()]))
            }
            Self::Legacy(entry) => entry
                .unwrap(batch, limits.max_decompressed_bytes)
                .map(|(payload, records)| (RecordBytes::Decompressed(payload), records)),
        }
    }
}

/// The records of a batch of magic 2, decompressed; None where they lie open in the batch itself.
pub fn open_payload(
    header: &BatchHeader,
    batch: &[u8],
    max_decompressed_bytes: usize,
) -> Result<Option<SpareBytes>, CorruptBatch> {
    let compression = header.compression()?;
    if compression == Compression::None || header.record_count == 0 {
        return Ok(None);
    }
    // Spans of a payload are of 32 bits.
    let limit = max_decompressed_bytes.min(u32::MAX as usize);
    compression
        .decompress(&batch[HEADER_BYTES..], limit)
        .map(Some)
        .map_err(|reason| CorruptBatch::new(header.base_offset, reason))
}

/// The batch at `start`; None where the bytes that are left hold no whole one.
pub fn frame_at(data: &[u8], start: usize) -> Result<Option<BatchFrame>, CorruptBatch> {
    let rest = &data[start..];
    let Some(overhead) = rest.get(..LOG_OVERHEAD) else { return Ok(None) };
    let base_offset = i64::from_be_bytes(overhead[..8].try_into().expect("eight bytes"));
    let length = i32::from_be_bytes(overhead[8..].try_into().expect("four bytes"));
    let corrupt = |reason: String| Err(CorruptBatch::new(base_offset, reason));
    let Ok(length) = usize::try_from(length) else {
        return corrupt(format!("the batch claims a length of {length} bytes"));
    };
    let total = LOG_OVERHEAD + length;
    if total < MIN_ENTRY_BYTES {
        return corrupt(format!("the batch claims a length of {length} bytes, too few for any batch"));
    }
    let Some(&magic) = rest.get(MAGIC_AT) else { return Ok(None) };
    match magic {
        0 | 1 => {}
        2 if total >= HEADER_BYTES => {}
        2 => return corrupt(format!("the batch claims a length of {length} bytes, too few for its header")),
        _ => return corrupt(format!("unknown magic {magic} of a batch")),
    }
    if rest.len() < total {
        return Ok(None);
    }
    Ok(Some(BatchFrame { start, end: start + total }))
}

/// All whole batches of `data`, in order; ends at a tail that is cut short, or after an error.
pub fn frames(data: &[u8]) -> impl Iterator<Item = Result<BatchFrame, CorruptBatch>> + '_ {
    frames_from(data, 0)
}

/// Those from the one at `start` on.
pub fn frames_from(data: &[u8], start: usize) -> impl Iterator<Item = Result<BatchFrame, CorruptBatch>> + '_ {
    let mut position = Some(start);
    std::iter::from_fn(move || {
        let frame = frame_at(data, position?).transpose();
        position = match &frame {
            Some(Ok(frame)) => Some(frame.end),
            _ => None,
        };
        frame
    })
}

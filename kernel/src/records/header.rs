//! The fixed header of a record batch of magic 2. Reads and writes it; judges nothing but its own fields.

use crate::checksums::crc32c;
use crate::compression::Compression;
use crate::error::{CorruptBatch, Reason};

/// Size of the header of magic 2.
pub const HEADER_BYTES: usize = 61;
/// Base offset and batch length: what comes before the bytes that the length counts.
pub const LOG_OVERHEAD: usize = 12;
/// Where the magic byte is, in every version of the format.
pub const MAGIC_AT: usize = 16;
const CRC_AT: usize = 17;
/// The checksum covers everything from here on.
const ATTRIBUTES_AT: usize = 21;

const TIMESTAMP_TYPE_BIT: i16 = 1 << 3;
const TRANSACTIONAL_BIT: i16 = 1 << 4;
const CONTROL_BIT: i16 = 1 << 5;
const DELETE_HORIZON_BIT: i16 = 1 << 6;

/// Header of a batch of magic 2. With the delete-horizon bit (KIP-534) `base_timestamp` is that horizon, and
/// record timestamps count from it all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    pub base_offset: i64,
    pub leader_epoch: i32,
    pub attributes: i16,
    pub last_offset_delta: i32,
    pub base_timestamp: i64,
    pub max_timestamp: i64,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
    pub record_count: i32,
}

fn field<const SIZE: usize>(data: &[u8], at: usize) -> [u8; SIZE] {
    data[at..at + SIZE].try_into().expect("the slice has this size")
}

impl BatchHeader {
    /// Reads the header of a whole batch, `batch` being exactly that.
    pub fn read(batch: &[u8]) -> Result<Self, CorruptBatch> {
        let base_offset = i64::from_be_bytes(field(batch, 0));
        let header = Self {
            base_offset,
            leader_epoch: i32::from_be_bytes(field(batch, 12)),
            attributes: i16::from_be_bytes(field(batch, ATTRIBUTES_AT)),
            last_offset_delta: i32::from_be_bytes(field(batch, 23)),
            base_timestamp: i64::from_be_bytes(field(batch, 27)),
            max_timestamp: i64::from_be_bytes(field(batch, 35)),
            producer_id: i64::from_be_bytes(field(batch, 43)),
            producer_epoch: i16::from_be_bytes(field(batch, 51)),
            base_sequence: i32::from_be_bytes(field(batch, 53)),
            record_count: i32::from_be_bytes(field(batch, 57)),
        };
        let reason: Reason = if header.record_count < 0 {
            format!("the batch claims {} records", header.record_count).into()
        } else if header.last_offset_delta < 0
            || base_offset.checked_add(i64::from(header.last_offset_delta) + 1).is_none()
        {
            format!("the batch's last offset delta is {}", header.last_offset_delta).into()
        } else if base_offset < 0 {
            format!("the batch's base offset is {base_offset}").into()
        } else {
            return Ok(header);
        };
        Err(CorruptBatch::new(base_offset, reason))
    }

    /// Writes the header over the first 61 bytes of `batch`, whose records follow, with length and checksum.
    pub fn write(&self, batch: &mut [u8]) {
        let length = (batch.len() - LOG_OVERHEAD) as i32;
        batch[0..8].copy_from_slice(&self.base_offset.to_be_bytes());
        batch[8..12].copy_from_slice(&length.to_be_bytes());
        batch[12..16].copy_from_slice(&self.leader_epoch.to_be_bytes());
        batch[MAGIC_AT] = 2;
        batch[21..23].copy_from_slice(&self.attributes.to_be_bytes());
        batch[23..27].copy_from_slice(&self.last_offset_delta.to_be_bytes());
        batch[27..35].copy_from_slice(&self.base_timestamp.to_be_bytes());
        batch[35..43].copy_from_slice(&self.max_timestamp.to_be_bytes());
        batch[43..51].copy_from_slice(&self.producer_id.to_be_bytes());
        batch[51..53].copy_from_slice(&self.producer_epoch.to_be_bytes());
        batch[53..57].copy_from_slice(&self.base_sequence.to_be_bytes());
        batch[57..61].copy_from_slice(&self.record_count.to_be_bytes());
        let checksum = crc32c(&batch[ATTRIBUTES_AT..], 0);
        batch[CRC_AT..ATTRIBUTES_AT].copy_from_slice(&checksum.to_be_bytes());
    }

    /// Writes only what the checksum does not cover: where the batch stands in a log.
    pub fn write_position(&self, batch: &mut [u8]) {
        batch[0..8].copy_from_slice(&self.base_offset.to_be_bytes());
        batch[12..16].copy_from_slice(&self.leader_epoch.to_be_bytes());
    }

    pub fn check_crc(batch: &[u8]) -> Result<(), Reason> {
        let stored = u32::from_be_bytes(field(batch, CRC_AT));
        let computed = crc32c(&batch[ATTRIBUTES_AT..], 0);
        if stored == computed {
            return Ok(());
        }
        Err(format!("wrong checksum: the batch says {stored:#010x}, its bytes give {computed:#010x}").into())
    }

    pub fn last_offset(&self) -> i64 {
        self.base_offset + i64::from(self.last_offset_delta)
    }

    pub fn compression(&self) -> Result<Compression, CorruptBatch> {
        Compression::from_attributes(self.attributes)
            .map_err(|reason| CorruptBatch::new(self.base_offset, reason))
    }

    pub fn is_log_append_time(&self) -> bool {
        self.attributes & TIMESTAMP_TYPE_BIT != 0
    }

    pub fn is_transactional(&self) -> bool {
        self.attributes & TRANSACTIONAL_BIT != 0
    }

    pub fn is_control(&self) -> bool {
        self.attributes & CONTROL_BIT != 0
    }

    /// From when on the batch's tombstones, or its marker, need not stay (KIP-534).
    pub fn delete_horizon(&self) -> Option<i64> {
        (self.attributes & DELETE_HORIZON_BIT != 0).then_some(self.base_timestamp)
    }

    /// The records' timestamps then count from the horizon.
    pub fn set_delete_horizon(&mut self, horizon: i64) {
        self.attributes |= DELETE_HORIZON_BIT;
        self.base_timestamp = horizon;
    }

    pub fn set_log_append_time(&mut self, timestamp: i64) {
        self.attributes |= TIMESTAMP_TYPE_BIT;
        self.max_timestamp = timestamp;
    }

    /// Attributes of a new batch with timestamps of its producer.
    pub fn new_attributes(compression: Compression, is_transactional: bool, is_control: bool) -> i16 {
        compression as i16
            | if is_transactional { TRANSACTIONAL_BIT } else { 0 }
            | if is_control { CONTROL_BIT } else { 0 }
    }
}

//! What a broker asks of a run of batches: their headers, whether they are sound, where a timestamp is, and
//! the offsets it gives them. Keeps no state.

use std::ops::ControlFlow;

use super::batch::{Batch, frames};
use super::legacy::LegacyEntry;
use super::limits::Limits;
use super::looking::{Sight, look_at_records};
use crate::compression::Compression;
use crate::error::CorruptBatch;

/// Of a record without one.
const NO_TIMESTAMP: i64 = -1;

/// A batch's header in the terms of every magic. Values that an old format does not have are -1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchSummary {
    pub position: usize,
    pub size: usize,
    pub base_offset: i64,
    pub last_offset: i64,
    pub leader_epoch: i32,
    pub magic: u8,
    pub compression: Compression,
    pub timestamp_type: i32,
    pub is_transactional: bool,
    pub is_control: bool,
    pub base_timestamp: i64,
    pub max_timestamp: i64,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
    pub record_count: i32,
    /// Of those records that have one, once they were checked; of the header before that.
    pub earliest_timestamp: i64,
    /// Of the records, once they were checked; of the header before that.
    pub latest_timestamp: i64,
    /// Whether every record has a key; false before they were checked.
    pub has_all_keys: bool,
}

impl BatchSummary {
    fn new(position: usize, size: usize, batch: &Batch) -> Result<Self, CorruptBatch> {
        let compression = batch.compression()?;
        let common = Self {
            position,
            size,
            base_offset: batch.base_offset(),
            last_offset: batch.last_offset(),
            leader_epoch: batch.leader_epoch(),
            magic: 2,
            compression,
            timestamp_type: batch.timestamp_type(),
            is_transactional: false,
            is_control: false,
            base_timestamp: batch.max_timestamp(),
            max_timestamp: batch.max_timestamp(),
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            record_count: -1,
            earliest_timestamp: batch.max_timestamp(),
            latest_timestamp: batch.max_timestamp(),
            has_all_keys: false,
        };
        Ok(match batch {
            Batch::Current(header) => Self {
                is_transactional: header.is_transactional(),
                is_control: header.is_control(),
                base_timestamp: header.base_timestamp,
                producer_id: header.producer_id,
                producer_epoch: header.producer_epoch,
                base_sequence: header.base_sequence,
                record_count: header.record_count,
                earliest_timestamp: header.base_timestamp,
                ..common
            },
            Batch::Legacy(LegacyEntry { magic, .. }) => Self {
                magic: *magic,
                record_count: if compression == Compression::None { 1 } else { -1 },
                ..common
            },
        })
    }
}

/// The headers of all whole batches. With `check_records` every record is decoded, and the offset deltas of
/// a batch must run from 0 without a gap, as those of a producer do.
pub fn scan_batches(
    data: &[u8],
    limits: &Limits,
    check_records: bool,
) -> Result<Vec<BatchSummary>, CorruptBatch> {
    let mut summaries = Vec::new();
    for frame in frames(data) {
        let frame = frame?;
        let bytes = &data[frame.start..frame.end];
        let batch = Batch::read(bytes)?;
        if limits.check_crcs {
            batch.check_crc(bytes)?;
        }
        let mut summary = BatchSummary::new(frame.start, bytes.len(), &batch)?;
        if check_records {
            check_all_records(&batch, bytes, limits, &mut summary)?;
        }
        summaries.push(summary);
    }
    Ok(summaries)
}

fn check_all_records(
    batch: &Batch,
    bytes: &[u8],
    limits: &Limits,
    summary: &mut BatchSummary,
) -> Result<(), CorruptBatch> {
    let corrupt = |reason: String| Err(CorruptBatch::new(batch.base_offset(), reason));
    if let Batch::Current(header) = batch
        && header.last_offset_delta != header.record_count - 1
    {
        return corrupt(format!(
            "the batch has {} records but a last offset delta of {}",
            header.record_count, header.last_offset_delta
        ));
    }
    let mut count = 0;
    let mut wrong = None;
    summary.has_all_keys = true;
    look_at_records(batch, bytes, limits, &mut |record| {
        match batch {
            Batch::Current(header) => {
                let offset = header.base_offset + i64::from(count);
                if record.offset != offset {
                    wrong = Some((record.offset, offset));
                    return ControlFlow::Break(());
                }
            }
            Batch::Legacy(_) if count == 0 => summary.base_offset = record.offset,
            Batch::Legacy(_) => {}
        }
        if count == 0 {
            (summary.earliest_timestamp, summary.latest_timestamp) = (record.timestamp, record.timestamp);
        }
        if record.timestamp != NO_TIMESTAMP {
            let earliest = summary.earliest_timestamp;
            summary.earliest_timestamp =
                if earliest == NO_TIMESTAMP { record.timestamp } else { earliest.min(record.timestamp) };
        }
        summary.latest_timestamp = summary.latest_timestamp.max(record.timestamp);
        summary.has_all_keys &= record.has_key;
        count += 1;
        ControlFlow::Continue(())
    })?;
    if let Some((found, expected)) = wrong {
        return corrupt(format!("a record has offset {found} in place of {expected}"));
    }
    summary.record_count = count;
    Ok(())
}

/// A record found by its timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordPosition {
    pub offset: i64,
    pub timestamp: i64,
    pub leader_epoch: i32,
}

/// The first record from an offset on with at least this timestamp.
pub fn find_first_at_or_after(
    data: &[u8],
    timestamp: i64,
    from_offset: i64,
    limits: &Limits,
) -> Result<Option<RecordPosition>, CorruptBatch> {
    for frame in frames(data) {
        let frame = frame?;
        let bytes = &data[frame.start..frame.end];
        let batch = Batch::read(bytes)?;
        if batch.max_timestamp() < timestamp || batch.last_offset() < from_offset {
            continue;
        }
        let mut found = None;
        look_at_records(&batch, bytes, limits, &mut |record| {
            if record.timestamp < timestamp || record.offset < from_offset {
                return ControlFlow::Continue(());
            }
            found = Some(position_of(record, &batch));
            ControlFlow::Break(())
        })?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The record with the greatest timestamp, the earliest of equals.
pub fn find_max_timestamp(data: &[u8], limits: &Limits) -> Result<Option<RecordPosition>, CorruptBatch> {
    let mut greatest: Option<RecordPosition> = None;
    for frame in frames(data) {
        let frame = frame?;
        let bytes = &data[frame.start..frame.end];
        let batch = Batch::read(bytes)?;
        if greatest.is_some_and(|found| batch.max_timestamp() <= found.timestamp) {
            continue;
        }
        look_at_records(&batch, bytes, limits, &mut |record| {
            if greatest.is_none_or(|found| record.timestamp > found.timestamp) {
                greatest = Some(position_of(record, &batch));
            }
            ControlFlow::Continue(())
        })?;
    }
    Ok(greatest)
}

fn position_of(record: Sight, batch: &Batch) -> RecordPosition {
    RecordPosition { offset: record.offset, timestamp: record.timestamp, leader_epoch: batch.leader_epoch() }
}

/// A copy of one batch of magic 2 whose header says that this is the greatest timestamp of its records.
pub fn with_max_timestamp(data: &[u8], max_timestamp: i64) -> Result<Vec<u8>, CorruptBatch> {
    let mut output = data.to_vec();
    match frames(data).next().transpose()? {
        Some(frame) if frame.end == data.len() => {}
        _ => return Err(CorruptBatch::new(-1, "the bytes are not one batch")),
    }
    let Batch::Current(mut header) = Batch::read(data)? else {
        return Err(CorruptBatch::new(-1, "only batches of magic 2 say so"));
    };
    header.max_timestamp = max_timestamp;
    header.write(&mut output);
    Ok(output)
}

/// A copy of `data`, whole batches of magic 2, with offsets from `base_offset` on, the leader epoch, and,
/// with `log_append_time` (milliseconds), all timestamps overruled.
pub fn stamp_batches(
    data: &[u8],
    base_offset: i64,
    leader_epoch: i32,
    log_append_time: Option<i64>,
) -> Result<Vec<u8>, CorruptBatch> {
    let mut output = data.to_vec();
    let mut offset = base_offset;
    let mut end = 0;
    for frame in frames(data) {
        let frame = frame?;
        let batch = &mut output[frame.start..frame.end];
        let Batch::Current(mut header) = Batch::read(batch)? else {
            return Err(CorruptBatch::new(offset, "only batches of magic 2 can be given offsets"));
        };
        header.base_offset = offset;
        header.leader_epoch = leader_epoch;
        offset = offset
            .checked_add(i64::from(header.last_offset_delta) + 1)
            .ok_or_else(|| CorruptBatch::new(offset, "offsets end at 2^63 - 1"))?;
        match log_append_time {
            Some(timestamp) => {
                header.set_log_append_time(timestamp);
                header.write(batch);
            }
            None => header.write_position(batch),
        }
        end = frame.end;
    }
    if end < data.len() {
        return Err(CorruptBatch::new(offset, "the last batch is cut short"));
    }
    Ok(output)
}

//! Log compaction: which offset is a key's last, and batches without the records that are superseded.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use twox_hash::xxhash3_128;

use crate::error::CorruptBatch;
use crate::records::{
    Batch, BatchHeader, Limits, RecordSlices, finish_batch, frames, read_varint, read_varlong, write_varint,
    write_varlong,
};

/// What the key of a marker says.
const ABORT: i16 = 0;
const COMMIT: i16 = 1;

/// Takes a part of what is a good hash already.
#[derive(Default)]
struct PassThrough(u64);

impl Hasher for PassThrough {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 ^= u64::from_ne_bytes(word);
        }
    }

    fn write_u128(&mut self, value: u128) {
        self.0 = value as u64;
    }
}

/// The last offset of every key, kept by a 128-bit hash of the key: the memory for a key does not depend on
/// its length. The hash is seeded anew for each map, so that nobody can make two keys collide.
pub struct KeyOffsets {
    seed: u64,
    last_offsets: HashMap<u128, i64, BuildHasherDefault<PassThrough>>,
}

impl Default for KeyOffsets {
    fn default() -> Self {
        Self { seed: RandomState::new().hash_one(0), last_offsets: HashMap::default() }
    }
}

impl KeyOffsets {
    fn hash(&self, key: &[u8]) -> u128 {
        xxhash3_128::Hasher::oneshot_with_seed(self.seed, key)
    }

    /// Notes the keys of all whole batches in `data`. Control batches have none.
    pub fn add(&mut self, data: &[u8], limits: &Limits) -> Result<(), CorruptBatch> {
        for frame in frames(data) {
            let frame = frame?;
            let bytes = &data[frame.start..frame.end];
            let batch = Batch::read(bytes)?;
            if matches!(&batch, Batch::Current(header) if header.is_control()) {
                continue;
            }
            let (payload, records) = batch.records(bytes, limits)?;
            for record in records {
                let Some(key) = record.key else { continue };
                let hash = self.hash(key.of(&payload));
                let last_offset = self.last_offsets.entry(hash).or_insert(record.offset);
                *last_offset = record.offset.max(*last_offset);
            }
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.last_offsets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.last_offsets.is_empty()
    }

    fn keeps(&self, record: &RecordSlices, payload: &[u8], keep_tombstones: bool) -> bool {
        let Some(key) = record.key else { return false };
        if record.value.is_none() && !keep_tombstones {
            return false;
        }
        let last_offset = self.last_offsets.get(&self.hash(key.of(payload)));
        last_offset.is_none_or(|&last_offset| record.offset >= last_offset)
    }
}

/// `data` without superseded records, records without a key, and tombstones of batches whose max timestamp
/// is before `keep_tombstones_from`. Offsets stay. The last batch of a producer is kept even if it is empty,
/// so that its sequence survives; control batches and messages of the old format stay as they are.
pub fn compact_batches(
    data: &[u8],
    keys: &KeyOffsets,
    keep_tombstones_from: i64,
    limits: &Limits,
) -> Result<Vec<u8>, CorruptBatch> {
    let mut last_of_producer = HashMap::new();
    for frame in frames(data) {
        let frame = frame?;
        if let Batch::Current(header) = Batch::read(&data[frame.start..frame.end])? {
            if header.producer_id >= 0 && !header.is_control() {
                last_of_producer.insert(header.producer_id, frame.start);
            }
        }
    }
    let mut output = Vec::new();
    for frame in frames(data) {
        let frame = frame?;
        let bytes = &data[frame.start..frame.end];
        let batch = Batch::read(bytes)?;
        let Batch::Current(header) = &batch else {
            output.extend_from_slice(bytes);
            continue;
        };
        if header.is_control() {
            output.extend_from_slice(bytes);
            continue;
        }
        let (payload, records) = batch.records(bytes, limits)?;
        let keep_tombstones = header.max_timestamp >= keep_tombstones_from;
        let kept: Vec<_> =
            records.iter().filter(|record| keys.keeps(record, &payload, keep_tombstones)).collect();
        if kept.len() == records.len() && !records.is_empty() {
            output.extend_from_slice(bytes);
        } else if !kept.is_empty() {
            output.extend_from_slice(&rebuild(header, &kept, &payload)?);
        } else if last_of_producer.get(&header.producer_id) == Some(&frame.start) {
            output.extend_from_slice(&empty_batch(header));
        }
    }
    Ok(output)
}

/// The last batch of a producer who may go on: the offset that its records end with, None where its epoch has
/// none but a marker.
#[derive(Debug, Clone, Copy)]
pub struct LastBatch {
    pub last_offset: Option<i64>,
    pub epoch: i16,
}

/// A transaction that was aborted: its records are from `first_offset` on, its marker is at `last_offset`.
#[derive(Debug, Clone, Copy)]
pub struct AbortedTransaction {
    pub producer_id: i64,
    pub first_offset: i64,
    pub last_offset: i64,
}

/// One pass over a log, as Kafka's cleaner makes it. Superseded records go, and those without a key, and those of
/// aborted transactions. Tombstones, and markers of transactions of which no batch was there any more, stay for
/// `delete_retention_ms` from the pass on that found them so (KIP-534). Offsets stay. The last batch of a producer
/// stays even if it is empty, so that its sequence survives. Batches come in the order of the log.
pub struct LogCleaner {
    now_ms: i64,
    delete_retention_ms: i64,
    last_batches: HashMap<i64, LastBatch>,
    aborted: HashMap<i64, Vec<AbortedTransaction>>,
    /// Producers, with the transactions of which this pass has met a batch.
    met_committed: HashSet<i64>,
    met_aborted: HashSet<(i64, i64)>,
}

impl LogCleaner {
    pub fn new(
        now_ms: i64,
        delete_retention_ms: i64,
        last_batches: HashMap<i64, LastBatch>,
        aborted: impl IntoIterator<Item = AbortedTransaction>,
    ) -> Self {
        let mut by_producer: HashMap<i64, Vec<AbortedTransaction>> = HashMap::new();
        for transaction in aborted {
            by_producer.entry(transaction.producer_id).or_default().push(transaction);
        }
        Self {
            now_ms,
            delete_retention_ms,
            last_batches,
            aborted: by_producer,
            met_committed: HashSet::new(),
            met_aborted: HashSet::new(),
        }
    }

    /// The whole batches of `data` but those of transactions that were aborted: their keys replace nothing.
    pub fn decided(&self, data: &[u8]) -> Result<Vec<u8>, CorruptBatch> {
        let mut output = Vec::with_capacity(data.len());
        for frame in frames(data) {
            let frame = frame?;
            let bytes = &data[frame.start..frame.end];
            let is_aborted = match Batch::read(bytes)? {
                Batch::Current(header) => !header.is_control() && self.aborted_with(&header).is_some(),
                Batch::Legacy(_) => false,
            };
            if !is_aborted {
                output.extend_from_slice(bytes);
            }
        }
        Ok(output)
    }

    /// What stays of the next batches of the log.
    pub fn clean(
        &mut self,
        data: &[u8],
        keys: &KeyOffsets,
        limits: &Limits,
    ) -> Result<Vec<u8>, CorruptBatch> {
        let mut output = Vec::new();
        for frame in frames(data) {
            let frame = frame?;
            let bytes = &data[frame.start..frame.end];
            let batch = Batch::read(bytes)?;
            match &batch {
                Batch::Current(header) => {
                    self.clean_batch(header, &batch, bytes, keys, limits, &mut output)?
                }
                Batch::Legacy(_) => output.extend_from_slice(bytes),
            }
        }
        Ok(output)
    }

    fn clean_batch(
        &mut self,
        header: &BatchHeader,
        batch: &Batch,
        bytes: &[u8],
        keys: &KeyOffsets,
        limits: &Limits,
        output: &mut Vec<u8>,
    ) -> Result<(), CorruptBatch> {
        let (payload, records) = batch.records(bytes, limits)?;
        let counts_for_nothing = if header.is_control() {
            self.meet_marker(
                header,
                records.first().and_then(|record| record.key).map(|key| key.of(&payload)),
            )
        } else {
            self.meet_batch(header)
        };
        let horizon = header.delete_horizon();
        let is_over = horizon.is_some_and(|horizon| horizon <= self.now_ms);
        let goes = counts_for_nothing && (!header.is_control() || is_over);
        let kept: Vec<_> = records
            .iter()
            .filter(|record| !goes && (header.is_control() || keys.keeps(record, &payload, !is_over)))
            .collect();
        if kept.is_empty() {
            if self.is_last_of_producer(header) {
                output.extend_from_slice(&empty_batch(header));
            }
            return Ok(());
        }
        let waits = if header.is_control() {
            counts_for_nothing
        } else {
            kept.iter().any(|record| record.value.is_none())
        };
        if waits && horizon.is_none() {
            let horizon = self.now_ms.saturating_add(self.delete_retention_ms);
            output.extend_from_slice(&with_delete_horizon(header, &kept, &payload, horizon)?);
        } else if kept.len() == records.len() {
            output.extend_from_slice(bytes);
        } else {
            output.extend_from_slice(&rebuild(header, &kept, &payload)?);
        }
        Ok(())
    }

    /// Whether its transaction was aborted.
    fn meet_batch(&mut self, header: &BatchHeader) -> bool {
        if !header.is_transactional() {
            return false;
        }
        match self.aborted_with(header) {
            Some(transaction) => self.met_aborted.insert((transaction.producer_id, transaction.last_offset)),
            None => self.met_committed.insert(header.producer_id),
        };
        self.aborted_with(header).is_some()
    }

    /// Whether no batch of its transaction was met. A control batch of another kind is never one such.
    fn meet_marker(&mut self, header: &BatchHeader, key: Option<&[u8]>) -> bool {
        let Some(&[_, _, high, low, ..]) = key else { return header.record_count == 0 };
        match i16::from_be_bytes([high, low]) {
            ABORT => !self.met_aborted.remove(&(header.producer_id, header.base_offset)),
            COMMIT => !self.met_committed.remove(&header.producer_id),
            _ => false,
        }
    }

    fn aborted_with(&self, header: &BatchHeader) -> Option<&AbortedTransaction> {
        let offset = header.base_offset;
        self.aborted
            .get(&header.producer_id)
            .filter(|_| header.is_transactional())?
            .iter()
            .find(|transaction| (transaction.first_offset..transaction.last_offset).contains(&offset))
    }

    fn is_last_of_producer(&self, header: &BatchHeader) -> bool {
        let Some(last) = self.last_batches.get(&header.producer_id) else { return false };
        match last.last_offset {
            Some(offset) => header.last_offset() == offset,
            None => header.is_control() && header.producer_epoch == last.epoch,
        }
    }
}

/// The batch with these of its records, which from this time on need not stay. Timestamps count from it (KIP-534).
fn with_delete_horizon(
    header: &BatchHeader,
    kept: &[&RecordSlices],
    payload: &[u8],
    horizon: i64,
) -> Result<Vec<u8>, CorruptBatch> {
    let mut records = Vec::new();
    for record in kept {
        let whole = record.whole.of(payload);
        let mut position = 0;
        let parts = (|| {
            read_varint(whole, &mut position)?;
            let attributes = *whole.get(position)?;
            position += 1;
            Some((attributes, read_varlong(whole, &mut position)?))
        })();
        let (attributes, delta) =
            parts.ok_or_else(|| CorruptBatch::new(header.base_offset, "a record is cut short"))?;
        let mut body = vec![attributes];
        write_varlong(&mut body, header.base_timestamp.wrapping_add(delta).wrapping_sub(horizon));
        body.extend_from_slice(&whole[position..]);
        write_varint(&mut records, body.len() as i32);
        records.extend_from_slice(&body);
    }
    let mut header = BatchHeader { record_count: kept.len() as i32, ..*header };
    if !header.is_log_append_time() {
        header.max_timestamp = kept.iter().map(|record| record.timestamp).max().unwrap_or(-1);
    }
    header.set_delete_horizon(horizon);
    Ok(finish_batch(&header, header.compression()?, &records))
}

/// The batch with these of its records. They count from the same base offset and timestamp, so their bytes stay.
fn rebuild(header: &BatchHeader, kept: &[&RecordSlices], payload: &[u8]) -> Result<Vec<u8>, CorruptBatch> {
    let mut records = Vec::with_capacity(kept.iter().map(|record| record.whole.len()).sum());
    for record in kept {
        records.extend_from_slice(record.whole.of(payload));
    }
    let max_timestamp = kept.iter().map(|record| record.timestamp).max().unwrap_or(header.max_timestamp);
    let header = BatchHeader { max_timestamp, record_count: kept.len() as i32, ..*header };
    Ok(finish_batch(&header, header.compression()?, &records))
}

fn empty_batch(header: &BatchHeader) -> Vec<u8> {
    let header = BatchHeader { record_count: 0, attributes: header.attributes & !7, ..*header };
    finish_batch(&header, crate::compression::Compression::None, &[])
}

//! Log compaction: which offset is a key's last, and batches without the records that are superseded.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use twox_hash::xxhash3_128;

use crate::error::CorruptBatch;
use crate::records::{Batch, BatchHeader, Limits, RecordSlices, finish_batch, frames};

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

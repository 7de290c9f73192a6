//! The batches that wait to be sent, by topic and partition, and which of them a record goes to. Knows nothing
//! of locks or of the interpreter.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;

use super::delivery::{BatchOutcome, TopicName};
use super::producer_batch::{OpenBatch, ProducerBatch};
use crate::compression::Compression;
use crate::partitioner::{Partitioner, StickyChoice};
use crate::records::{BatchBuilder, HEADER_BYTES, NewRecord};

/// A batch in a partition's queue.
pub enum Waiting {
    Open(OpenBatch),
    /// Was taken before and put back.
    Returned(Py<ProducerBatch>),
}

/// The batches of one partition, oldest first.
#[derive(Default)]
pub struct PartitionQueue {
    pub batches: VecDeque<Waiting>,
    records_appended: u64,
}

/// What waits for one topic.
pub struct TopicQueues {
    pub name: Arc<TopicName>,
    /// 0 while it is not known.
    pub partition_count: u32,
    pub partitions: Vec<PartitionQueue>,
    sticky: StickyChoice,
}

/// All that waits, and what it takes of the buffer.
#[derive(Default)]
pub struct Queues {
    pub topics: HashMap<String, TopicQueues>,
    pub buffered_bytes: usize,
    pub buffered_records: usize,
}

/// What all batches are made with.
pub struct Settings {
    pub batch_size: usize,
    pub buffer_memory: usize,
    pub max_record_bytes: usize,
    pub codec: (Compression, Option<i32>),
    pub partitioner: Partitioner,
    /// A moment by Rust's clock, and the same by Python's `time.monotonic()`, in milliseconds.
    pub clock: (Instant, f64),
}

impl Settings {
    fn monotonic_ms(&self) -> f64 {
        self.clock.1 + self.clock.0.elapsed().as_secs_f64() * 1000.0
    }
}

/// Where a record went.
pub struct Appended {
    pub outcome: Arc<BatchOutcome>,
    pub index: u32,
    pub partition: u32,
    /// The sender has something new to do.
    pub wake: bool,
}

/// Why a record was not taken.
pub enum Refused {
    /// The buffer is full, or the topic's partition count is not known: try again later.
    NotNow,
    TooLarge(String),
    NoSuchPartition(String),
    /// A row of Arrow data that cannot be a record.
    BadRow(String),
}

impl Refused {
    pub fn in_row(self, row: usize) -> Self {
        let name_row = |message: String| format!("row {row}: {message}");
        match self {
            Self::NotNow => Self::NotNow,
            Self::TooLarge(message) => Self::TooLarge(name_row(message)),
            Self::NoSuchPartition(message) => Self::NoSuchPartition(name_row(message)),
            Self::BadRow(message) => Self::BadRow(name_row(message)),
        }
    }
}

impl Queues {
    /// Makes a topic known, or its partition count anew. Queues stay even if there are fewer partitions now.
    pub fn set_partition_count(&mut self, name: TopicName, partition_count: u32) {
        let queues = self.topics.entry(name.name.clone()).or_insert_with(|| TopicQueues {
            sticky: StickyChoice::new(RandomState::new().hash_one(&name.name)),
            name: Arc::new(name),
            partition_count: 0,
            partitions: Vec::new(),
        });
        queues.partition_count = partition_count;
        let length = queues.partitions.len().max(partition_count as usize);
        queues.partitions.resize_with(length, PartitionQueue::default);
    }

    pub fn partition(&mut self, topic: &str, partition: usize) -> Option<&mut PartitionQueue> {
        self.topics.get_mut(topic)?.partitions.get_mut(partition)
    }

    /// Appends one record to the partition given, or to the one that the partitioner chooses.
    pub fn append(
        &mut self,
        settings: &Settings,
        topic: &str,
        partition: Option<i32>,
        record: &NewRecord<'_>,
    ) -> Result<Appended, Refused> {
        let max_size = record.max_size();
        if max_size + HEADER_BYTES > settings.max_record_bytes {
            return Err(too_large(topic, max_size, "max_request_size", settings.max_record_bytes));
        }
        if max_size > settings.buffer_memory {
            return Err(too_large(topic, max_size, "buffer_memory", settings.buffer_memory));
        }
        let Some(queues) = self.topics.get_mut(topic) else { return Err(Refused::NotNow) };
        let count = queues.partition_count;
        if count == 0 || self.buffered_bytes + max_size > settings.buffer_memory {
            return Err(Refused::NotNow);
        }
        let partition = match partition {
            Some(partition) => u32::try_from(partition)
                .ok()
                .filter(|&partition| partition < count)
                .ok_or_else(|| no_such_partition(topic, partition, count))?,
            None => match settings.partitioner.partition(record.key, count) {
                Some(partition) => partition,
                None => {
                    let partition = queues.sticky.partition(count);
                    queues.sticky.count_bytes(max_size, settings.batch_size);
                    partition
                }
            },
        };
        let queue = &mut queues.partitions[partition as usize];
        let (appended, bytes) = queue.append(settings, &queues.name, partition, record);
        self.buffered_bytes += bytes;
        self.buffered_records += 1;
        Ok(appended)
    }
}

#[cold]
fn too_large(topic: &str, size: usize, setting: &str, limit: usize) -> Refused {
    Refused::TooLarge(format!(
        "a record of up to {size} bytes for topic {topic} is larger than {setting} ({limit}) allows"
    ))
}

#[cold]
fn no_such_partition(topic: &str, partition: i32, count: u32) -> Refused {
    Refused::NoSuchPartition(format!(
        "topic {topic} has no partition {partition}; its partitions are 0 to {}",
        count - 1
    ))
}

impl PartitionQueue {
    /// Appends to the newest batch, or to a new one. Also says how many bytes the buffer grew by.
    fn append(
        &mut self,
        settings: &Settings,
        topic: &Arc<TopicName>,
        partition: u32,
        record: &NewRecord<'_>,
    ) -> (Appended, usize) {
        let mut wake = self.batches.is_empty();
        let record_number = self.records_appended;
        self.records_appended += 1;
        if let Some(Waiting::Open(batch)) = self.batches.back_mut() {
            if !batch.is_full {
                if let Some(bytes) = batch.append(record) {
                    batch.is_full = batch.builder.size() >= settings.batch_size;
                    return (batch.appended(partition, wake || batch.is_full), bytes);
                }
                batch.is_full = true;
                wake = true;
            }
        }
        let (codec, level) = settings.codec;
        let mut batch = OpenBatch {
            outcome: BatchOutcome::new(Arc::clone(topic), partition as i32),
            builder: BatchBuilder::new(codec, level, settings.batch_size),
            first_record_number: record_number,
            created_ms: settings.monotonic_ms(),
            buffered_bytes: 0,
            is_full: false,
        };
        let bytes = batch.append(record).expect("the first record always fits");
        batch.is_full = batch.builder.size() >= settings.batch_size;
        let appended = batch.appended(partition, wake || batch.is_full);
        self.batches.push_back(Waiting::Open(batch));
        (appended, bytes)
    }

    /// Puts a batch back before all that hold later records.
    pub fn put_back(&mut self, batch: Py<ProducerBatch>) {
        let number = batch.get().first_record_number;
        let position = self.batches.partition_point(|waiting| match waiting {
            Waiting::Open(other) => other.first_record_number < number,
            Waiting::Returned(other) => other.get().first_record_number < number,
        });
        self.batches.insert(position, Waiting::Returned(batch));
    }
}

impl OpenBatch {
    /// Bytes that the batch grew by; None if the record does not fit.
    fn append(&mut self, record: &NewRecord<'_>) -> Option<usize> {
        let before = self.buffered_bytes;
        if !self.builder.append(record) {
            return None;
        }
        self.buffered_bytes = self.builder.size();
        Some(self.buffered_bytes - before)
    }

    fn appended(&self, partition: u32, wake: bool) -> Appended {
        let index = self.builder.record_count() as u32 - 1;
        Appended { outcome: Arc::clone(&self.outcome), index, partition, wake }
    }
}

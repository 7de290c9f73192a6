//! `Accumulator`: records waiting to be sent, in batches by partition. Knows nothing of brokers.
//!
//! Its lock is held for moments, never while Python code runs or while a thread waits for the interpreter
//! lock: threads that hold the interpreter lock may wait for it.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::arrow_in::RowBatches;
use super::builder::MAX_RECORD_BYTES;
use super::delivery::{BatchOutcome, Delivery, TopicName, call_when_done};
use super::errors::{codec_and_level, record_too_large};
use super::input::{InputBytes, InputHeaders};
use super::producer_batch::{OpenBatch, ProducerBatch};
use crate::arrow::RowBatch;
use crate::compression::Compression;
use crate::partitioner::{Partitioner, StickyChoice};
use crate::records::{BatchBuilder, HEADER_BYTES, NO_HEADERS, NewRecord, encode_headers};

enum Waiting {
    Open(OpenBatch),
    /// Was taken before and put back.
    Returned(Py<ProducerBatch>),
}

#[derive(Default)]
struct PartitionQueue {
    batches: VecDeque<Waiting>,
    records_appended: u64,
}

struct TopicQueues {
    name: Arc<TopicName>,
    /// 0 while it is not known.
    partition_count: u32,
    partitions: Vec<PartitionQueue>,
    sticky: StickyChoice,
}

#[derive(Default)]
struct Queues {
    topics: HashMap<String, TopicQueues>,
    buffered_bytes: usize,
    buffered_records: usize,
}

/// What all batches are made with.
pub struct Settings {
    batch_size: usize,
    buffer_memory: usize,
    max_record_bytes: usize,
    codec: (Compression, Option<i32>),
    partitioner: Partitioner,
    /// A moment by Rust's clock, and the same by Python's `time.monotonic()`, in milliseconds.
    clock: (Instant, f64),
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
    fn in_row(self, row: usize) -> Self {
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
    /// Appends one record to the partition given, or to the one that the partitioner chooses.
    fn append(
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
    fn put_back(&mut self, batch: Py<ProducerBatch>) {
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

/// Rows that went into one batch.
struct RowRun {
    outcome: Arc<BatchOutcome>,
    partition: u32,
    first_index: u32,
    last_index: u32,
    last_timestamp: i64,
}

impl RowRun {
    fn into_delivery(self) -> Delivery {
        Delivery::new(self.outcome, self.first_index, self.last_index, self.last_timestamp)
    }
}

/// A call of `append_arrow` under way.
struct RowsToAppend<'a> {
    topic: &'a str,
    timestamp: Option<i64>,
    taken: usize,
    runs: Vec<RowRun>,
    wake: bool,
}

impl RowsToAppend<'_> {
    /// Appends the rows from `first_row` on, until one is refused.
    fn append_batch(
        &mut self,
        accumulator: &Accumulator,
        batch: &RowBatch,
        first_row: usize,
    ) -> Result<(), Refused> {
        /// Others that append must not wait for longer than this many rows take.
        const ROWS_AT_A_TIME: usize = 1024;
        // The run that a partition's rows go to at present, by partition.
        let mut newest: HashMap<u32, usize> = HashMap::new();
        for (index, run) in self.runs.iter().enumerate() {
            newest.insert(run.partition, index);
        }
        let mut row = first_row;
        while row < batch.len() {
            let mut queues = accumulator.lock();
            for _ in 0..ROWS_AT_A_TIME.min(batch.len() - row) {
                self.append_row(accumulator, &mut queues, batch, row, &mut newest)?;
                row += 1;
            }
        }
        Ok(())
    }

    fn append_row(
        &mut self,
        accumulator: &Accumulator,
        queues: &mut Queues,
        batch: &RowBatch,
        row: usize,
        newest: &mut HashMap<u32, usize>,
    ) -> Result<(), Refused> {
        let row = batch.row(row).map_err(|error| Refused::BadRow(error.0))?;
        let timestamp = row.timestamp.or(self.timestamp).unwrap_or_else(now_ms);
        if timestamp < 0 {
            return Err(Refused::BadRow(format!("timestamp {timestamp} ms is before 1970")));
        }
        let headers =
            if row.headers.is_empty() { None } else { Some(encode_headers(row.headers.into_iter())) };
        let record = NewRecord {
            timestamp,
            key: row.key,
            value: row.value,
            headers: headers.as_deref().unwrap_or(NO_HEADERS),
        };
        // What no int32 holds is no partition of any topic.
        let partition = row.partition.map(|partition| i32::try_from(partition).unwrap_or(-1));
        let appended = queues.append(&accumulator.settings, self.topic, partition, &record)?;
        self.taken += 1;
        self.wake |= appended.wake;
        if let Some(run) = newest.get(&appended.partition).map(|&index| &mut self.runs[index]) {
            if Arc::ptr_eq(&run.outcome, &appended.outcome) {
                run.last_index = appended.index;
                run.last_timestamp = timestamp;
                return Ok(());
            }
        }
        newest.insert(appended.partition, self.runs.len());
        self.runs.push(RowRun {
            outcome: appended.outcome,
            partition: appended.partition,
            first_index: appended.index,
            last_index: appended.index,
            last_timestamp: timestamp,
        });
        Ok(())
    }
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct Accumulator {
    settings: Settings,
    queues: Mutex<Queues>,
    wake: Py<PyAny>,
}

impl Drop for Accumulator {
    fn drop(&mut self) {
        for topic in self.lock().topics.values() {
            for waiting in topic.partitions.iter().flat_map(|queue| &queue.batches) {
                if let Waiting::Open(batch) = waiting {
                    batch.outcome.abandon();
                }
            }
        }
    }
}

impl Accumulator {
    /// The record is in the buffer already, so a failure here is not the caller's.
    fn wake_sender(&self, py: Python<'_>) {
        if let Err(error) = self.wake.call0(py) {
            error.write_unraisable(py, Some(self.wake.bind(py)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refusal(py: Python<'_>, refused: Refused) -> PyResult<()> {
    match refused {
        Refused::NotNow => Ok(()),
        Refused::TooLarge(message) => Err(record_too_large(py, message)),
        Refused::NoSuchPartition(message) | Refused::BadRow(message) => Err(PyValueError::new_err(message)),
    }
}

#[pymethods]
impl Accumulator {
    #[new]
    #[pyo3(signature = (*, batch_size, buffer_memory, max_record_bytes, compression, compression_level, partitioner, wake))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of the constructor")]
    fn new(
        py: Python<'_>,
        batch_size: usize,
        buffer_memory: usize,
        max_record_bytes: usize,
        compression: &str,
        compression_level: Option<i32>,
        partitioner: &str,
        wake: Py<PyAny>,
    ) -> PyResult<Self> {
        let partitioner = Partitioner::from_name(partitioner).ok_or_else(|| {
            let names = Partitioner::NAMES;
            PyValueError::new_err(format!("unknown partitioner {partitioner:?}; there are {names}"))
        })?;
        let monotonic_s: f64 = py.import("time")?.call_method0("monotonic")?.extract()?;
        let settings = Settings {
            batch_size: batch_size.min(MAX_RECORD_BYTES),
            buffer_memory,
            max_record_bytes: max_record_bytes.min(MAX_RECORD_BYTES),
            codec: codec_and_level(compression, compression_level)?,
            partitioner,
            clock: (Instant::now(), monotonic_s * 1000.0),
        };
        Ok(Self { settings, queues: Mutex::default(), wake })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.wake)
    }

    fn set_partition_count(&self, topic: Bound<'_, PyString>, partition_count: u32) -> PyResult<()> {
        let name = topic.to_str()?.to_owned();
        let mut queues = self.lock();
        let queues = queues.topics.entry(name).or_insert_with_key(|name| TopicQueues {
            name: Arc::new(TopicName { name: name.clone(), object: topic.unbind() }),
            partition_count: 0,
            partitions: Vec::new(),
            sticky: StickyChoice::new(RandomState::new().hash_one(name)),
        });
        queues.partition_count = partition_count;
        let length = queues.partitions.len().max(partition_count as usize);
        queues.partitions.resize_with(length, PartitionQueue::default);
        Ok(())
    }

    #[pyo3(signature = (topic, partition, key, value, headers, timestamp, callback=None))]
    #[expect(clippy::too_many_arguments, reason = "the parts of a record")]
    fn append(
        &self,
        py: Python<'_>,
        topic: &Bound<'_, PyString>,
        partition: Option<i32>,
        key: Option<InputBytes>,
        value: Option<InputBytes>,
        headers: InputHeaders,
        timestamp: Option<i64>,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<Option<Py<Delivery>>> {
        let timestamp = timestamp.unwrap_or_else(now_ms);
        if timestamp < 0 {
            return Err(PyValueError::new_err(format!("timestamp {timestamp} ms is before 1970")));
        }
        let record = NewRecord {
            timestamp,
            key: key.as_ref().map(AsRef::as_ref),
            value: value.as_ref().map(AsRef::as_ref),
            headers: headers.as_ref(),
        };
        let topic = topic.to_str()?;
        let appended = self.lock().append(&self.settings, topic, partition, &record);
        let appended = match appended {
            Ok(appended) => appended,
            Err(refused) => return refusal(py, refused).map(|()| None),
        };
        let delivery =
            Py::new(py, Delivery::new(appended.outcome, appended.index, appended.index, timestamp))?;
        if let Some(callback) = callback {
            call_when_done(py, delivery.clone_ref(py), callback);
        }
        if appended.wake {
            self.wake_sender(py);
        }
        Ok(Some(delivery))
    }

    #[pyo3(signature = (topic, data, *, row_offset=0, timestamp=None))]
    fn append_arrow(
        &self,
        py: Python<'_>,
        topic: &str,
        data: &Bound<'_, PyAny>,
        row_offset: usize,
        timestamp: Option<i64>,
    ) -> PyResult<(usize, Vec<Delivery>)> {
        let mut rows = RowsToAppend { topic, timestamp, taken: 0, runs: Vec::new(), wake: false };
        let mut batches = RowBatches::new(data)?;
        let mut skip = row_offset;
        let mut refused = None;
        while let Some(batch) = batches.next()? {
            let first_row = skip.min(batch.len());
            skip -= first_row;
            let appended = py.detach(|| rows.append_batch(self, &batch, first_row));
            drop(batch);
            if let Err(reason) = appended {
                refused = Some(reason);
                break;
            }
        }
        if rows.wake {
            self.wake_sender(py);
        }
        match refused {
            // Rows before the one that is refused are taken; the next call begins with it.
            Some(reason) if rows.taken == 0 => {
                refusal(py, reason.in_row(row_offset))?;
            }
            _ => {}
        }
        let deliveries = rows.runs.into_iter().map(RowRun::into_delivery).collect();
        Ok((rows.taken, deliveries))
    }

    fn needs_metadata(&self, topic: &str) -> bool {
        self.lock().topics.get(topic).is_none_or(|queues| queues.partition_count == 0)
    }

    fn partitions(&self, py: Python<'_>) -> Vec<(Py<PyString>, usize)> {
        let queues = self.lock();
        let mut found = Vec::new();
        for topic in queues.topics.values() {
            for (partition, queue) in topic.partitions.iter().enumerate() {
                if !queue.batches.is_empty() {
                    found.push((topic.name.object.clone_ref(py), partition));
                }
            }
        }
        found
    }

    fn ready_in_ms(&self, topic: &str, partition: usize, now_ms: f64, linger_ms: f64) -> f64 {
        let queues = self.lock();
        let queue = queues.topics.get(topic).and_then(|topic| topic.partitions.get(partition));
        let Some(queue) = queue else { return f64::INFINITY };
        match queue.batches.front() {
            None => f64::INFINITY,
            Some(Waiting::Returned(_)) => 0.0,
            Some(Waiting::Open(batch)) if batch.is_full || queue.batches.len() > 1 => 0.0,
            Some(Waiting::Open(batch)) => (batch.created_ms + linger_ms - now_ms).max(0.0),
        }
    }

    fn drain(&self, py: Python<'_>, topic: &str, partition: usize) -> PyResult<Option<Py<ProducerBatch>>> {
        let taken = {
            let mut queues = self.lock();
            let queue = queues.topics.get_mut(topic).and_then(|topic| topic.partitions.get_mut(partition));
            queue.and_then(|queue| queue.batches.pop_front())
        };
        match taken {
            None => Ok(None),
            Some(Waiting::Returned(batch)) => Ok(Some(batch)),
            Some(Waiting::Open(batch)) => {
                Py::new(py, ProducerBatch::new(batch, self.settings.codec)).map(Some)
            }
        }
    }

    fn put_back(&self, batch: Py<ProducerBatch>) -> PyResult<()> {
        let partition = batch.get().partition_number() as usize;
        let mut queues = self.lock();
        let queue = queues
            .topics
            .get_mut(batch.get().topic_name())
            .and_then(|topic| topic.partitions.get_mut(partition))
            .ok_or_else(|| PyValueError::new_err("the batch is of another accumulator"))?;
        queue.put_back(batch);
        Ok(())
    }

    fn release(&self, batch: &Bound<'_, ProducerBatch>) {
        let (bytes, records) = batch.get().take_buffered();
        let mut queues = self.lock();
        queues.buffered_bytes = queues.buffered_bytes.saturating_sub(bytes);
        queues.buffered_records = queues.buffered_records.saturating_sub(records);
    }

    #[getter]
    fn buffered_bytes(&self) -> usize {
        self.lock().buffered_bytes
    }

    #[getter]
    fn buffered_records(&self) -> usize {
        self.lock().buffered_records
    }
}

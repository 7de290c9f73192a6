//! `Accumulator`: records waiting to be sent, for many threads that append and one that sends.
//!
//! Its lock is held for moments, never while Python code runs or while a thread waits for the interpreter
//! lock: threads that hold the interpreter lock may wait for it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::arrow_in::RowBatches;
use super::arrow_rows::{RowRun, RowsToAppend};
use super::builder::MAX_RECORD_BYTES;
use super::delivery::{Delivery, TopicName, call_when_done};
use super::errors::{codec_and_level, record_too_large};
use super::input::{InputBytes, InputHeaders};
use super::producer_batch::ProducerBatch;
use super::queues::{Queues, Refused, Settings, Waiting};
use crate::partitioner::Partitioner;
use crate::records::NewRecord;

pub fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct Accumulator {
    pub settings: Settings,
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

    pub fn lock(&self) -> MutexGuard<'_, Queues> {
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
        self.lock().set_partition_count(TopicName { name, object: topic.unbind() }, partition_count);
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
        let mut queues = self.lock();
        let Some(queue) = queues.partition(topic, partition) else { return f64::INFINITY };
        match queue.batches.front() {
            None => f64::INFINITY,
            Some(Waiting::Returned(_)) => 0.0,
            Some(Waiting::Open(batch)) if batch.is_full || queue.batches.len() > 1 => 0.0,
            Some(Waiting::Open(batch)) => (batch.created_ms + linger_ms - now_ms).max(0.0),
        }
    }

    fn drain(&self, py: Python<'_>, topic: &str, partition: usize) -> PyResult<Option<Py<ProducerBatch>>> {
        let taken = self.lock().partition(topic, partition).and_then(|queue| queue.batches.pop_front());
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
            .partition(batch.get().topic_name(), partition)
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

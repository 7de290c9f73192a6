//! `ProducerBatch`: a closed batch on its way to a broker.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::exceptions::{PyBaseException, PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyString};

use crate::compression::Compression;
use crate::producing;
use crate::python::objects::errors::to_corrupt_batch;
use crate::python::produce::batch_bytes::BatchBytes;
use crate::python::produce::delivery::{BatchOutcome, SplitBatch, TopicName};
use crate::records::{
    Batch, BatchBody, BatchBuilder, HeaderIter, Limits, NewRecord, NoBytes, ProducerState, SealedBatch,
    encode_headers,
};

pub type OpenBatch = producing::OpenBatch<BatchOutcome>;
pub type ClosedBatch = producing::ClosedBatch<BatchOutcome>;

/// What the queues hold of a producer's batches.
pub enum ProducerBatches {}

impl producing::Owner for ProducerBatches {
    type Topic = TopicName;
    type Outcome = BatchOutcome;
    type Taken = Py<ProducerBatch>;

    fn outcome(topic: &Arc<TopicName>, partition: i32) -> Arc<BatchOutcome> {
        BatchOutcome::new(Arc::clone(topic), partition)
    }

    fn first_record_number(taken: &Py<ProducerBatch>) -> u64 {
        taken.get().first_record_number
    }
}

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct ProducerBatch {
    outcome: Arc<BatchOutcome>,
    body: Arc<BatchBody>,
    record_count: usize,
    size: usize,
    pub first_record_number: u64,
    created_ms: f64,
    codec: (Compression, Option<i32>),
    buffered_bytes: AtomicUsize,
    buffered_records: AtomicUsize,
}

impl Drop for ProducerBatch {
    fn drop(&mut self) {
        self.outcome.abandon();
    }
}

impl ProducerBatch {
    pub fn new(batch: ClosedBatch, codec: (Compression, Option<i32>)) -> Self {
        Self {
            outcome: batch.outcome,
            body: batch.body,
            record_count: batch.record_count,
            size: batch.size,
            first_record_number: batch.first_record_number,
            created_ms: batch.created_ms,
            codec,
            buffered_bytes: AtomicUsize::new(batch.buffered_bytes),
            buffered_records: AtomicUsize::new(batch.record_count),
        }
    }

    /// As `complete`, if nobody has to be told in Python; whether it did anything.
    pub fn deliver_without_python(&self, base_offset: i64, log_append_time: i64) -> bool {
        self.outcome.deliver_without_python(base_offset, log_append_time)
    }

    pub fn topic_name(&self) -> &str {
        &self.outcome.topic.name
    }

    pub fn partition_number(&self) -> i32 {
        self.outcome.partition
    }

    /// The bytes and records that the batch takes of the buffer, once.
    pub fn take_buffered(&self) -> (usize, usize) {
        (self.buffered_bytes.swap(0, Ordering::Relaxed), self.buffered_records.swap(0, Ordering::Relaxed))
    }

    fn charge(&self, bytes: usize, records: usize) {
        self.buffered_bytes.store(bytes, Ordering::Relaxed);
        self.buffered_records.store(records, Ordering::Relaxed);
    }

    /// The records in batches of at most `max_bytes`, and for each old record its part and its index there.
    fn rebuild(&self, sealed: &SealedBatch, max_bytes: usize) -> Result<Parts, crate::error::CorruptBatch> {
        let limits = Limits { check_crcs: false, max_decompressed_bytes: usize::MAX };
        let batch = Batch::Current(*sealed.header());
        let (payload, records) = batch.records(sealed.bytes(), &limits)?;
        let mut parts = Parts { builders: Vec::new(), places: Vec::with_capacity(records.len()) };
        for (index, slices) in records.iter().enumerate() {
            if self.outcome.has_failed(index as u32) {
                parts.places.push((0, 0));
                continue;
            }
            let headers: Vec<_> = HeaderIter::new(slices.headers.of(&payload)).collect();
            let headers = encode_headers(headers.into_iter());
            let record = NewRecord::new(
                slices.timestamp,
                slices.key.map(|key| key.of(&payload)),
                slices.value.map(|value| value.of(&payload)),
                &headers,
            );
            let fitted = parts.builders.last_mut().is_some_and(|(_, builder)| builder.append(&record));
            if !fitted {
                let (codec, level) = self.codec;
                let mut builder = BatchBuilder::new(codec, level, max_bytes);
                builder.append(&record);
                parts.builders.push((index as u64, builder));
            }
            let part = parts.builders.len() - 1;
            parts.places.push((part as u32, parts.builders[part].1.record_count() as u32 - 1));
        }
        Ok(parts)
    }
}

struct Parts {
    /// With the index that a part's first record had.
    builders: Vec<(u64, BatchBuilder)>,
    places: Vec<(u32, u32)>,
}

fn no_bytes(reason: NoBytes) -> PyErr {
    match reason {
        NoBytes::UsedUp => PyValueError::new_err("this batch was split into smaller ones and is used up"),
        NoBytes::Broken(reason) => {
            PyRuntimeError::new_err(format!("compressing this batch failed: {reason}"))
        }
    }
}

#[pymethods]
impl ProducerBatch {
    #[getter]
    fn topic(&self, py: Python<'_>) -> Py<PyString> {
        self.outcome.topic.object.clone_ref(py)
    }

    #[getter]
    fn partition(&self) -> i32 {
        self.outcome.partition
    }

    #[getter]
    fn needs_python(&self) -> bool {
        self.outcome.needs_python()
    }

    #[getter]
    pub fn record_count(&self) -> usize {
        self.record_count
    }

    #[getter]
    fn size(&self) -> usize {
        self.size
    }

    #[getter]
    fn created_ms(&self) -> i64 {
        self.created_ms as i64
    }

    #[pyo3(signature = (*, producer_id=-1, producer_epoch=-1, base_sequence=-1, is_transactional=false))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        producer_id: i64,
        producer_epoch: i16,
        base_sequence: i32,
        is_transactional: bool,
    ) -> PyResult<Bound<'py, PyMemoryView>> {
        let producer = ProducerState { producer_id, producer_epoch, base_sequence, is_transactional };
        if !self.body.is_sealed() {
            py.detach(|| self.body.seal());
        }
        // The checksum takes less time than getting the interpreter lock back.
        let encoded = self.body.encode(&producer).map_err(no_bytes)?;
        PyMemoryView::from(Bound::new(py, BatchBytes(encoded))?.as_any())
    }

    #[getter]
    fn is_sealed(&self) -> bool {
        self.body.is_sealed()
    }

    #[getter]
    fn broken_because(&self) -> Option<String> {
        if self.body.is_sealed() { self.body.broken_because() } else { None }
    }

    fn seal(&self, py: Python<'_>) {
        py.detach(|| self.body.seal());
    }

    #[pyo3(signature = (base_offset, log_append_time=-1))]
    fn complete(&self, py: Python<'_>, base_offset: i64, log_append_time: i64) {
        self.outcome.deliver(py, base_offset, log_append_time);
    }

    fn fail(&self, py: Python<'_>, error: Py<PyBaseException>) {
        self.outcome.fail(py, error.into_any());
    }

    fn fail_record(&self, py: Python<'_>, index: u32, error: Py<PyBaseException>) -> PyResult<()> {
        if index as usize >= self.record_count {
            let message = format!("record {index} of a batch with {} records", self.record_count);
            return Err(PyIndexError::new_err(message));
        }
        self.outcome.fail_record(py, index, error.into_any());
        Ok(())
    }

    fn split(&self, py: Python<'_>, max_bytes: usize) -> PyResult<Vec<Self>> {
        let sealed = py.detach(|| self.body.use_up()).map_err(no_bytes)?;
        let parts = py.detach(|| self.rebuild(&sealed, max_bytes)).map_err(to_corrupt_batch(py))?;
        let part_count = parts.builders.len();
        let mut batches = Vec::with_capacity(part_count);
        for (first_index, builder) in parts.builders {
            let part = OpenBatch {
                outcome: self.outcome.part(),
                buffered_bytes: builder.size(),
                builder,
                first_record_number: self.first_record_number + first_index,
                created_ms: self.created_ms,
                is_full: true,
            };
            batches.push(Self::new(ClosedBatch::from(part), self.codec));
        }
        // Few batches are ever split: these need no other thread.
        py.detach(|| batches.iter().for_each(|batch| batch.body.seal()));
        if let Some((last, others)) = batches.split_last() {
            // What was charged for the old batch is charged for its parts, no more and no less.
            let (mut bytes, mut records) = self.take_buffered();
            for part in others {
                let (part_bytes, part_records) = part.take_buffered();
                part.charge(part_bytes.min(bytes), part_records);
                bytes -= part_bytes.min(bytes);
                records -= part_records;
            }
            last.charge(bytes, records);
        }
        let outcomes = batches.iter().map(|batch| Arc::clone(&batch.outcome)).collect();
        self.outcome.split(py, SplitBatch { parts: outcomes, places: parts.places });
        Ok(batches)
    }

    fn __repr__(&self) -> String {
        format!(
            "<ProducerBatch of {} records for {}-{}>",
            self.record_count, self.outcome.topic.name, self.outcome.partition
        )
    }
}

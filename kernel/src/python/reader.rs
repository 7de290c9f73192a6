//! `RecordReader`: a cursor over one partition of a fetch response, giving `Record` objects.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use super::errors::corrupt_batch;
use super::input::InputBytes;
use super::record::{Record, RecordSource};
use crate::error::CorruptBatch;
use crate::records::{CursorOptions, Limits, RecordCursor};

/// Giving up the interpreter lock costs as much as reading a batch of this size.
const DETACH_BYTES: usize = 4096;

#[pyclass(module = "barnabas._kernel")]
pub struct RecordReader {
    topic: Py<PyString>,
    partition: i32,
    cursor: RecordCursor,
    /// What the records of the open batch share, and which batch that is.
    source: Option<(u64, Arc<RecordSource>)>,
}

impl RecordReader {
    pub fn cursor(&mut self) -> &mut RecordCursor {
        &mut self.cursor
    }

    pub fn place(&self) -> (&Py<PyString>, i32) {
        (&self.topic, self.partition)
    }

    pub fn error(&self, py: Python<'_>, error: &CorruptBatch) -> PyErr {
        corrupt_batch(py, error, Some(self.place()))
    }

    fn open_next(&mut self, py: Python<'_>) -> Result<bool, CorruptBatch> {
        if self.cursor.next_batch_bytes() < DETACH_BYTES {
            return self.cursor.open_next(i64::MAX);
        }
        let cursor = &mut self.cursor;
        py.detach(|| cursor.open_next(i64::MAX))
    }

    fn source(&mut self, py: Python<'_>) -> Option<Arc<RecordSource>> {
        let number = self.cursor.batches_opened();
        if let Some((seen, source)) = &self.source {
            if *seen == number {
                return Some(Arc::clone(source));
            }
        }
        let open = self.cursor.open_batch()?;
        let source = Arc::new(RecordSource {
            topic: self.topic.clone_ref(py),
            partition: self.partition,
            leader_epoch: open.leader_epoch,
            timestamp_type: open.timestamp_type,
            payload: open.payload.clone(),
        });
        self.source = Some((number, Arc::clone(&source)));
        Some(source)
    }

    /// Records of the next batch that has any, at most `max_records`; nothing if the reader is exhausted.
    fn take_from_batch(
        &mut self,
        py: Python<'_>,
        max_records: usize,
        records: &mut Vec<Py<Record>>,
    ) -> PyResult<bool> {
        if !self.open_next(py).map_err(|error| self.error(py, &error))? {
            self.source = None;
            return Ok(false);
        }
        let Some(source) = self.source(py) else { return Ok(false) };
        let mut failure = None;
        if let Some(open) = self.cursor.open_batch() {
            records.reserve(open.records_left_at_most().min(max_records));
        }
        self.cursor
            .take_from_open(max_records, i64::MAX, |_, slices| {
                match Py::new(py, Record::new(&source, slices)) {
                    Ok(record) => {
                        records.push(record);
                        true
                    }
                    Err(error) => {
                        failure = Some(error);
                        false
                    }
                }
            })
            .map_err(|error| self.error(py, &error))?;
        failure.map_or(Ok(true), Err)
    }
}

#[pymethods]
impl RecordReader {
    #[new]
    #[pyo3(signature = (topic, partition, data, *, fetch_offset=0, aborted=None, check_crcs=true, max_decompressed_bytes=1 << 30))]
    fn new(
        topic: Bound<'_, PyString>,
        partition: i32,
        data: InputBytes,
        fetch_offset: i64,
        aborted: Option<Vec<(i64, i64)>>,
        check_crcs: bool,
        max_decompressed_bytes: usize,
    ) -> Self {
        let limits = Limits { check_crcs, max_decompressed_bytes };
        let options = CursorOptions { fetch_offset, aborted: aborted.as_deref(), limits };
        let cursor = RecordCursor::new(data.into(), &options);
        Self { topic: topic.unbind(), partition, cursor, source: None }
    }

    #[getter]
    fn topic(&self, py: Python<'_>) -> Py<PyString> {
        self.topic.clone_ref(py)
    }

    #[getter]
    fn partition(&self) -> i32 {
        self.partition
    }

    #[getter]
    fn next_offset(&self) -> i64 {
        self.cursor.next_offset()
    }

    #[getter]
    fn end_offset(&self) -> Option<i64> {
        self.cursor.end_offset()
    }

    #[getter]
    fn last_leader_epoch(&self) -> i32 {
        self.cursor.last_leader_epoch()
    }

    #[getter]
    fn remaining_bytes(&self) -> usize {
        self.cursor.remaining_bytes()
    }

    fn take<'py>(&mut self, py: Python<'py>, max_records: usize) -> PyResult<Bound<'py, PyList>> {
        let mut records = Vec::new();
        while records.len() < max_records {
            match self.take_from_batch(py, max_records - records.len(), &mut records) {
                Ok(true) => {}
                Ok(false) => break,
                // What was read before is handed over; the reader stands still, so the next call raises.
                Err(_) if !records.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        PyList::new(py, records)
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Py<Record>>> {
        let mut records = Vec::new();
        while records.is_empty() && self.take_from_batch(py, 1, &mut records)? {}
        Ok(records.pop())
    }
}

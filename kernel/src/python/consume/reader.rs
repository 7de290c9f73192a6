//! `RecordReader`: a cursor over one partition of a fetch response, giving `Record` objects.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::arrow::ColumnsAhead;
use crate::error::CorruptBatch;
use crate::python::consume::record::{ObjectsOf, Record, RecordMaker, RecordSource};
use crate::python::objects::allocation::CollectorPause;
use crate::python::objects::errors::corrupt_batch;
use crate::python::objects::input::InputBytes;
use crate::python::objects::locked_rc::LockedRc;
use crate::records::{CursorOptions, Limits, RecordCursor, RecordSlices, RecordTaker};

/// Giving up the interpreter lock costs as much as reading a batch of this size.
const DETACH_BYTES: usize = 4096;

#[pyclass(module = "barnabas._kernel")]
pub struct RecordReader {
    topic: Py<PyString>,
    /// What records call their topic.
    shown_topic: Py<PyString>,
    partition: i32,
    cursor: RecordCursor,
    ahead: ColumnsAhead,
    /// What the records of the open batch share, and which batch that is.
    source: Option<(u64, LockedRc<RecordSource>)>,
}

impl RecordReader {
    pub fn of(topic: &Bound<'_, PyString>, partition: i32, cursor: RecordCursor) -> Self {
        let (topic, shown_topic) = (topic.clone().unbind(), topic.clone().unbind());
        Self { topic, shown_topic, partition, cursor, ahead: ColumnsAhead::default(), source: None }
    }

    pub fn cursor(&mut self) -> &mut RecordCursor {
        &mut self.cursor
    }

    pub fn cursor_and_ahead(&mut self) -> (&mut RecordCursor, &mut ColumnsAhead) {
        (&mut self.cursor, &mut self.ahead)
    }

    pub fn place(&self) -> (&Py<PyString>, i32) {
        (&self.topic, self.partition)
    }

    /// Of the last record that was read, -1 if it is not known.
    pub fn leader_epoch(&self) -> i32 {
        self.cursor.last_leader_epoch()
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

    fn source(&mut self, py: Python<'_>) -> Option<LockedRc<RecordSource>> {
        let number = self.cursor.batches_opened();
        if let Some((seen, source)) = &self.source {
            if *seen == number {
                return Some(source.clone_ref(py));
            }
        }
        let open = self.cursor.open_batch()?;
        let source = RecordSource {
            topic: self.shown_topic.clone_ref(py),
            partition: self.partition,
            leader_epoch: open.leader_epoch,
            timestamp_type: open.timestamp_type,
            payload: open.payload.clone(),
        };
        let source = LockedRc::new(py, source);
        self.source = Some((number, source.clone_ref(py)));
        Some(source)
    }

    /// Records of the next batch that has any, at most `max_records`; false if the reader is exhausted.
    fn take_from_batch<M: RecordMaker>(
        &mut self,
        py: Python<'_>,
        max_records: usize,
        maker: &M,
        records: &mut Vec<M::Made>,
    ) -> PyResult<bool> {
        if !self.open_next(py).map_err(|error| self.error(py, &error))? {
            self.source = None;
            return Ok(false);
        }
        let Some(source) = self.source(py) else { return Ok(false) };
        if let Some(open) = self.cursor.open_batch() {
            records.reserve(open.records_left_at_most().min(max_records));
        }
        let _pause = CollectorPause::new(py);
        let taker = Taker { py, source: &source, maker, made: records, failure: None };
        let (taker, taken) = self.cursor.take_from_open(max_records, i64::MAX, taker);
        taken.map_err(|error| self.error(py, &error))?;
        taker.failure.map_or(Ok(true), Err)
    }

    /// What `maker` makes of up to `max_records` of all batches.
    pub fn take_all<M: RecordMaker>(
        &mut self,
        py: Python<'_>,
        max_records: usize,
        maker: &M,
    ) -> PyResult<Vec<M::Made>> {
        let mut records = Vec::new();
        while records.len() < max_records {
            match self.take_from_batch(py, max_records - records.len(), maker, &mut records) {
                Ok(true) => {}
                Ok(false) => break,
                // What was read before is handed over; the reader stands still, so the next call raises.
                Err(_) if !records.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(records)
    }

    /// What `maker` makes of the next record, and its offset.
    pub fn next<M: RecordMaker>(&mut self, py: Python<'_>, maker: &M) -> PyResult<Option<(M::Made, i64)>> {
        let mut next = None;
        while next.is_none() {
            let is_open = self.cursor.open_batch().is_some();
            if !is_open && !self.open_next(py).map_err(|error| self.error(py, &error))? {
                self.source = None;
                return Ok(None);
            }
            let Some(source) = self.source(py) else { return Ok(None) };
            let taker = |_: &[u8], slices: RecordSlices| {
                next = Some((maker.make(py, &source, slices), slices.offset));
                true
            };
            let (_, taken) = self.cursor.take_from_open(1, i64::MAX, taker);
            taken.map_err(|error| self.error(py, &error))?;
        }
        next.map(|(made, offset)| made.map(|made| (made, offset))).transpose()
    }
}

/// Has something made of records, until of one that cannot be.
struct Taker<'a, 'py, M: RecordMaker> {
    py: Python<'py>,
    source: &'a LockedRc<RecordSource>,
    maker: &'a M,
    made: &'a mut Vec<M::Made>,
    failure: Option<PyErr>,
}

impl<M: RecordMaker> RecordTaker for Taker<'_, '_, M> {
    // In the loop that decodes: a record that is handed over by reference is written and read once more.
    #[inline(always)]
    fn take(&mut self, _payload: &[u8], slices: RecordSlices) -> bool {
        match self.maker.make(self.py, self.source, slices) {
            Ok(made) => {
                self.made.push(made);
                true
            }
            Err(error) => {
                self.failure = Some(error);
                false
            }
        }
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
        Self::of(&topic, partition, RecordCursor::new(data.into(), &options))
    }

    fn show_topic(&mut self, name: Bound<'_, PyString>) {
        self.shown_topic = name.unbind();
        self.source = None;
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
        self.leader_epoch()
    }

    #[getter]
    fn remaining_bytes(&self) -> usize {
        self.cursor.remaining_bytes()
    }

    fn take<'py>(&mut self, py: Python<'py>, max_records: usize) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.take_all(py, max_records, &ObjectsOf::<Record>::new())?)
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Py<Record>>> {
        let mut records = Vec::<Py<Record>>::new();
        let maker = ObjectsOf::<Record>::new();
        while records.is_empty() && self.take_from_batch(py, 1, &maker, &mut records)? {}
        Ok(records.pop())
    }
}

//! `RecordPoller`: `for record in consumer` of kafka-python, where the next record is at hand.
//!
//! Hands out records of the reader that is lent to it one by one without any Python. Everything else is the subclass's:
//! `_next_record`, and what is to be done about a record that its deserializers refuse.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::python::consume::poller::Poller;
use crate::python::consume::reader::RecordReader;
use crate::python::kafka_python::record_shape::{FoundRecord, FoundRecords, RecordShape};
use crate::python::objects::allocation::CollectorPause;

/// The offset of a record that could not be made, and why.
type Refused = (i64, PyErr);

/// Of a record that is being made, where there is none.
const NO_OFFSET: i64 = -1;

#[pyclass(frozen, subclass, extends = Poller, module = "barnabas._kernel")]
pub struct RecordPoller {
    shape: OnceLock<RecordShape>,
    /// The offset of a record that was handed out of the loan, whose deserializers run. The interpreter lock is held
    /// from before the loan counts the record until this says so: another thread sees both or neither.
    being_made: AtomicI64,
}

impl RecordPoller {
    fn shape(&self) -> PyResult<&RecordShape> {
        self.shape.get().ok_or_else(|| PyValueError::new_err("nothing was said of the shape of records"))
    }

    fn object(slf: &Bound<'_, Self>, record: &FoundRecord) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let poller = slf.get();
        let shape = poller.shape()?;
        if shape.calls_nothing() {
            return shape.object(py, record);
        }
        poller.being_made.store(record.offset(), Ordering::Relaxed);
        let object = shape.object(py, record);
        poller.being_made.store(NO_OFFSET, Ordering::Relaxed);
        object.or_else(|error| {
            slf.call_method1(intern!(py, "_was_refused"), (record.offset(),))?;
            Err(error)
        })
    }
}

#[pymethods]
impl RecordPoller {
    #[new]
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn new(
        _arguments: &Bound<'_, PyTuple>,
        _keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyClassInitializer<Self> {
        Poller::subclassed(Self { shape: OnceLock::new(), being_made: AtomicI64::new(NO_OFFSET) })
    }

    /// Once, before the first record: the class of records, a named tuple, and the deserializers, each with the number
    /// of arguments that it takes: the bytes; the topic and the bytes; or the topic, the headers and the bytes.
    #[pyo3(signature = (class, key_deserializer=None, value_deserializer=None))]
    fn _shape_records(
        &self,
        class: &Bound<'_, PyType>,
        key_deserializer: Option<(Py<PyAny>, usize)>,
        value_deserializer: Option<(Py<PyAny>, usize)>,
    ) -> PyResult<()> {
        let shape = RecordShape::new(class, key_deserializer, value_deserializer)?;
        self.shape.set(shape).map_err(|_| PyValueError::new_err("the shape of records was said before"))
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let poller = slf.as_super().get();
        if !poller.needs_attention() {
            // What does not go well here is met again, and dealt with, by the subclass.
            if let Ok(Some(record)) = poller.next(py, &FoundRecords) {
                return Self::object(slf, &record);
            }
        }
        Ok(slf.call_method0(intern!(py, "_next_record"))?.unbind())
    }

    /// The offset of a record that counts as handed out while its deserializers still run, or None. Any thread.
    #[getter]
    fn _being_made(&self) -> Option<i64> {
        Some(self.being_made.load(Ordering::Relaxed)).filter(|&offset| offset != NO_OFFSET)
    }

    /// The next record of the reader that is lent, if there is any. Raises: CorruptBatchError, and what a deserializer
    /// raises, after `_was_refused` was called.
    fn _next_lent(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let Some(record) = slf.as_super().get().next(slf.py(), &FoundRecords)? else { return Ok(None) };
        Self::object(slf, &record).map(Some)
    }

    /// Up to `max_records` records of a reader that is not lent; and, where a deserializer refuses one, its offset and
    /// what it raised: the reader is ahead of it then. Raises: CorruptBatchError.
    fn _take(
        &self,
        py: Python<'_>,
        reader: &Bound<'_, RecordReader>,
        max_records: usize,
    ) -> PyResult<(Vec<Py<PyAny>>, Option<Refused>)> {
        let shape = self.shape()?;
        let found = reader.try_borrow_mut()?.take_all(py, max_records, &FoundRecords)?;
        let mut records = Vec::with_capacity(found.len());
        let _pause = shape.calls_nothing().then(|| CollectorPause::new(py));
        for record in &found {
            match shape.object(py, record) {
                Ok(object) => records.push(object),
                Err(error) => return Ok((records, Some((record.offset(), error)))),
            }
        }
        Ok((records, None))
    }
}

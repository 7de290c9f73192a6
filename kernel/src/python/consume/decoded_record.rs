//! `DecodedRecord`: a record whose key and value a deserializer reads when they are first asked for.

use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use pyo3::{IntoPyObjectExt, PyTraverseError, PyVisit};

use crate::python::consume::record::Record;

/// One side of a record. Without a decoder it is the bytes.
struct Side {
    decoder: Option<Py<PyAny>>,
    decoded: OnceLock<Py<PyAny>>,
}

impl Side {
    const fn new(decoder: Option<Py<PyAny>>) -> Self {
        Self { decoder, decoded: OnceLock::new() }
    }

    /// What the decoder makes of the record; None where there are no bytes. An error is not kept.
    fn get<'py>(
        &self,
        record: &Record,
        bytes: Option<Bound<'py, PyBytes>>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (Some(decoder), Some(_)) = (&self.decoder, &bytes) else { return bytes.into_bound_py_any(py) };
        if let Some(decoded) = self.decoded.get() {
            return Ok(decoded.bind(py).clone());
        }
        let decoded = decoder.call1(py, (record.same(py),))?;
        // Of two threads that decode at once the first decides, so that both have the same object.
        Ok(self.decoded.get_or_init(|| decoded).bind(py).clone())
    }

    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.decoder)?;
        visit.call(self.decoded.get())
    }
}

#[pyclass(frozen, extends = Record, module = "barnabas._kernel")]
pub struct DecodedRecord {
    key: Side,
    value: Side,
}

impl DecodedRecord {
    fn initializer(
        py: Python<'_>,
        record: &Record,
        key_decoder: Option<Py<PyAny>>,
        value_decoder: Option<Py<PyAny>>,
    ) -> PyClassInitializer<Self> {
        let decoded = Self { key: Side::new(key_decoder), value: Side::new(value_decoder) };
        PyClassInitializer::from(record.same(py)).add_subclass(decoded)
    }
}

#[pymethods]
impl DecodedRecord {
    #[new]
    #[pyo3(signature = (record, key_decoder, value_decoder))]
    fn py_new(
        py: Python<'_>,
        record: &Record,
        key_decoder: Option<Py<PyAny>>,
        value_decoder: Option<Py<PyAny>>,
    ) -> PyClassInitializer<Self> {
        Self::initializer(py, record, key_decoder, value_decoder)
    }

    #[getter]
    fn key<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, record) = (slf.py(), slf.as_super().get());
        slf.get().key.get(record, record.key(py), py)
    }

    #[getter]
    fn value<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, record) = (slf.py(), slf.as_super().get());
        slf.get().value.get(record, record.value(py), py)
    }

    #[getter]
    fn raw(slf: &Bound<'_, Self>) -> PyResult<Py<Record>> {
        Py::new(slf.py(), slf.as_super().get().same(slf.py()))
    }

    /// With bytes in place of what cannot be decoded.
    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let (py, record) = (slf.py(), slf.as_super().get());
        let key = Self::key(slf).or_else(|_| record.key(py).into_bound_py_any(py))?;
        let value = Self::value(slf).or_else(|_| record.value(py).into_bound_py_any(py))?;
        record.shown(py, &key, &value)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, this) = (slf.py(), slf.get());
        let decoders = (Self::raw(slf)?, this.key.decoder.as_ref(), this.value.decoder.as_ref());
        (slf.get_type(), decoders).into_pyobject(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.key.traverse(&visit)?;
        self.value.traverse(&visit)
    }
}

/// The records of a list with these decoders; one that has some already stays as it is.
#[pyfunction]
#[pyo3(signature = (records, key_decoder, value_decoder))]
pub fn decoded_records<'py>(
    records: &Bound<'py, PyList>,
    key_decoder: Option<&Bound<'py, PyAny>>,
    value_decoder: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let py = records.py();
    let made = PyList::empty(py);
    for record in records {
        if record.is_instance_of::<DecodedRecord>() {
            made.append(record)?;
            continue;
        }
        let decoders = [key_decoder, value_decoder].map(|decoder| decoder.cloned().map(Bound::unbind));
        let [key_decoder, value_decoder] = decoders;
        let record = record.cast::<Record>()?;
        made.append(Py::new(py, DecodedRecord::initializer(py, record.get(), key_decoder, value_decoder))?)?;
    }
    Ok(made)
}

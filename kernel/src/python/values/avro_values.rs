//! `AvroCodec`: one value at a time between Avro's bytes and Python objects.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::python::objects::input::BorrowedInput;
use crate::python::values::avro_plan::Plan;
use crate::python::values::avro_read::{Reading, to_object};
use crate::python::values::avro_write::Writing;
use crate::python::values::classes::Classes;

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct AvroCodec {
    reading: Plan,
    writing: Plan,
    classes: Classes,
}

#[pymethods]
impl AvroCodec {
    #[new]
    fn new(py: Python<'_>, reading: &str, writing: &str, duration: Py<PyAny>) -> PyResult<Self> {
        let plan = |text| Plan::new(py, text).map_err(PyValueError::new_err);
        Ok(Self { reading: plan(reading)?, writing: plan(writing)?, classes: Classes::new(py, duration)? })
    }

    /// The value of bytes behind the first `offset`. Raises: SerializationError.
    #[pyo3(signature = (data, offset=0))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        offset: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let input = BorrowedInput::of(data)?;
        let bytes = input.as_ref().get(offset..).unwrap_or_default();
        let reading = Reading { plan: &self.reading, classes: &self.classes };
        to_object(py, &reading, bytes).map_err(|error| error.into_error(py))
    }

    /// The bytes of a value, behind `header`. Raises: SerializationError.
    #[pyo3(signature = (value, header=None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        value: &Bound<'py, PyAny>,
        header: Option<&Bound<'py, PyBytes>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut output = Vec::with_capacity(256);
        output.extend_from_slice(header.map_or(&[], |header| header.as_bytes()));
        let writing = Writing { plan: &self.writing, classes: &self.classes };
        let outcome = writing.value(&self.writing.root, value, &mut output, 0);
        outcome.map_err(|error| error.into_error(py))?;
        Ok(PyBytes::new(py, &output))
    }
}

//! `take_arrow`: records of many readers as Arrow columns, built without the interpreter lock.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::{Order, Origin, RecordColumns, Source, export_array, export_schema, take_columns};
use crate::python::consume::batch_openers::PyBatchOpeners;
use crate::python::consume::reader::RecordReader;

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct ArrowRecords(Arc<RecordColumns>);

#[pymethods]
impl ArrowRecords {
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    #[getter]
    fn num_bytes(&self) -> usize {
        self.0.num_bytes()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The interface lets a producer disregard the request.
        drop(requested_schema);
        let array = PyCapsule::new_with_value(py, export_array(&self.0), c"arrow_array")?;
        Ok((self.__arrow_c_schema__(py)?, array))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, export_schema(self.0.headers.is_some()), c"arrow_schema")
    }
}

#[pyfunction]
#[pyo3(signature = (readers, max_records, *, headers=true, end_offsets=None, max_bytes=1 << 30, openers=None))]
pub fn take_arrow(
    py: Python<'_>,
    readers: Vec<Bound<'_, RecordReader>>,
    max_records: usize,
    headers: bool,
    end_offsets: Option<Vec<i64>>,
    max_bytes: usize,
    openers: Option<Bound<'_, PyBatchOpeners>>,
) -> PyResult<ArrowRecords> {
    let end_offsets = end_offsets.unwrap_or_else(|| vec![i64::MAX; readers.len()]);
    if end_offsets.len() != readers.len() {
        let message = format!("{} end offsets for {} readers", end_offsets.len(), readers.len());
        return Err(PyValueError::new_err(message));
    }
    let mut borrowed = Vec::with_capacity(readers.len());
    for reader in &readers {
        borrowed.push(reader.try_borrow_mut()?);
    }
    let mut sources = Vec::with_capacity(readers.len());
    for (reader, end_offset) in borrowed.iter_mut().zip(end_offsets) {
        let (topic, partition) = reader.place();
        let origin = Origin { topic: Arc::from(topic.bind(py).to_str()?), partition };
        let (cursor, ahead) = reader.cursor_and_ahead();
        sources.push(Source { cursor, ahead, origin, end_offset });
    }
    let order = Order { max_records, max_bytes, with_headers: headers };
    let openers = openers.as_ref().map(|openers| openers.get().threads());
    match py.detach(|| take_columns(&mut sources, &order, openers)) {
        Ok(columns) => Ok(ArrowRecords(Arc::new(columns))),
        Err((index, error)) => Err(borrowed[index].error(py, &error)),
    }
}

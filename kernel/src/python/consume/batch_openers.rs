//! `BatchOpeners`: threads that open batches, and make columns, ahead of the readers of one client.

use pyo3::prelude::*;

use crate::python::consume::reader::RecordReader;
use crate::records;

#[pyclass(name = "BatchOpeners", frozen, module = "barnabas._kernel")]
pub struct PyBatchOpeners(records::BatchOpeners);

impl PyBatchOpeners {
    pub fn threads(&self) -> &records::BatchOpeners {
        &self.0
    }
}

#[pymethods]
impl PyBatchOpeners {
    #[new]
    fn new(max_opened_bytes: usize) -> Self {
        Self(records::BatchOpeners::new(max_opened_bytes))
    }

    fn open_ahead(&self, reader: &Bound<'_, RecordReader>) -> PyResult<()> {
        reader.try_borrow_mut()?.cursor().open_ahead(&self.0);
        Ok(())
    }
}

//! `BatchBuilder`: one record batch, written record by record.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::python::objects::errors::{codec_and_level, record_too_large};
use crate::python::objects::input::{InputBytes, InputHeaders};
use crate::records::{self, NewRecord, ProducerState};

/// Lengths in a batch are of 31 bits.
pub const MAX_RECORD_BYTES: usize = (i32::MAX as usize) - 1024;

#[pyclass(name = "BatchBuilder", module = "barnabas._kernel")]
pub struct PyBatchBuilder(records::BatchBuilder);

#[pymethods]
impl PyBatchBuilder {
    #[new]
    #[pyo3(signature = (*, compression="none", compression_level=None, max_bytes=1 << 20))]
    fn new(compression: &str, compression_level: Option<i32>, max_bytes: usize) -> PyResult<Self> {
        let (codec, level) = codec_and_level(compression, compression_level)?;
        Ok(Self(records::BatchBuilder::new(codec, level, max_bytes.min(MAX_RECORD_BYTES))))
    }

    #[pyo3(signature = (timestamp, key, value, headers=InputHeaders::None))]
    fn append(
        &mut self,
        py: Python<'_>,
        timestamp: i64,
        key: Option<InputBytes>,
        value: Option<InputBytes>,
        headers: InputHeaders,
    ) -> PyResult<bool> {
        let record = NewRecord::new(
            timestamp,
            key.as_ref().map(AsRef::as_ref),
            value.as_ref().map(AsRef::as_ref),
            headers.as_ref(),
        );
        if record.max_size() > MAX_RECORD_BYTES {
            let message = format!("a record of {} bytes fits into no batch", record.max_size());
            return Err(record_too_large(py, message));
        }
        Ok(self.0.append(&record))
    }

    #[getter]
    fn record_count(&self) -> usize {
        self.0.record_count()
    }

    #[getter]
    fn size(&self) -> usize {
        self.0.size()
    }

    #[pyo3(signature = (*, base_offset=0, leader_epoch=-1, producer_id=-1, producer_epoch=-1, base_sequence=-1, is_transactional=false, is_control=false))]
    #[expect(clippy::too_many_arguments, reason = "the fields of a batch's header, as keywords")]
    fn build<'py>(
        &self,
        py: Python<'py>,
        base_offset: i64,
        leader_epoch: i32,
        producer_id: i64,
        producer_epoch: i16,
        base_sequence: i32,
        is_transactional: bool,
        is_control: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        if self.0.record_count() == 0 {
            return Err(PyValueError::new_err("a batch needs at least one record"));
        }
        let producer = ProducerState { producer_id, producer_epoch, base_sequence, is_transactional };
        let mut sealed = py.detach(|| self.0.clone().seal());
        Ok(PyBytes::new(py, sealed.encode(&producer, base_offset, leader_epoch, is_control)))
    }
}

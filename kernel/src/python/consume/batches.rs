//! What a broker needs of batches: headers, time lookups, offsets, compaction.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::compaction;
use crate::error::is_too_large;
use crate::python::objects::errors::to_corrupt_batch;
use crate::python::objects::input::InputBytes;
use crate::records::{self, BatchSummary, Limits, RecordPosition};

/// Limits for data that a broker has checked when it took it in.
const TRUSTED: Limits = Limits { check_crcs: false, max_decompressed_bytes: 1 << 30 };

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct BatchInfo(BatchSummary);

#[pymethods]
impl BatchInfo {
    #[getter]
    fn position(&self) -> usize {
        self.0.position
    }
    #[getter]
    fn size(&self) -> usize {
        self.0.size
    }
    #[getter]
    fn base_offset(&self) -> i64 {
        self.0.base_offset
    }
    #[getter]
    fn last_offset(&self) -> i64 {
        self.0.last_offset
    }
    #[getter]
    fn leader_epoch(&self) -> i32 {
        self.0.leader_epoch
    }
    #[getter]
    fn magic(&self) -> u8 {
        self.0.magic
    }
    #[getter]
    fn compression(&self) -> &'static str {
        self.0.compression.name()
    }
    #[getter]
    fn timestamp_type(&self) -> i32 {
        self.0.timestamp_type
    }
    #[getter]
    fn is_transactional(&self) -> bool {
        self.0.is_transactional
    }
    #[getter]
    fn is_control(&self) -> bool {
        self.0.is_control
    }
    #[getter]
    fn base_timestamp(&self) -> i64 {
        self.0.base_timestamp
    }
    #[getter]
    fn max_timestamp(&self) -> i64 {
        self.0.max_timestamp
    }
    #[getter]
    fn producer_id(&self) -> i64 {
        self.0.producer_id
    }
    #[getter]
    fn producer_epoch(&self) -> i16 {
        self.0.producer_epoch
    }
    #[getter]
    fn base_sequence(&self) -> i32 {
        self.0.base_sequence
    }
    #[getter]
    fn record_count(&self) -> i32 {
        self.0.record_count
    }
    #[getter]
    fn earliest_timestamp(&self) -> i64 {
        self.0.earliest_timestamp
    }
    #[getter]
    fn latest_timestamp(&self) -> i64 {
        self.0.latest_timestamp
    }
    #[getter]
    fn has_all_keys(&self) -> bool {
        self.0.has_all_keys
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0).replacen("BatchSummary", "BatchInfo", 1)
    }
}

#[pyfunction]
#[pyo3(signature = (data, *, check_crcs=false, check_records=false, max_decompressed_bytes=1 << 30))]
pub fn scan_batches(
    py: Python<'_>,
    data: InputBytes,
    check_crcs: bool,
    check_records: bool,
    max_decompressed_bytes: usize,
) -> PyResult<Vec<BatchInfo>> {
    let limits = Limits { check_crcs, max_decompressed_bytes };
    let summaries = py
        .detach(|| records::scan_batches(data.as_ref(), &limits, check_records))
        .map_err(to_corrupt_batch(py))?;
    Ok(summaries.into_iter().map(BatchInfo).collect())
}

#[pyfunction]
#[pyo3(signature = (data, *, max_decompressed_bytes))]
pub fn check_batches(
    py: Python<'_>,
    data: InputBytes,
    max_decompressed_bytes: usize,
) -> PyResult<Option<Vec<BatchInfo>>> {
    let limits = Limits { check_crcs: true, max_decompressed_bytes };
    // What is not compressed takes as many.
    if data.as_ref().len() > max_decompressed_bytes {
        return Ok(None);
    }
    match py.detach(|| records::scan_batches(data.as_ref(), &limits, true)) {
        Ok(summaries) => Ok(Some(summaries.into_iter().map(BatchInfo).collect())),
        Err(corrupt) if is_too_large(&corrupt.reason) => Ok(None),
        Err(corrupt) => Err(to_corrupt_batch(py)(corrupt)),
    }
}

#[pyfunction]
pub fn with_max_timestamp<'py>(
    py: Python<'py>,
    data: InputBytes,
    max_timestamp: i64,
) -> PyResult<Bound<'py, PyBytes>> {
    let changed = py
        .detach(|| records::with_max_timestamp(data.as_ref(), max_timestamp))
        .map_err(to_corrupt_batch(py))?;
    Ok(PyBytes::new(py, &changed))
}

fn position_tuple(position: RecordPosition) -> (i64, i64, i32) {
    (position.offset, position.timestamp, position.leader_epoch)
}

#[pyfunction]
#[pyo3(signature = (data, timestamp, *, from_offset=0, max_decompressed_bytes=1 << 30))]
pub fn find_batch_offset_for_timestamp(
    py: Python<'_>,
    data: InputBytes,
    timestamp: i64,
    from_offset: i64,
    max_decompressed_bytes: usize,
) -> PyResult<Option<(i64, i64, i32)>> {
    let limits = Limits { max_decompressed_bytes, ..TRUSTED };
    let found = py.detach(|| records::find_first_at_or_after(data.as_ref(), timestamp, from_offset, &limits));
    Ok(found.map_err(to_corrupt_batch(py))?.map(position_tuple))
}

#[pyfunction]
pub fn find_max_timestamp(py: Python<'_>, data: InputBytes) -> PyResult<Option<(i64, i64, i32)>> {
    let found = py.detach(|| records::find_max_timestamp(data.as_ref(), &TRUSTED));
    Ok(found.map_err(to_corrupt_batch(py))?.map(position_tuple))
}

#[pyfunction]
#[pyo3(signature = (data, base_offset, leader_epoch, *, log_append_time=None))]
pub fn stamp_batches<'py>(
    py: Python<'py>,
    data: InputBytes,
    base_offset: i64,
    leader_epoch: i32,
    log_append_time: Option<i64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let stamped = py
        .detach(|| records::stamp_batches(data.as_ref(), base_offset, leader_epoch, log_append_time))
        .map_err(to_corrupt_batch(py))?;
    Ok(PyBytes::new(py, &stamped))
}

#[pyfunction]
#[pyo3(signature = (set, *, max_decompressed_bytes=1 << 30))]
pub fn convert_to_current<'py>(
    py: Python<'py>,
    set: InputBytes,
    max_decompressed_bytes: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let limits = Limits { check_crcs: true, max_decompressed_bytes };
    let batch =
        py.detach(|| records::convert_to_current(set.as_ref(), &limits)).map_err(to_corrupt_batch(py))?;
    Ok(PyBytes::new(py, &batch))
}

#[pyfunction]
#[pyo3(signature = (batches, magic, *, first_offset))]
pub fn convert_to_old<'py>(
    py: Python<'py>,
    batches: InputBytes,
    magic: u8,
    first_offset: i64,
) -> PyResult<Bound<'py, PyBytes>> {
    if magic > 1 {
        return Err(PyValueError::new_err(format!("magic={magic}: the old formats are 0 and 1")));
    }
    let set = py
        .detach(|| records::convert_to_old(batches.as_ref(), magic, first_offset, &TRUSTED))
        .map_err(to_corrupt_batch(py))?;
    Ok(PyBytes::new(py, &set))
}

#[pyclass(name = "KeyOffsets", module = "barnabas._kernel")]
#[derive(Default)]
pub struct PyKeyOffsets(compaction::KeyOffsets);

#[pymethods]
impl PyKeyOffsets {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn add(&mut self, py: Python<'_>, data: InputBytes) -> PyResult<()> {
        let keys = &mut self.0;
        py.detach(|| keys.add(data.as_ref(), &TRUSTED)).map_err(to_corrupt_batch(py))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

#[pyclass(name = "LogCleaner", module = "barnabas._kernel")]
pub struct PyLogCleaner(compaction::LogCleaner);

#[pymethods]
impl PyLogCleaner {
    #[new]
    #[pyo3(signature = (*, now_ms, delete_retention_ms, last_batches, aborted))]
    fn new(
        now_ms: i64,
        delete_retention_ms: i64,
        last_batches: HashMap<i64, (Option<i64>, i16)>,
        aborted: Vec<(i64, i64, i64)>,
    ) -> Self {
        let last_batches = last_batches
            .into_iter()
            .map(|(producer_id, (last_offset, epoch))| {
                (producer_id, compaction::LastBatch { last_offset, epoch })
            })
            .collect();
        let aborted = aborted.into_iter().map(|(producer_id, first_offset, last_offset)| {
            compaction::AbortedTransaction { producer_id, first_offset, last_offset }
        });
        Self(compaction::LogCleaner::new(now_ms, delete_retention_ms, last_batches, aborted))
    }

    fn decided<'py>(&self, py: Python<'py>, data: InputBytes) -> PyResult<Bound<'py, PyBytes>> {
        let cleaner = &self.0;
        let decided = py.detach(|| cleaner.decided(data.as_ref())).map_err(to_corrupt_batch(py))?;
        Ok(PyBytes::new(py, &decided))
    }

    fn clean<'py>(
        &mut self,
        py: Python<'py>,
        data: InputBytes,
        keys: PyRef<'_, PyKeyOffsets>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (cleaner, keys) = (&mut self.0, &keys.0);
        let cleaned =
            py.detach(|| cleaner.clean(data.as_ref(), keys, &TRUSTED)).map_err(to_corrupt_batch(py))?;
        Ok(PyBytes::new(py, &cleaned))
    }
}

#[pyfunction]
#[pyo3(signature = (data, keys, *, keep_tombstones_from))]
pub fn compact_batches<'py>(
    py: Python<'py>,
    data: InputBytes,
    keys: PyRef<'_, PyKeyOffsets>,
    keep_tombstones_from: i64,
) -> PyResult<Bound<'py, PyBytes>> {
    let keys = &keys.0;
    let compacted = py
        .detach(|| compaction::compact_batches(data.as_ref(), keys, keep_tombstones_from, &TRUSTED))
        .map_err(to_corrupt_batch(py))?;
    Ok(PyBytes::new(py, &compacted))
}

//! Checksums, key hashes and codecs as functions.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::checksums;
use crate::error::CorruptBatch;
use crate::python::objects::errors::{codec_and_level, compression_by_name, to_corrupt_batch};
use crate::python::objects::input::InputBytes;

#[pyfunction]
#[pyo3(signature = (data, value=0))]
pub fn crc32c(py: Python<'_>, data: InputBytes, value: u32) -> u32 {
    py.detach(|| checksums::crc32c(data.as_ref(), value))
}

#[pyfunction]
pub fn crc32(py: Python<'_>, data: InputBytes) -> u32 {
    py.detach(|| checksums::crc32(data.as_ref()))
}

#[pyfunction]
pub fn murmur2(data: InputBytes) -> i32 {
    checksums::murmur2(data.as_ref())
}

#[pyfunction]
pub fn fnv1a(data: InputBytes) -> u32 {
    checksums::fnv1a(data.as_ref())
}

#[pyfunction]
#[pyo3(signature = (codec, data, level=None))]
pub fn compress<'py>(
    py: Python<'py>,
    codec: &str,
    data: InputBytes,
    level: Option<i32>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (codec, level) = codec_and_level(codec, level)?;
    let mut output = Vec::new();
    py.detach(|| codec.compress(data.as_ref(), level, &mut output));
    Ok(PyBytes::new(py, &output))
}

#[pyfunction]
#[pyo3(signature = (codec, data, max_decompressed_bytes=1 << 30))]
pub fn decompress<'py>(
    py: Python<'py>,
    codec: &str,
    data: InputBytes,
    max_decompressed_bytes: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let codec = compression_by_name(codec)?;
    let output = py
        .detach(|| codec.decompress(data.as_ref(), max_decompressed_bytes))
        .map_err(|reason| CorruptBatch::new(-1, reason))
        .map_err(to_corrupt_batch(py))?;
    Ok(PyBytes::new(py, &output))
}

//! Errors of the kernel as exceptions of `barnabas.errors`, which is imported when the first is raised.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyType};

use crate::compression::Compression;
use crate::error::CorruptBatch;

const ERRORS: &str = "barnabas.errors";

/// `CorruptBatchError`, naming the partition if the batch came from one.
pub fn corrupt_batch(py: Python<'_>, error: &CorruptBatch, place: Option<(&Py<PyString>, i32)>) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let (topic, partition) = place.unzip();
    match CLASS.import(py, ERRORS, "CorruptBatchError") {
        Ok(class) => match class.call1((error.reason.as_ref(), topic, partition, error.offset)) {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        },
        Err(error) => error,
    }
}

/// For use in `map_err`, where no partition is known.
pub fn to_corrupt_batch(py: Python<'_>) -> impl Fn(CorruptBatch) -> PyErr {
    move |error| corrupt_batch(py, &error, None)
}

pub fn record_too_large(py: Python<'_>, message: String) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    error_with_message(py, &CLASS, "RecordTooLargeError", message)
}

pub fn invalid_record(py: Python<'_>, message: String) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    error_with_message(py, &CLASS, "UnusableRecordError", message)
}

pub fn no_such_partition(py: Python<'_>, message: String) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    error_with_message(py, &CLASS, "NoSuchPartitionError", message)
}

pub fn error_with_message(
    py: Python<'_>,
    class: &'static PyOnceLock<Py<PyType>>,
    name: &str,
    message: String,
) -> PyErr {
    match class.import(py, ERRORS, name) {
        Ok(class) => PyErr::from_type(class.clone(), message),
        Err(error) => error,
    }
}

pub fn compression_by_name(name: &str) -> PyResult<Compression> {
    Compression::from_name(name).ok_or_else(|| {
        PyValueError::new_err(format!("unknown compression {name:?}; there are {}", Compression::NAMES))
    })
}

/// The codec, and the level if it is one that the codec has.
pub fn codec_and_level(name: &str, level: Option<i32>) -> PyResult<(Compression, Option<i32>)> {
    let codec = compression_by_name(name)?;
    if let (Some(level), Some(levels)) = (level, codec.levels()) {
        if !levels.contains(&level) {
            return Err(PyValueError::new_err(format!(
                "compression level {level} of {name} is not between {} and {}",
                levels.start(),
                levels.end()
            )));
        }
    }
    Ok((codec, level))
}

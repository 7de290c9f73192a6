//! Taking Arrow data from Python: the capsules of the PyCapsule interface, one record batch at a time.

#![allow(unsafe_code)]

use std::ffi::CStr;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::arrow::ffi::{ArrowArray, ArrowArrayStream, ArrowSchema};
use crate::arrow::{ImportError, RowBatch, RowSchema};
use crate::python::objects::errors::invalid_record;

/// For use in `map_err`.
fn to_invalid_record(py: Python<'_>) -> impl Fn(ImportError) -> PyErr {
    move |error| invalid_record(py, error.0)
}

/// The record batches of a table, a record batch or a stream.
pub enum RowBatches {
    Stream { stream: ArrowArrayStream, schema: RowSchema },
    Single(Box<Option<RowBatch>>),
}

impl RowBatches {
    pub fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = data.py();
        if data.hasattr(intern!(py, "__arrow_c_stream__"))? {
            let capsule = data.call_method0(intern!(py, "__arrow_c_stream__"))?;
            let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array_stream"))?;
            // SAFETY: a capsule of this name holds such a struct, and is ours alone.
            let mut stream = unsafe { ArrowArrayStream::take(pointer.as_ptr().cast()) };
            let schema = stream_schema(py, &mut stream)?;
            let schema = RowSchema::new(&schema).map_err(to_invalid_record(py))?;
            return Ok(Self::Stream { stream, schema });
        }
        if data.hasattr(intern!(py, "__arrow_c_array__"))? {
            let capsules = data.call_method0(intern!(py, "__arrow_c_array__"))?.cast_into::<PyTuple>()?;
            let (schema, array) = (capsules.get_item(0)?, capsules.get_item(1)?);
            let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_schema"))?;
            let array = array.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array"))?;
            // SAFETY: capsules of these names hold such structs, and are ours alone.
            let (schema, array) = unsafe {
                (ArrowSchema::take(schema.as_ptr().cast()), ArrowArray::take(array.as_ptr().cast()))
            };
            let schema = RowSchema::new(&schema).map_err(to_invalid_record(py))?;
            let batch = RowBatch::new(&schema, array).map_err(to_invalid_record(py))?;
            return Ok(Self::Single(Box::new(Some(batch))));
        }
        let name = data.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "{name} is not Arrow data: it has neither __arrow_c_stream__ nor __arrow_c_array__"
        )))
    }

    /// The next record batch. Called with the interpreter lock held, since a stream may be made of Python.
    pub fn next(&mut self, py: Python<'_>) -> PyResult<Option<RowBatch>> {
        match self {
            Self::Single(batch) => Ok(batch.take()),
            Self::Stream { stream, schema } => {
                let mut array = ArrowArray::released();
                let get_next = stream.get_next.ok_or_else(|| released_stream(py))?;
                // SAFETY: the stream is not released, and the array is there to be written to.
                let code = unsafe { get_next(stream, &mut array) };
                if code != 0 {
                    return Err(stream_error(py, stream, code));
                }
                if array.release.is_none() {
                    return Ok(None);
                }
                RowBatch::new(schema, array).map(Some).map_err(to_invalid_record(py))
            }
        }
    }
}

fn released_stream(py: Python<'_>) -> PyErr {
    invalid_record(py, "the Arrow stream was read before".to_owned())
}

fn stream_schema(py: Python<'_>, stream: &mut ArrowArrayStream) -> PyResult<ArrowSchema> {
    let mut schema = ArrowSchema::released();
    let get_schema =
        stream.get_schema.filter(|_| stream.release.is_some()).ok_or_else(|| released_stream(py))?;
    // SAFETY: the stream is not released, and the schema is there to be written to.
    let code = unsafe { get_schema(stream, &mut schema) };
    if code != 0 {
        return Err(stream_error(py, stream, code));
    }
    Ok(schema)
}

fn stream_error(py: Python<'_>, stream: &mut ArrowArrayStream, code: i32) -> PyErr {
    let mut message = format!("error {code}");
    if let Some(get_last_error) = stream.get_last_error {
        // SAFETY: the stream is not released; the string, if there is one, lives until its next call.
        unsafe {
            let text = get_last_error(stream);
            if !text.is_null() {
                message = CStr::from_ptr(text).to_string_lossy().into_owned();
            }
        }
    }
    invalid_record(py, format!("the Arrow stream cannot be read: {message}"))
}

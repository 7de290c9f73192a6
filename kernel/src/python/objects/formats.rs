//! `Format`: columns of bytes into columns of types and back, without the interpreter lock.

#![allow(unsafe_code)]

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PyTuple};

use crate::arrow::ffi::{ArrowArray, ArrowSchema};
use crate::arrow::tree::Column;
use crate::arrow::{DataType, ImportError, Imported, export_tree};
use crate::formats::{self, Decoded, Framing, SchemaKey, Writer, Writers};

fn to_value_error(error: ImportError) -> PyErr {
    PyValueError::new_err(error.0)
}

/// The type that anything with `__arrow_c_schema__` describes.
fn data_type_of(object: &Bound<'_, PyAny>) -> PyResult<DataType> {
    let capsule = object.call_method0(intern!(object.py(), "__arrow_c_schema__"))?;
    data_type_in(&capsule)
}

fn data_type_in(capsule: &Bound<'_, PyAny>) -> PyResult<DataType> {
    let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_schema"))?;
    // SAFETY: a capsule of this name holds such a struct, and is ours alone.
    let schema = unsafe { ArrowSchema::take(pointer.as_ptr().cast()) };
    DataType::new(&schema).map_err(to_value_error)
}

/// An array of one of these types.
fn import(array: &Bound<'_, PyAny>, types: &[&DataType]) -> PyResult<Imported> {
    let capsules = array.call_method0(intern!(array.py(), "__arrow_c_array__"))?.cast_into::<PyTuple>()?;
    let found = data_type_in(&capsules.get_item(0)?)?;
    if !types.contains(&&found) {
        return Err(PyValueError::new_err(format!("the array is of type {found:?}, not {:?}", types[0])));
    }
    let capsule = capsules.get_item(1)?;
    let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array"))?;
    // SAFETY: as above.
    let array = unsafe { ArrowArray::take(pointer.as_ptr().cast()) };
    Imported::new("value", &found, array).map_err(to_value_error)
}

/// A column, of a type that is a Python object too.
#[pyclass(frozen, module = "barnabas._kernel")]
pub struct ArrowColumn {
    column: Arc<Column>,
    data_type: Py<PyAny>,
}

#[pymethods]
impl ArrowColumn {
    fn __len__(&self) -> usize {
        self.column.rows()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyCapsule>)> {
        // The interface lets a producer disregard the request.
        drop(requested_schema);
        let schema = self.data_type.bind(py).call_method0(intern!(py, "__arrow_c_schema__"))?;
        Ok((schema, PyCapsule::new_with_value(py, export_tree(&self.column), c"arrow_array")?))
    }
}

#[pyclass(name = "Format", frozen, module = "barnabas._kernel")]
pub struct PyFormat {
    format: formats::Format,
    data_type: Py<PyAny>,
    error_type: Py<PyAny>,
    bytes_type: Py<PyAny>,
}

#[pymethods]
impl PyFormat {
    #[new]
    #[pyo3(signature = (name, data_type, error_type, bytes_type, *, plan="", has_header=false, schema_id=None, message_index=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        name: &str,
        data_type: Bound<'_, PyAny>,
        error_type: Bound<'_, PyAny>,
        bytes_type: Bound<'_, PyAny>,
        plan: &str,
        has_header: bool,
        schema_id: Option<u32>,
        message_index: Option<Vec<i32>>,
    ) -> PyResult<Self> {
        let expected = [(&error_type, formats::error_type()), (&bytes_type, DataType::Binary)];
        for (object, expected) in expected {
            if data_type_of(object)? != expected {
                return Err(PyValueError::new_err(format!("{object} is not {expected:?}")));
            }
        }
        let framing =
            if has_header { Framing::Confluent { schema_id, message_index } } else { Framing::None };
        let format = formats::Format::new(name, data_type_of(&data_type)?, plan, framing);
        Ok(Self {
            format: format.map_err(PyValueError::new_err)?,
            data_type: data_type.unbind(),
            error_type: error_type.unbind(),
            bytes_type: bytes_type.unbind(),
        })
    }

    #[pyo3(signature = (values, *, stop_at_error=false))]
    fn decode(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        stop_at_error: bool,
    ) -> PyResult<(ArrowColumn, ArrowColumn)> {
        let values = import(values, &[&DataType::Binary, &DataType::Utf8])?;
        let decoded = py.detach(|| {
            let decoded = self.format.decode(&values, stop_at_error);
            drop(values);
            decoded
        });
        Ok(self.columns(py, decoded.map_err(to_value_error)?))
    }

    #[pyo3(signature = (values, writers, *, headers=None, stop_at_error=false))]
    fn decode_by_schema(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        writers: &Bound<'_, PyDict>,
        headers: Option<&Bound<'_, PyAny>>,
        stop_at_error: bool,
    ) -> PyResult<(ArrowColumn, ArrowColumn)> {
        let values = import(values, &[&DataType::Binary])?;
        let headers = headers_of(headers, &values)?;
        let mut given = Vec::new();
        for (key, writer) in writers.iter() {
            let writer = match writer.cast::<PyFormat>() {
                Ok(format) => Ok(format.clone().unbind()),
                Err(_) => Err(writer.extract::<String>()?),
            };
            given.push((key.extract::<KeyOfSchema>()?.key()?, writer));
        }
        let mut found = Writers::new();
        for (key, writer) in &given {
            let writer = match writer {
                Ok(format) => Writer::Known(&format.get().format),
                Err(reason) => Writer::Refused(reason.clone()),
            };
            if let Writer::Known(format) = &writer
                && format.data_type() != self.format.data_type()
            {
                return Err(PyValueError::new_err("a writer's format gives another type"));
            }
            found.insert(*key, writer);
        }
        let decoded = py.detach(|| {
            let data_type = self.format.data_type();
            let decoded =
                formats::decode_by_schema(data_type, &values, headers.as_deref(), &found, stop_at_error);
            drop((values, headers));
            decoded
        });
        Ok(self.columns(py, decoded.map_err(to_value_error)?))
    }

    fn encode(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<EncodeResult> {
        let values = import(values, &[self.format.data_type()])?;
        let encoded = py.detach(|| {
            let encoded = self.format.encode(&values);
            drop(values);
            encoded
        });
        Ok(match encoded {
            Ok(column) => {
                let data_type = self.bytes_type.clone_ref(py);
                (Some(ArrowColumn { column: Arc::new(column), data_type }), None)
            }
            Err((row, failure)) => {
                (None, Some((row, failure.path().to_string(), failure.message().to_string())))
            }
        })
    }
}

impl PyFormat {
    fn columns(&self, py: Python<'_>, decoded: Decoded) -> (ArrowColumn, ArrowColumn) {
        let of_type = |column, data_type: &Py<PyAny>| ArrowColumn {
            column: Arc::new(column),
            data_type: data_type.clone_ref(py),
        };
        (of_type(decoded.column, &self.data_type), of_type(decoded.errors, &self.error_type))
    }
}

/// A schema's id, or the sixteen bytes of its guid.
#[derive(FromPyObject)]
enum KeyOfSchema {
    Id(u32),
    Guid(Vec<u8>),
}

impl KeyOfSchema {
    fn key(self) -> PyResult<SchemaKey> {
        Ok(match self {
            Self::Id(id) => SchemaKey::Id(id),
            Self::Guid(guid) => SchemaKey::Guid(
                guid.try_into().map_err(|_| PyValueError::new_err("a guid has sixteen bytes"))?,
            ),
        })
    }
}

/// Headers of records, one for each value.
fn headers_of(headers: Option<&Bound<'_, PyAny>>, values: &Imported) -> PyResult<Option<Imported>> {
    let Some(headers) = headers else { return Ok(None) };
    let headers = import(headers, &[&DataType::Binary])?;
    if headers.len() != values.len() {
        return Err(PyValueError::new_err(format!("{} headers for {} values", headers.len(), values.len())));
    }
    Ok(Some(headers))
}

/// The schemas that values name before them or in `headers`, each once.
#[pyfunction]
#[pyo3(signature = (values, headers=None))]
pub fn schema_keys<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    headers: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let values = import(values, &[&DataType::Binary])?;
    let headers = headers_of(headers, &values)?;
    let found = py.detach(|| {
        let found = formats::schema_keys(&values, headers.as_deref());
        drop((values, headers));
        found
    });
    let list = PyList::empty(py);
    for key in found.map_err(to_value_error)? {
        match key {
            SchemaKey::Id(id) => list.append(id)?,
            SchemaKey::Guid(guid) => list.append(PyBytes::new(py, &guid))?,
        }
    }
    Ok(list)
}

/// The bytes, or row, field and reason of the first value that has none.
type EncodeResult = (Option<ArrowColumn>, Option<(usize, String, String)>);

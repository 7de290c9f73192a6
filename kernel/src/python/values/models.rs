//! The fields of records, whatever they are in: a dict, another mapping, an instance of a dataclass or of a
//! Pydantic model.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};

use crate::python::values::outcome::Done;

/// None where it has no fields.
pub fn fields_of<'py>(value: &Bound<'py, PyAny>) -> Done<Option<Bound<'py, PyDict>>> {
    if let Ok(fields) = value.cast::<PyDict>() {
        return Ok(Some(fields.clone()));
    }
    let py = value.py();
    if let Some(names) = model_fields(value)? {
        if !has_slots(value)? {
            if let Ok(fields) = value.getattr(intern!(py, "__dict__"))?.cast_into::<PyDict>() {
                return Ok(Some(fields));
            }
        }
        let fields = PyDict::new(py);
        for name in names.try_iter()? {
            let name = name?;
            fields.set_item(&name, value.getattr(name.str()?)?)?;
        }
        return Ok(Some(fields));
    }
    let Ok(mapping) = value.cast::<PyMapping>() else { return Ok(None) };
    let copy = PyDict::new(py);
    for pair in mapping.items()?.iter() {
        let (key, part): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        copy.set_item(key, part)?;
    }
    Ok(Some(copy))
}

/// Of an instance of a dataclass or of a Pydantic model: what has the names of its fields.
fn model_fields<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (py, kind) = (value.py(), value.get_type());
    match kind.getattr_opt(intern!(py, "__dataclass_fields__"))? {
        Some(fields) => Ok(Some(fields)),
        None => kind.getattr_opt(intern!(py, "__pydantic_fields__")),
    }
}

/// Whether fields may be elsewhere than in `__dict__`.
fn has_slots(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = value.py();
    let kind = value.get_type();
    Ok(kind.hasattr(intern!(py, "__slots__"))? && !kind.hasattr(intern!(py, "__pydantic_fields__"))?)
}

/// Of an instance of a dataclass or of a Pydantic model, what its class is called.
pub fn model_name(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    match model_fields(value)? {
        None => Ok(None),
        Some(_) => Ok(Some(value.get_type().name()?.to_string())),
    }
}

//! `Class[item]`, for the annotations of programs: what `types.GenericAlias` makes.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;

pub fn generic_alias<'py>(
    class: &Bound<'py, PyType>,
    item: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    py.import(intern!(py, "types"))?.getattr(intern!(py, "GenericAlias"))?.call1((class, item))
}

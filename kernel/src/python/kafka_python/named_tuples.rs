//! Objects of Python's `namedtuple` classes, made by the million without calling them.

#![allow(unsafe_code)]

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// A class that has fields and no state besides: what `namedtuple` makes, and subclasses with empty `__slots__`.
pub struct NamedTupleClass(Py<PyType>);

impl NamedTupleClass {
    /// TypeError for a class that is no tuple.
    pub fn of(class: &Bound<'_, PyType>) -> PyResult<Self> {
        if !class.is_subclass_of::<PyTuple>()? {
            return Err(PyTypeError::new_err("a class of named tuples is needed"));
        }
        Ok(Self(class.clone().unbind()))
    }

    /// An object with these fields, in their order. Neither `__new__` nor `__init__` is called.
    pub fn make<'py, const N: usize>(
        &self,
        py: Python<'py>,
        fields: [Bound<'py, PyAny>; N],
    ) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the class is a subclass of tuple, so its objects are allocated with a number of items, all of which
        // are set before anyone else sees the object. The items' references are given away.
        unsafe {
            let object = ffi::PyType_GenericAlloc(self.0.as_ptr().cast(), N as ffi::Py_ssize_t);
            let object = Bound::from_owned_ptr_or_err(py, object)?;
            for (index, field) in fields.into_iter().enumerate() {
                if ffi::PyTuple_SetItem(object.as_ptr(), index as ffi::Py_ssize_t, field.into_ptr()) != 0 {
                    return Err(PyErr::fetch(py));
                }
            }
            Ok(object)
        }
    }
}

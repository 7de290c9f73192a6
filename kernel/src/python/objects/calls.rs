//! Calls of functions of Python that are made by the million.

#![allow(unsafe_code)]

use pyo3::ffi;
use pyo3::prelude::*;

/// `callable(argument)`, without a tuple for the argument.
pub fn call_with_one<'py>(
    py: Python<'py>,
    callable: &Py<PyAny>,
    argument: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let end = std::ptr::null_mut::<ffi::PyObject>();
    // SAFETY: as below.
    unsafe {
        let result = ffi::PyObject_CallFunctionObjArgs(callable.as_ptr(), argument.as_ptr(), end);
        Bound::from_owned_ptr_or_err(py, result)
    }
}

/// `callable(first, second)`, without a tuple for the arguments.
pub fn call_with_two(
    py: Python<'_>,
    callable: &Py<PyAny>,
    first: &Py<PyAny>,
    second: &Py<PyAny>,
) -> PyResult<Py<PyAny>> {
    let end = std::ptr::null_mut::<ffi::PyObject>();
    // SAFETY: the objects are alive and the interpreter lock is held; NULL ends the arguments. The result is a new
    // reference, or NULL with an exception set.
    unsafe {
        let (callable, first, second) = (callable.as_ptr(), first.as_ptr(), second.as_ptr());
        let result = ffi::PyObject_CallFunctionObjArgs(callable, first, second, end);
        Bound::from_owned_ptr_or_err(py, result).map(Bound::unbind)
    }
}

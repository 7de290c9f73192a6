//! Methods that read their arguments where the interpreter has put them. pyo3 has a tuple and a dictionary made for
//! each call of a method that is to hear of names that it has no parameter for.

#![allow(unsafe_code)]

use std::ffi::CStr;

use pyo3::impl_::trampoline::{MethodDef, fastcall_cfunction_with_keywords};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use pyo3::{Borrowed, PyClass, ffi};

/// The arguments of one call.
pub struct Arguments<'a, 'py> {
    py: Python<'py>,
    /// Those by position, then those by name. The caller's references, which outlive the call.
    values: &'a [*mut ffi::PyObject],
    pub positional: usize,
    names: Option<Borrowed<'a, 'py, PyTuple>>,
}

impl<'a, 'py> Arguments<'a, 'py> {
    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn get(&self, place: usize) -> Borrowed<'a, 'py, PyAny> {
        // SAFETY: the interpreter gives objects, which live as long as the call.
        unsafe { Borrowed::from_ptr(self.py, self.values[place]) }
    }

    pub fn by_name(&self) -> impl Iterator<Item = (Bound<'py, PyString>, Borrowed<'a, 'py, PyAny>)> {
        let names = self.names.iter().flat_map(|names| names.iter());
        // The interpreter has no names but texts.
        let names = names.filter_map(|name| name.cast_into::<PyString>().ok());
        names.enumerate().map(|(index, name)| (name, self.get(self.positional + index)))
    }
}

/// A method of a class, to be added to it before its first object is made.
pub trait FastMethod: 'static {
    type Class: PyClass;
    const NAME: &'static CStr;
    /// Its signature and its text, as CPython has them in one: `name($self, first)\n--\n\ntext`.
    const DOCUMENTATION: &'static CStr;

    fn call(slf: &Bound<'_, Self::Class>, arguments: &Arguments<'_, '_>) -> PyResult<Py<PyAny>>;
}

struct Called<M>(M);

impl<M: FastMethod> MethodDef<fastcall_cfunction_with_keywords::Func> for Called<M> {
    const METH: fastcall_cfunction_with_keywords::Func = call::<M>;
}

/// # Safety
///
/// As the interpreter calls what is METH_FASTCALL | METH_KEYWORDS.
unsafe fn call<M: FastMethod>(
    py: Python<'_>,
    slf: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    positional: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> PyResult<*mut ffi::PyObject> {
    // SAFETY: a descriptor calls its function with objects of its class only. There are as many arguments as are
    // counted and have names, all of them objects that the caller keeps for the time of the call; without any the
    // pointer may be null. Names are a tuple, or null.
    let (slf, arguments) = unsafe {
        let slf = Borrowed::from_ptr(py, slf).cast_unchecked::<M::Class>();
        let positional = positional as usize;
        let names = Borrowed::from_ptr_or_opt(py, names).map(|names| names.cast_unchecked::<PyTuple>());
        let count = positional + names.map_or(0, |names| names.len());
        let values = if count == 0 { &[] } else { std::slice::from_raw_parts(arguments, count) };
        (slf, Arguments { py, values, positional, names })
    };
    M::call(&slf, &arguments).map(Py::into_ptr)
}

/// Adds the method to its class, for the life of the process.
pub fn add<M: FastMethod>(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<M::Class>();
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: M::NAME.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer {
            PyCFunctionFastWithKeywords: fastcall_cfunction_with_keywords::<Called<M>>,
        },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: M::DOCUMENTATION.as_ptr(),
    }));
    // SAFETY: the definition stays for ever, and says how its function is to be called. The result is a new reference,
    // or NULL with an exception set.
    let descriptor =
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyDescr_NewMethod(class.as_type_ptr(), definition))? };
    class.setattr(descriptor.getattr(intern!(py, "__name__"))?.cast_into::<PyString>()?, descriptor)
}

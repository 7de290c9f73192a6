//! Objects that are made by the million. What PyO3 does to make one of any class takes longer than all else about a
//! record, and the garbage collector would look again and again at objects that lead nowhere.

#![allow(unsafe_code)]

use pyo3::PyClass;
use pyo3::ffi;
use pyo3::impl_::pyclass::PyClassImpl;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;

/// An object of a class that takes no part in garbage collection.
#[inline]
pub fn new_plain<T: PyClass<Frozen = True>>(py: Python<'_>, value: T) -> PyResult<Py<T>> {
    // SAFETY: this allocates an object of the class as its `tp_free` frees it.
    unsafe { initialized(py, ffi::PyObject_New(T::type_object_raw(py)), value) }
}

/// An object of a class that takes part in garbage collection, though the collector passes over this one until it is
/// tracked (`PyObject_GC_Track`).
#[inline]
pub fn new_untracked<T: PyClass<Frozen = True>>(py: Python<'_>, value: T) -> PyResult<Py<T>> {
    // SAFETY: as above.
    unsafe { initialized(py, ffi::PyObject_GC_New(T::type_object_raw(py)), value) }
}

/// An object of `new_untracked` with another value, where this is all there is of it; otherwise a new one.
#[inline]
pub fn renewed<T: PyClass<Frozen = True>>(py: Python<'_>, object: Py<T>, value: T) -> PyResult<Py<T>> {
    let raw = object.as_ptr();
    // SAFETY: the interpreter lock is held, the class takes part in garbage collection, and the object is whole. Whoever
    // looks at its value has a reference to it, of which this is the only one; the collector has none, and passes over
    // it. Being of the class itself, the object holds nothing but its value.
    let before = unsafe {
        let is_own = ffi::Py_REFCNT(raw) == 1 && ffi::Py_TYPE(raw) == T::type_object_raw(py);
        if !is_own || ffi::PyObject_GC_IsTracked(raw) != 0 {
            return new_untracked(py, value);
        }
        raw.add(1).cast::<T>().replace(value)
    };
    // What this frees finds the object whole.
    drop(before);
    Ok(object)
}

/// Has the collector look at an object of `new_untracked`, which leads to others now.
pub fn track<T: PyClass>(object: &Bound<'_, T>) {
    // SAFETY: the interpreter lock is held, and the class takes part in garbage collection, as that of every object of
    // `new_untracked` does. The object is whole.
    unsafe {
        if ffi::PyObject_GC_IsTracked(object.as_ptr()) == 0 {
            ffi::PyObject_GC_Track(object.as_ptr().cast());
        }
    }
}

/// SAFETY: `object` is null or a new object of `T`'s own class.
#[inline]
unsafe fn initialized<T: PyClass<Frozen = True>>(
    py: Python<'_>,
    object: *mut ffi::PyObject,
    value: T,
) -> PyResult<Py<T>> {
    const {
        assert!(
            size_of::<<T as PyClassImpl>::Layout>() == size_of::<ffi::PyObject>() + size_of::<T>(),
            "objects of the class hold more than their value"
        );
    }
    if object.is_null() {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: the value is all there is behind the head of the object, and the interpreter has set that up.
    unsafe {
        object.add(1).cast::<T>().write(value);
        Ok(Bound::from_owned_ptr(py, object).cast_into_unchecked().unbind())
    }
}

/// While this lives, objects may be made in numbers without the collector's looking for garbage in between, where there
/// can be none. The interpreter lock must be held all along.
pub struct CollectorPause {
    was_enabled: bool,
}

impl CollectorPause {
    pub fn new(_py: Python<'_>) -> Self {
        // SAFETY: the interpreter lock is held.
        Self { was_enabled: unsafe { ffi::PyGC_Disable() } == 1 }
    }
}

impl Drop for CollectorPause {
    fn drop(&mut self) {
        if self.was_enabled {
            // SAFETY: the interpreter lock is held, as whoever made this has promised.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}

//! `BatchBytes`: an encoded batch as Python sees it on its way to a socket, without a copy.

use std::ffi::c_int;
use std::sync::Arc;

use pyo3::ffi;
use pyo3::prelude::*;

use crate::records::SealedBatch;

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct BatchBytes(pub Arc<SealedBatch>);

#[pymethods]
impl BatchBytes {
    fn __len__(&self) -> usize {
        self.0.bytes().len()
    }

    #[allow(unsafe_code)]
    // SAFETY: called by the interpreter, which gives a valid `view`.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let bytes = slf.get().0.bytes();
        let (start, size) = (bytes.as_ptr().cast_mut().cast(), bytes.len() as ffi::Py_ssize_t);
        // SAFETY: this object, which the view keeps alive, keeps the bytes where they are. The view is read-only, and
        // nobody else writes to a batch that is shared.
        let status = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, size, 1, flags) };
        if status != 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        Ok(())
    }
}

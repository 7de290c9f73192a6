//! Bytes given by the caller, made safe to read without the interpreter lock.

use pyo3::Borrowed;
use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PyString};

use crate::records::{NO_HEADERS, encode_headers};
use crate::shared_bytes::{BytesOwner, SharedBytes};

/// A part of the contents of a `bytes` object, which is kept alive.
pub struct PythonBytes {
    _object: Py<PyBytes>,
    start: *const u8,
    length: usize,
}

// SAFETY: a bytes object never changes and never moves its contents, and `_object` keeps it alive, so any
// thread may read them at any time. The reference itself is only dropped, which PyO3 does safely anywhere.
#[allow(unsafe_code)]
unsafe impl Send for PythonBytes {}
// SAFETY: as above; there is no interior mutability.
#[allow(unsafe_code)]
unsafe impl Sync for PythonBytes {}

impl PythonBytes {
    fn whole(object: &Bound<'_, PyBytes>) -> Self {
        let bytes = object.as_bytes();
        Self { start: bytes.as_ptr(), length: bytes.len(), _object: object.clone().unbind() }
    }

    /// The part of a bytes object that a contiguous memoryview of it shows; None for any other view.
    fn viewed(view: &Bound<'_, PyMemoryView>) -> PyResult<Option<Self>> {
        let buffer = PyUntypedBuffer::get(view.as_any())?;
        let exporter = view.getattr(pyo3::intern!(view.py(), "obj"))?;
        let Ok(object) = exporter.cast_exact::<PyBytes>() else { return Ok(None) };
        if !buffer.is_c_contiguous() {
            return Ok(None);
        }
        Ok(Some(Self {
            start: buffer.buf_ptr().cast(),
            length: buffer.len_bytes(),
            _object: object.clone().unbind(),
        }))
    }
}

impl BytesOwner for PythonBytes {
    #[allow(unsafe_code)]
    fn bytes(&self) -> &[u8] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: `start` and `length` lie within the contents of the bytes object that `_object` keeps
        // alive: of all of it, or of a contiguous view that the interpreter made and checked.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

/// Bytes from an argument: without a copy from `bytes` and from memoryviews of `bytes`, which nobody can
/// change; copied from any other buffer, since another thread might write to it.
pub enum InputBytes {
    Immutable(PythonBytes),
    Copied(Vec<u8>),
}

impl AsRef<[u8]> for InputBytes {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Immutable(bytes) => bytes.bytes(),
            Self::Copied(bytes) => bytes,
        }
    }
}

impl From<InputBytes> for SharedBytes {
    fn from(input: InputBytes) -> Self {
        match input {
            InputBytes::Immutable(bytes) => Self::new(bytes),
            InputBytes::Copied(bytes) => Self::new(bytes),
        }
    }
}

impl FromPyObject<'_, '_> for InputBytes {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast_exact::<PyBytes>() {
            return Ok(Self::Immutable(PythonBytes::whole(&bytes)));
        }
        if let Ok(view) = object.cast_exact::<PyMemoryView>() {
            if let Some(bytes) = PythonBytes::viewed(&view)? {
                return Ok(Self::Immutable(bytes));
            }
        }
        PyBuffer::<u8>::get(&object)?.to_vec(object.py()).map(Self::Copied)
    }
}

/// Headers from a sequence of pairs (str, bytes or None), in wire format.
pub enum InputHeaders {
    None,
    Encoded(Vec<u8>),
}

impl AsRef<[u8]> for InputHeaders {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::None => NO_HEADERS,
            Self::Encoded(bytes) => bytes,
        }
    }
}

impl FromPyObject<'_, '_> for InputHeaders {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if object.is_none() {
            return Ok(Self::None);
        }
        let mut headers: Vec<(Bound<'_, PyString>, Option<InputBytes>)> = Vec::new();
        for header in object.try_iter()? {
            headers.push(header?.extract()?);
        }
        if headers.is_empty() {
            return Ok(Self::None);
        }
        let mut parts = Vec::with_capacity(headers.len());
        for (key, value) in &headers {
            parts.push((key.to_str()?.as_bytes(), value.as_ref().map(AsRef::as_ref)));
        }
        Ok(Self::Encoded(encode_headers(parts.into_iter())))
    }
}

//! Bytes given by the caller, made safe to read without the interpreter lock.

use pyo3::Borrowed;
use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PyString};

use crate::python::objects::receive_buffer::{FrozenBytes, ReceiveBuffer};
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

/// Bytes from an argument: without a copy from `bytes` and from memoryviews of `bytes` or of frozen buffers, which
/// nobody can change; copied from any other buffer, since another thread might write to it.
pub enum InputBytes {
    Immutable(PythonBytes),
    Frozen(FrozenBytes),
    Copied(Vec<u8>),
}

impl AsRef<[u8]> for InputBytes {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Immutable(bytes) => bytes.bytes(),
            Self::Frozen(bytes) => bytes.bytes(),
            Self::Copied(bytes) => bytes,
        }
    }
}

/// As `InputBytes`, but what is immutable is only borrowed, from whoever holds the object during the call.
pub enum BorrowedInput<'a> {
    Bytes(&'a [u8]),
    Other(InputBytes),
}

impl<'a> BorrowedInput<'a> {
    #[inline]
    pub fn of(object: &'a Bound<'_, PyAny>) -> PyResult<Self> {
        match object.cast_exact::<PyBytes>() {
            Ok(bytes) => Ok(Self::Bytes(bytes.as_bytes())),
            Err(_) => object.extract().map(Self::Other),
        }
    }
}

impl AsRef<[u8]> for BorrowedInput<'_> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Other(input) => input.as_ref(),
        }
    }
}

/// Bytes that may be let go of by a thread without the interpreter lock, which it takes for that.
struct KeptBytes(Option<PythonBytes>);

impl Drop for KeptBytes {
    fn drop(&mut self) {
        let attached = Python::try_attach(|_| drop(self.0.take()));
        if attached.is_none() {
            // The interpreter has ended, and with it all objects.
            std::mem::forget(self.0.take());
        }
    }
}

impl BytesOwner for KeptBytes {
    fn bytes(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], BytesOwner::bytes)
    }

    fn is_free(&self) -> bool {
        false
    }
}

impl From<InputBytes> for SharedBytes {
    fn from(input: InputBytes) -> Self {
        match input {
            InputBytes::Immutable(bytes) => Self::new(KeptBytes(Some(bytes))),
            InputBytes::Frozen(bytes) => Self::new(bytes),
            InputBytes::Copied(bytes) => Self::new(bytes),
        }
    }
}

impl InputBytes {
    /// What a contiguous memoryview of bytes or of a frozen buffer shows; None for any other view.
    fn viewed(view: &Bound<'_, PyMemoryView>) -> PyResult<Option<Self>> {
        let buffer = PyUntypedBuffer::get(view.as_any())?;
        if !buffer.is_c_contiguous() {
            return Ok(None);
        }
        let (start, length) = (buffer.buf_ptr().cast::<u8>().cast_const(), buffer.len_bytes());
        let exporter = view.getattr(pyo3::intern!(view.py(), "obj"))?;
        if let Ok(buffer) = exporter.cast_exact::<ReceiveBuffer>() {
            return Ok(buffer.get().frozen_bytes(start, length).map(Self::Frozen));
        }
        let Ok(object) = exporter.cast_exact::<PyBytes>() else { return Ok(None) };
        Ok(Some(Self::Immutable(PythonBytes { start, length, _object: object.clone().unbind() })))
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
            if let Some(bytes) = Self::viewed(&view)? {
                return Ok(bytes);
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

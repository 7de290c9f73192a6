//! `ReceiveBuffer`: memory that a frame is received into, and that never changes once it is there; `FrameRoom`: how
//! much of it is kept.
//!
//! `bytes` cannot be received into, and what can be, such as a bytearray, may change at any time: it would have to
//! be copied before it is read without the interpreter lock.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::frame_memory::{self, FrameMemory};
use crate::shared_bytes::BytesOwner;

/// The memory of one buffer.
struct Memory {
    bytes: FrameMemory,
    size: usize,
    is_frozen: AtomicBool,
    writers: AtomicUsize,
}

impl Memory {
    /// Until it is frozen, the memory is only reached by counted writers: views that belong to Python, used under
    /// the interpreter lock or by a system call that Python makes, and `MemoryWriter`, of which there is one at a
    /// time. `freeze` refuses while there is a writer, and there are none afterwards: then it is only read.
    fn start(&self) -> *mut u8 {
        self.bytes.start()
    }

    fn is_frozen(&self) -> bool {
        self.is_frozen.load(Ordering::Acquire)
    }
}

/// A part of a buffer that is frozen.
pub struct FrozenBytes {
    memory: Arc<Memory>,
    start: usize,
    end: usize,
}

impl BytesOwner for FrozenBytes {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the range lies within the memory, which is frozen: nobody writes to it any more.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.memory.start().add(self.start), self.end - self.start)
        }
    }
}

/// The right to write to a buffer from `start` on.
pub struct MemoryWriter {
    memory: Arc<Memory>,
    start: usize,
}

impl MemoryWriter {
    pub fn rest(&mut self) -> &mut [u8] {
        // SAFETY: the range lies within the memory; this writer is counted, so nobody reads it as frozen, and it is
        // handed out while no Python view is there.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts_mut(self.memory.start().add(self.start), self.memory.size - self.start)
        }
    }
}

impl Drop for MemoryWriter {
    fn drop(&mut self) {
        self.memory.writers.fetch_sub(1, Ordering::AcqRel);
    }
}

/// While it is there, memory for so many bytes of frames is kept to be used again.
#[pyclass(name = "FrameRoom", frozen, module = "barnabas._kernel")]
pub struct PyFrameRoom(#[allow(dead_code)] frame_memory::FrameRoom);

#[pymethods]
impl PyFrameRoom {
    #[new]
    fn new(bytes: usize) -> Self {
        Self(frame_memory::FrameRoom::new(bytes))
    }
}

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct ReceiveBuffer(Arc<Memory>);

impl ReceiveBuffer {
    /// `length` bytes from the address `start` on, which a view of this buffer shows; None if they may change.
    pub fn frozen_bytes(&self, start: *const u8, length: usize) -> Option<FrozenBytes> {
        let first = (start as usize).checked_sub(self.0.start() as usize)?;
        let is_inside = first + length <= self.0.size;
        (self.0.is_frozen() && is_inside).then(|| FrozenBytes {
            memory: Arc::clone(&self.0),
            start: first,
            end: first + length,
        })
    }

    pub fn size(&self) -> usize {
        self.0.size
    }

    /// All of it, frozen from now on; None while it is written to.
    pub fn frozen(&self) -> Option<FrozenBytes> {
        if self.0.writers.load(Ordering::Acquire) > 0 {
            return None;
        }
        self.0.is_frozen.store(true, Ordering::Release);
        Some(FrozenBytes { memory: Arc::clone(&self.0), start: 0, end: self.0.size })
    }

    /// For whoever receives into the buffer without Python. None while it is written to, or frozen.
    pub fn writer(&self, start: usize) -> Option<MemoryWriter> {
        if self.0.is_frozen() || start > self.0.size {
            return None;
        }
        self.0.writers.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire).ok()?;
        Some(MemoryWriter { memory: Arc::clone(&self.0), start })
    }
}

#[pymethods]
impl ReceiveBuffer {
    #[new]
    pub fn new(size: usize) -> Self {
        Self(Arc::new(Memory {
            bytes: FrameMemory::new(size),
            size,
            is_frozen: AtomicBool::new(false),
            writers: AtomicUsize::new(0),
        }))
    }

    fn __len__(&self) -> usize {
        self.0.size
    }

    fn freeze<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyMemoryView>> {
        if slf.get().frozen().is_none() {
            return Err(PyBufferError::new_err("writable views of the buffer are in use"));
        }
        PyMemoryView::from(slf.as_any())
    }

    #[allow(unsafe_code)]
    // SAFETY: called by the interpreter, which gives a valid `view`.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let memory = &slf.get().0;
        let is_frozen = memory.is_frozen();
        let size = memory.size as ffi::Py_ssize_t;
        // SAFETY: the memory holds at least `size` bytes and lives as long as this object, which the view
        // keeps alive.
        let status = unsafe {
            let start = memory.start().cast();
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, size, c_int::from(is_frozen), flags)
        };
        if status != 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        if !is_frozen {
            memory.writers.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    #[allow(unsafe_code)]
    // SAFETY: called by the interpreter, with a view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: see above.
        if unsafe { (*view).readonly } == 0 {
            self.0.writers.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

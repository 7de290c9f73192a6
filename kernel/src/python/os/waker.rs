//! `Waker`: a file descriptor that becomes readable when an event loop has something to do. Whoever wakes the loop
//! needs no interpreter lock for it, and runs no Python.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

/// What the threads that wake the loop share.
pub struct Signal {
    readable: OwnedFd,
    writable: OwnedFd,
    is_due: AtomicBool,
}

impl Signal {
    #[cfg(target_os = "linux")]
    pub fn new() -> io::Result<Self> {
        use rustix::event::{EventfdFlags, eventfd};
        let readable = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { writable: readable.try_clone()?, readable, is_due: AtomicBool::new(false) })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn new() -> io::Result<Self> {
        use rustix::io::ioctl_fionbio;
        let (readable, writable) = rustix::pipe::pipe()?;
        ioctl_fionbio(&readable, true)?;
        ioctl_fionbio(&writable, true)?;
        Ok(Self { readable, writable, is_due: AtomicBool::new(false) })
    }

    pub fn wake(&self) {
        // One signal is enough, however many follow before it is seen.
        if !self.is_due.swap(true, Ordering::AcqRel) {
            // What is full is readable.
            let _ = rustix::io::write(&self.writable, &1_u64.to_ne_bytes());
        }
    }

    /// Readable when `wake` was called and `clear` was not.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.readable.as_fd()
    }

    pub fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Acquire)
    }

    pub fn clear(&self) {
        let mut counter = [0; 8];
        let _ = rustix::io::read(&self.readable, &mut counter);
        // Not before: a signal that came in between would be read, and none would ever follow it. What it was for
        // is seen after this.
        self.is_due.swap(false, Ordering::AcqRel);
    }
}

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct Waker(pub Arc<Signal>);

#[pymethods]
impl Waker {
    #[new]
    fn new() -> PyResult<Self> {
        Ok(Self(Arc::new(Signal::new()?)))
    }

    fn fileno(&self) -> i32 {
        self.0.readable.as_raw_fd()
    }

    fn wake(&self) {
        self.0.wake();
    }

    fn clear(&self) {
        self.0.clear();
    }

    #[getter]
    fn is_due(&self) -> bool {
        self.0.is_due()
    }
}

//! `Waker`: a file descriptor that becomes readable when an event loop has something to do. Whoever wakes the loop
//! needs no interpreter lock for it, and runs no Python.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use pyo3::prelude::*;

use crate::signal::{self, Flag};

pub type Signal = signal::Signal<Descriptor>;

/// Readable while it is raised.
pub struct Descriptor {
    readable: OwnedFd,
    writable: OwnedFd,
}

impl Flag for Descriptor {
    fn raise(&self) {
        // What is full is readable.
        let _ = rustix::io::write(&self.writable, &1_u64.to_ne_bytes());
    }

    fn reset(&self) {
        let mut counter = [0; 8];
        let _ = rustix::io::read(&self.readable, &mut counter);
    }
}

impl Signal {
    #[cfg(target_os = "linux")]
    pub fn new() -> io::Result<Self> {
        use rustix::event::{EventfdFlags, eventfd};
        let readable = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self::of(Descriptor { writable: readable.try_clone()?, readable }))
    }

    #[cfg(not(target_os = "linux"))]
    pub fn new() -> io::Result<Self> {
        use rustix::io::ioctl_fionbio;
        let (readable, writable) = rustix::pipe::pipe()?;
        ioctl_fionbio(&readable, true)?;
        ioctl_fionbio(&writable, true)?;
        Ok(Self::of(Descriptor { readable, writable }))
    }

    /// Readable when `wake` was called and `clear` was not.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.flag().readable.as_fd()
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
        self.0.descriptor().as_raw_fd()
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

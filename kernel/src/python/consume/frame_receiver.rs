//! `FrameReceiver`: receives the rest of a large frame on a thread of its own, which needs no interpreter lock.
//!
//! An event loop that receives a frame piece by piece has to wait for the interpreter lock at each piece while another
//! thread computes.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};

use crate::python::objects::receive_buffer::{MemoryWriter, ReceiveBuffer};
use crate::python::os::sockets::duplicate;

/// What the thread and the event loop share.
struct Shared {
    socket: OwnedFd,
    /// A byte written here wakes the event loop.
    wake: OwnedFd,
    outcome: Mutex<Option<io::Result<()>>>,
    is_closed: AtomicBool,
}

impl Shared {
    fn receive_all(&self, mut writer: MemoryWriter) -> io::Result<()> {
        let mut rest = writer.rest();
        while !rest.is_empty() {
            if self.is_closed.load(Ordering::Acquire) {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            match recv(&self.socket, &mut *rest, RecvFlags::empty()) {
                Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((received, _)) => rest = &mut rest[received..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                },
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn serve(&self, frames: &Receiver<MemoryWriter>) {
        while let Ok(writer) = frames.recv() {
            let outcome = self.receive_all(writer);
            *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            // Fails when the event loop has closed its end: then nobody waits.
            let _ = rustix::io::write(&self.wake, &[0]);
        }
    }
}

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct FrameReceiver {
    shared: Arc<Shared>,
    frames: Mutex<Option<Sender<MemoryWriter>>>,
}

impl Drop for FrameReceiver {
    fn drop(&mut self) {
        self.close();
    }
}

#[pymethods]
impl FrameReceiver {
    #[new]
    fn new(socket: i32, wake: i32) -> PyResult<Self> {
        let shared = Arc::new(Shared {
            socket: duplicate(socket)?,
            wake: duplicate(wake)?,
            outcome: Mutex::new(None),
            is_closed: AtomicBool::new(false),
        });
        let (sender, receiver) = channel();
        let served = Arc::clone(&shared);
        thread::Builder::new().name("barnabas-receive".to_owned()).spawn(move || served.serve(&receiver))?;
        Ok(Self { shared, frames: Mutex::new(Some(sender)) })
    }

    fn receive(&self, buffer: &Bound<'_, ReceiveBuffer>, start: usize) -> PyResult<()> {
        let writer = buffer.get().writer(start);
        let frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        match (writer, &*frames) {
            (Some(writer), Some(frames)) => {
                frames.send(writer).map_err(|_| PyRuntimeError::new_err("the receiving thread has ended"))
            }
            (None, _) => Err(PyRuntimeError::new_err("the buffer is in use or frozen")),
            (_, None) => Err(PyRuntimeError::new_err("the receiver is closed")),
        }
    }

    fn finish(&self) -> PyResult<()> {
        let outcome = self.shared.outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(outcome.unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))?)
    }

    /// Also lets go of the socket, which is not closed on the other side before.
    fn close(&self) {
        if !self.shared.is_closed.swap(true, Ordering::AcqRel) {
            // Wakes a thread that waits for bytes. Fails if the connection has ended already.
            let _ = shutdown(&self.shared.socket, Shutdown::Read);
            *self.frames.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

//! Sending a record in the thread that hands it over, without the event loop: one batch, on a connection that has
//! nothing else to do, when the loop has permitted it. The loop hears of it with the answer, or when it needs the
//! connection, and goes on as if it had sent the batch.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::producer_batch::ProducerBatch;
use crate::records::ProducerState;

const LENGTH_BYTES: usize = 4;
const CORRELATION_ID: std::ops::Range<usize> = 8..12;
/// What follows empty records in a Produce request of one partition: no tags thrice.
const TAIL: &[u8] = &[0, 0, 0];
const NO_RECORDS: u8 = 1;

/// A partition, and how a batch gets to its leader.
#[pyclass(frozen, module = "barnabas._kernel")]
pub struct DirectTarget {
    socket: OwnedFd,
    pub topic: String,
    pub partition: u32,
    /// A request up to the records of its only partition.
    head: Vec<u8>,
}

#[pymethods]
impl DirectTarget {
    #[new]
    fn new(socket: i32, request: &[u8], topic: String, partition: u32) -> PyResult<Self> {
        let head = request
            .strip_suffix(TAIL)
            .and_then(|request| request.strip_suffix(&[NO_RECORDS]))
            .filter(|head| head.len() >= CORRELATION_ID.end)
            .ok_or_else(|| PyValueError::new_err("the request is not for one partition without records"))?;
        // SAFETY: the caller holds the descriptor open meanwhile.
        #[allow(unsafe_code)]
        let borrowed = unsafe { BorrowedFd::borrow_raw(socket) };
        let socket = borrowed.try_clone_to_owned()?;
        Ok(Self { socket, topic, partition, head: head.to_vec() })
    }
}

impl DirectTarget {
    fn frame(&self, correlation_id: i32, records: &[u8]) -> Vec<u8> {
        let mut frame = Vec::with_capacity(self.head.len() + records.len() + 8);
        frame.extend_from_slice(&self.head);
        frame[CORRELATION_ID].copy_from_slice(&correlation_id.to_be_bytes());
        let mut length = records.len() as u32 + 1;
        while length >= 0x80 {
            frame.push(length as u8 | 0x80);
            length >>= 7;
        }
        frame.push(length as u8);
        frame.extend_from_slice(records);
        frame.extend_from_slice(TAIL);
        let size = (frame.len() - LENGTH_BYTES) as i32;
        frame[..LENGTH_BYTES].copy_from_slice(&size.to_be_bytes());
        frame
    }
}

/// For one batch of the target's partition.
pub struct Permit {
    pub target: Py<DirectTarget>,
    pub producer: ProducerState,
    pub correlation_id: i32,
}

pub struct DirectlySent {
    pub batch: Py<ProducerBatch>,
    pub sent_at: Instant,
    pub batch_bytes: usize,
    pub frame_bytes: usize,
    /// What the socket did not take.
    pub unsent: Vec<u8>,
}

/// A batch that was sent, the seconds since then, its bytes, those of the request, and what of that is unsent.
pub type SentBatch = (Py<ProducerBatch>, f64, usize, usize, Vec<u8>);

impl DirectlySent {
    pub fn into_batch(self) -> SentBatch {
        let seconds = self.sent_at.elapsed().as_secs_f64();
        (self.batch, seconds, self.batch_bytes, self.frame_bytes, self.unsent)
    }
}

#[derive(Default)]
pub enum Direct {
    #[default]
    Forbidden,
    Permitted(Permit),
    Sent(DirectlySent),
}

#[derive(Default)]
pub struct DirectSend(Mutex<Direct>);

impl DirectSend {
    pub fn lock(&self) -> MutexGuard<'_, Direct> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// None where the batch cannot be sent as it is.
    pub fn send(&self, batch: Py<ProducerBatch>) -> Result<DirectlySent, Py<ProducerBatch>> {
        let Some(sealed) = batch.get().encoded(&self.producer) else { return Err(batch) };
        let target = self.target.get();
        let mut frame = target.frame(self.correlation_id, sealed.bytes());
        let sent_at = Instant::now();
        let frame_bytes = frame.len();
        let mut sent = 0;
        while sent < frame_bytes {
            match send(&target.socket, &frame[sent..], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => sent += count,
                Err(Errno::INTR) => {}
                // The loop writes the rest, or sees what is wrong.
                Err(_) => break,
            }
        }
        let unsent = frame.split_off(sent);
        Ok(DirectlySent { batch, sent_at, batch_bytes: sealed.bytes().len(), frame_bytes, unsent })
    }
}

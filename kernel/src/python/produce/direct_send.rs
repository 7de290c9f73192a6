//! Sending a batch in the thread that hands a record over, without the event loop: on a connection that has nothing
//! else to do, when the loop has lent it.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::compression::Compression;
use crate::frame_bytes::LENGTH_BYTES;
use crate::producing::TopicKey;
use crate::python::produce::producer_batch::{ClosedBatch, ProducerBatch};
use crate::records::ProducerState;

const CORRELATION_ID: std::ops::Range<usize> = 8..12;
/// What follows empty records in a Produce request of one partition: no tags thrice.
const TAIL: &[u8] = &[0, 0, 0];
const NO_RECORDS: u8 = 1;

/// A partition, and how a batch gets into a request.
pub struct Target {
    pub topic: String,
    pub topic_key: TopicKey,
    pub partition: u32,
    /// A request up to the records of its only partition.
    head: Vec<u8>,
}

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct DirectTarget(pub Arc<Target>);

#[pymethods]
impl DirectTarget {
    #[new]
    #[pyo3(signature = (request, topic, partition, topic_id=None))]
    fn new(request: &[u8], topic: String, partition: u32, topic_id: Option<[u8; 16]>) -> PyResult<Self> {
        let head = request
            .strip_suffix(TAIL)
            .and_then(|request| request.strip_suffix(&[NO_RECORDS]))
            .filter(|head| head.len() >= CORRELATION_ID.end)
            .ok_or_else(|| PyValueError::new_err("the request is not for one partition without records"))?;
        let topic_key = topic_id.map_or_else(|| TopicKey::Name(topic.clone()), TopicKey::Id);
        Ok(Self(Arc::new(Target { topic, topic_key, partition, head: head.to_vec() })))
    }
}

impl Target {
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

/// What a connection is lent for: the next batches of these partitions.
pub struct Terms {
    pub socket: Arc<OwnedFd>,
    pub seats: Vec<Seat>,
    pub correlation_id: i32,
    /// So many batches may be under way at once.
    pub max_in_flight: usize,
    /// Whether answers are read without the loop, too.
    pub reads_answers: bool,
}

/// A partition in a loan.
pub struct Seat {
    pub target: Arc<Target>,
    /// Of the next batch.
    pub producer: ProducerState,
}

pub struct DirectlySent {
    /// The partition's place in the loan.
    pub seat: usize,
    pub batch: ProducerBatch,
    pub correlation_id: i32,
    pub sent_at: Instant,
    pub batch_bytes: usize,
    pub frame_bytes: usize,
    /// What the socket did not take.
    pub unsent: Vec<u8>,
}

impl Terms {
    /// After this they are for the batch that follows. Gives the batch back where it cannot be sent as it is.
    pub fn send(
        &mut self,
        seat: usize,
        batch: ClosedBatch,
        codec: (Compression, Option<i32>),
    ) -> Result<DirectlySent, ClosedBatch> {
        let Seat { target, producer } = &mut self.seats[seat];
        let Ok(sealed) = batch.body.encode(producer) else { return Err(batch) };
        let correlation_id = self.correlation_id;
        let mut frame = target.frame(correlation_id, sealed.bytes());
        let sent_at = Instant::now();
        let frame_bytes = frame.len();
        let mut sent = 0;
        while sent < frame_bytes {
            match send(&self.socket, &frame[sent..], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => sent += count,
                Err(Errno::INTR) => {}
                // The loop writes the rest, or sees what is wrong.
                Err(_) => break,
            }
        }
        let unsent = frame.split_off(sent);
        let batch_bytes = sealed.bytes().len();
        // -1: the producer counts none.
        if producer.base_sequence >= 0 {
            let sequence = producer.base_sequence.wrapping_add(batch.record_count as i32);
            producer.base_sequence = sequence & i32::MAX;
        }
        self.correlation_id = correlation_id.wrapping_add(1) & i32::MAX;
        let batch = ProducerBatch::new(batch, codec);
        Ok(DirectlySent { seat, batch, correlation_id, sent_at, batch_bytes, frame_bytes, unsent })
    }
}

//! What becomes of a connection that is lent for sending: the batches that were sent, and their answers. Who may use it
//! when is for `producing::lent`; here are the sockets, the batches and the queues.
//!
//! While a batch is under way, the next is left to the thread that reads answers: records that are handed over one right
//! after the other gather until it has woken, and leave as one batch. Each as a batch of its own would take the broker
//! as long again.
//!
//! The thread drops nothing that is Python's. After a fork there is none in the child, where all this may only be
//! dropped.

use std::io;
use std::mem;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use pyo3::prelude::*;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::compression::Compression;
use crate::frame_bytes::LENGTH_BYTES;
use crate::loan::{Answer, Back, Courier, Departure};
use crate::producing::lent::Lent;
use crate::producing::{Waiting, taken};
use crate::python::os::sockets::wait_for_either;
use crate::python::os::waker::Signal;
use crate::python::produce::direct_send::{DirectlySent, Target, Terms};
use crate::python::produce::producer_batch::{ClosedBatch, ProducerBatch};
use crate::python::produce::shared_queues::SharedQueues;
use crate::signal::{Wait, Wake};

/// A longer answer is not one to a request for one partition in its ordinary course.
const MOST_ANSWER_BYTES: usize = 4096;

/// Requests that were answered, each with one batch.
#[pyclass(frozen, get_all, skip_from_py_object, module = "barnabas._kernel")]
#[derive(Clone, Copy, Default)]
pub struct Exchanges {
    count: u64,
    records: u64,
    batch_bytes: u64,
    bytes_sent: u64,
    bytes_received: u64,
    /// From each request to its answer.
    milliseconds: f64,
}

/// Who sends what waits at one partition, and settles it.
struct PartitionCourier {
    terms: Terms,
    queues: Weak<SharedQueues>,
    codec: (Compression, Option<i32>),
    /// With this loan.
    records_delivered: u64,
    /// Since the loop has heard of them last.
    exchanges: Exchanges,
}

impl PartitionCourier {
    fn is_for(&self, topic: &str, partition: u32) -> bool {
        let target = &self.terms.target;
        target.partition == partition && target.topic == topic
    }
}

impl Courier for PartitionCourier {
    type Request = DirectlySent;
    type Line = Arc<Target>;

    fn line(&self) -> Option<Arc<Target>> {
        self.terms.reads_answers.then(|| Arc::clone(&self.terms.target))
    }

    fn max_in_flight(&self) -> usize {
        self.terms.max_in_flight
    }

    fn send(&mut self) -> Departure<DirectlySent> {
        let Some(queues) = self.queues.upgrade() else { return Departure::Refused };
        let Target { topic, partition, .. } = &*self.terms.target;
        let (topic, partition) = (topic.clone(), *partition as usize);
        let taken = {
            let mut queues = queues.lock();
            let Some(queue) = queues.partition(&topic, partition) else { return Departure::Refused };
            match queue.take_small() {
                Some(batch) => batch,
                None if queue.batches.is_empty() => return Departure::NothingWaits,
                None => return Departure::Refused,
            }
        };
        let batch = ClosedBatch::from(taken);
        batch.body.seal();
        match self.terms.send(batch, self.codec) {
            Ok(sent) if sent.unsent.is_empty() => Departure::Sent(sent),
            Ok(sent) => Departure::SentInPart(sent),
            Err(batch) => {
                queues.lock().put_back(&topic, partition, Waiting::Closed(batch));
                Departure::Refused
            }
        }
    }

    fn receive(&mut self, received: &mut Vec<u8>) -> bool {
        receive(&self.terms.target.socket, received)
    }

    fn settle(&mut self, sent: &DirectlySent, received: &[u8]) -> Answer {
        let Some(length) = received.first_chunk() else { return Answer::Partial };
        let whole = LENGTH_BYTES + u32::from_be_bytes(*length) as usize;
        if whole > MOST_ANSWER_BYTES {
            return Answer::Foreign;
        }
        let Some(answer) = received.get(LENGTH_BYTES..whole) else { return Answer::Partial };
        let target = &self.terms.target;
        let Some(taken) = taken(answer, sent.correlation_id, &target.topic_key, target.partition as i32)
        else {
            return Answer::Foreign;
        };
        // As long as they are there, a batch is not the last to refer to its topic's name.
        let Some(queues) = self.queues.upgrade() else { return Answer::Foreign };
        if !sent.batch.deliver_without_python(taken.base_offset, taken.log_append_time) {
            return Answer::Foreign;
        }
        queues.release(&sent.batch);
        let (records, exchanges) = (sent.batch.record_count() as u64, &mut self.exchanges);
        self.records_delivered += records;
        exchanges.count += 1;
        exchanges.records += records;
        exchanges.batch_bytes += sent.batch_bytes as u64;
        exchanges.bytes_sent += sent.frame_bytes as u64;
        exchanges.bytes_received += whole as u64;
        exchanges.milliseconds += sent.sent_at.elapsed().as_secs_f64() * 1000.0;
        Answer::Settled(whole)
    }
}

impl Wait<Arc<Target>> for Signal {
    fn wait(&self, target: Option<&Arc<Target>>) -> io::Result<bool> {
        wait_for_either(self, target.map(|target| &target.socket))
    }
}

/// Wakes the event loop, if there is one to leave answers to.
struct Owner(Option<Arc<Signal>>);

impl Wake for Owner {
    fn wake(&self) {
        if let Some(event_loop) = &self.0 {
            event_loop.wake();
        }
    }
}

pub struct DirectSend {
    lent: Lent<PartitionCourier, Signal, Owner>,
    queues: Weak<SharedQueues>,
    codec: (Compression, Option<i32>),
    has_event_loop: bool,
}

/// A batch, its request's correlation id, the seconds since that was sent, the batch's bytes and the request's.
type SentBatch = (Py<ProducerBatch>, i32, f64, usize, usize);

#[pyclass(frozen, get_all, module = "barnabas._kernel")]
pub struct DirectReturn {
    correlation_id: i32,
    records_delivered: u64,
    exchanges: Exchanges,
    sent: Vec<SentBatch>,
    unsent: Vec<u8>,
    received: Vec<u8>,
}

impl DirectReturn {
    fn of(py: Python<'_>, courier: &PartitionCourier, back: Back<DirectlySent>) -> PyResult<Self> {
        let mut batches = Vec::with_capacity(back.under_way.len());
        let mut unsent = Vec::new();
        for sent in back.under_way {
            let seconds = sent.sent_at.elapsed().as_secs_f64();
            let batch = Py::new(py, sent.batch)?;
            batches.push((batch, sent.correlation_id, seconds, sent.batch_bytes, sent.frame_bytes));
            // Nothing is sent behind what is not sent whole.
            unsent = sent.unsent;
        }
        Ok(Self {
            correlation_id: courier.terms.correlation_id.wrapping_sub(1) & i32::MAX,
            records_delivered: courier.records_delivered,
            exchanges: courier.exchanges,
            sent: batches,
            unsent,
            received: back.received,
        })
    }
}

impl DirectSend {
    pub fn new(
        queues: &Arc<SharedQueues>,
        codec: (Compression, Option<i32>),
        event_loop: Option<Arc<Signal>>,
    ) -> Self {
        let has_event_loop = event_loop.is_some();
        Self { lent: Lent::new(Owner(event_loop)), queues: Arc::downgrade(queues), codec, has_event_loop }
    }

    pub fn lend(&self, terms: Terms) -> io::Result<()> {
        if terms.reads_answers && !self.has_event_loop {
            return Err(io::Error::other("there is no event loop to leave answers to"));
        }
        let courier = PartitionCourier {
            terms,
            queues: Weak::clone(&self.queues),
            codec: self.codec,
            records_delivered: 0,
            exchanges: Exchanges::default(),
        };
        self.lent.lend(courier, Signal::new)
    }

    /// Has what waits at the partition sent, now or by the thread; whether the loop need not.
    pub fn send(&self, topic: &str, partition: u32) -> bool {
        self.lent.send(|courier| courier.is_for(topic, partition))
    }

    /// Has what waits at the partition that is lent sent, whichever it is; whether the loop need not.
    pub fn send_what_waits(&self) -> bool {
        self.lent.send(|_| true)
    }

    /// Whether what waits at the partition could be sent without the loop.
    pub fn holds(&self, topic: &str, partition: u32) -> bool {
        self.lent.holds(|courier| courier.is_for(topic, partition))
    }

    /// None where nothing was lent.
    pub fn take_back(&self, py: Python<'_>) -> PyResult<Option<DirectReturn>> {
        let taken = self.lent.take_back();
        taken.map(|(courier, back)| DirectReturn::of(py, &courier, back)).transpose()
    }

    pub fn has_sent(&self) -> bool {
        self.lent.look(|_, loan| !loan.under_way().is_empty()).unwrap_or(false)
    }

    /// The seconds that a batch has been under way, 0 where none is, and what was answered since the last time.
    pub fn figures(&self) -> (f64, Exchanges) {
        let figures = self.lent.look(|courier, loan| {
            let seconds = loan.under_way().front().map_or(0.0, |sent| sent.sent_at.elapsed().as_secs_f64());
            (seconds, mem::take(&mut courier.exchanges))
        });
        figures.unwrap_or_default()
    }

    /// Ends the thread, if there is one, and gives up what is under way. To be called with the interpreter lock before
    /// the queues are dropped: what batches refer to in Python is dropped here, and never by the thread.
    pub fn end(&self) {
        drop(self.lent.end());
    }
}

/// Takes in what is there; whether the connection goes on.
fn receive(socket: &OwnedFd, received: &mut Vec<u8>) -> bool {
    let mut bytes = [0; MOST_ANSWER_BYTES];
    loop {
        match recv(socket, &mut bytes[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => return false,
            Ok((count, _)) => {
                received.extend_from_slice(&bytes[..count]);
                // What does not fill the room is all there is.
                if count < bytes.len() || received.len() > MOST_ANSWER_BYTES {
                    return true;
                }
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return true,
            Err(_) => return false,
        }
    }
}

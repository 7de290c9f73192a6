//! What becomes of a permit to send directly: the batches that were sent, and their answers.
//!
//! Where nobody has to be told in Python of what becomes of a batch, a thread reads its answer, with neither the event
//! loop nor the interpreter lock, and decides it. It looks at the socket only while it holds the lock of the permit, so
//! that the loop has the connection back as soon as it has taken the permit. Anything but an ordinary answer is left to
//! the loop, which is woken and goes on as if it had sent the batches itself.
//!
//! While a batch is under way, the next is left to that thread: records that are handed over one right after the other
//! gather until it has woken, and leave as one batch. Each as a batch of its own would take the broker as long again.
//!
//! The thread drops nothing that is Python's. After a fork there is none in the child, where all this may only be
//! dropped.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::{io, mem, thread};

use pyo3::prelude::*;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::compression::Compression;
use crate::frame_bytes::LENGTH_BYTES;
use crate::locks::{lock, lock_unless_forked};
use crate::producing::{Waiting, taken};
use crate::python::os::sockets::wait_for_either;
use crate::python::os::waker::Signal;
use crate::python::produce::direct_send::{DirectlySent, Permit, Target};
use crate::python::produce::producer_batch::{ClosedBatch, ProducerBatch};
use crate::python::produce::shared_queues::SharedQueues;

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

/// Batches that were sent and not answered.
#[derive(Default)]
struct UnderWay {
    /// The oldest first.
    sent: VecDeque<DirectlySent>,
    /// Of their answers, with the lengths.
    received: Vec<u8>,
}

#[derive(Default)]
struct State {
    permit: Option<Permit>,
    under_way: UnderWay,
    /// What is on the socket is for the loop, which has been woken.
    is_for_loop: bool,
    /// The thread is to send what waits at the permit's partition.
    is_batch_due: bool,
    /// With the present permit.
    records_delivered: u64,
    /// Since the loop has heard of them last.
    exchanges: Exchanges,
}

impl State {
    /// Where answers are to be read from.
    fn target_to_read(&self) -> Option<&Arc<Target>> {
        let permit = self.permit.as_ref()?;
        (permit.reads_answers && !self.is_for_loop).then_some(&permit.target)
    }

    /// Whether there is a permit for this partition.
    fn permits(&self, topic: &str, partition: u32) -> bool {
        self.permit
            .as_ref()
            .is_some_and(|permit| permit.target.partition == partition && permit.target.topic == topic)
    }

    /// Sends what waits at the permit's partition; whether it is gone, or there was nothing. Otherwise it is the loop's.
    fn send_waiting(&mut self, queues: &SharedQueues, codec: (Compression, Option<i32>)) -> bool {
        let Some(permit) = &mut self.permit else { return false };
        if self.under_way.sent.back().is_some_and(|last| !last.unsent.is_empty()) {
            return false;
        }
        let partition = permit.target.partition as usize;
        let taken = {
            let mut queues = queues.lock();
            let Some(queue) = queues.partition(&permit.target.topic, partition) else { return false };
            match queue.take_small() {
                Some(batch) => batch,
                None => return queue.batches.is_empty(),
            }
        };
        let batch = ClosedBatch::from(taken);
        batch.body.seal();
        match permit.send(batch, codec) {
            Ok(sent) => {
                self.under_way.sent.push_back(sent);
                true
            }
            Err(batch) => {
                if let Some(queue) = queues.lock().partition(&permit.target.topic, partition) {
                    queue.batches.push_front(Waiting::Closed(batch));
                }
                false
            }
        }
    }
}

/// What the thread is told.
struct Orders {
    signal: Signal,
    shall_end: AtomicBool,
}

pub struct DirectSend {
    state: Arc<Mutex<State>>,
    queues: Weak<SharedQueues>,
    codec: (Compression, Option<i32>),
    /// None where nobody may read answers without the loop.
    event_loop: Option<Arc<Signal>>,
    /// Of the thread, once there is one.
    orders: OnceLock<Arc<Orders>>,
}

/// What `DirectSend::forbid` ends.
pub struct Forbidden {
    /// Of the next request.
    correlation_id: i32,
    under_way: UnderWay,
    records_delivered: u64,
    exchanges: Exchanges,
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

impl Forbidden {
    pub fn into_return(self, py: Python<'_>) -> PyResult<DirectReturn> {
        let mut batches = Vec::with_capacity(self.under_way.sent.len());
        let mut unsent = Vec::new();
        for sent in self.under_way.sent {
            let seconds = sent.sent_at.elapsed().as_secs_f64();
            let batch = Py::new(py, sent.batch)?;
            batches.push((batch, sent.correlation_id, seconds, sent.batch_bytes, sent.frame_bytes));
            // Nothing is sent behind what is not sent whole.
            unsent = sent.unsent;
        }
        let correlation_id = self.correlation_id.wrapping_sub(1) & i32::MAX;
        Ok(DirectReturn {
            correlation_id,
            records_delivered: self.records_delivered,
            exchanges: self.exchanges,
            sent: batches,
            unsent,
            received: self.under_way.received,
        })
    }
}

impl DirectSend {
    pub fn new(
        queues: &Arc<SharedQueues>,
        codec: (Compression, Option<i32>),
        event_loop: Option<Arc<Signal>>,
    ) -> Self {
        let (state, queues) = (Arc::default(), Arc::downgrade(queues));
        Self { state, queues, codec, event_loop, orders: OnceLock::new() }
    }

    pub fn permit(&self, permit: Permit) -> io::Result<()> {
        let orders = if permit.reads_answers { Some(self.thread_orders()?) } else { None };
        {
            let mut state = lock(&self.state);
            state.permit = Some(permit);
            state.is_for_loop = false;
        }
        if let Some(orders) = orders {
            orders.signal.wake();
        }
        Ok(())
    }

    /// Has what waits at the partition sent, now or by the thread; whether the loop need not.
    pub fn send(&self, topic: &str, partition: u32) -> bool {
        let mut state = lock(&self.state);
        if !state.permits(topic, partition) {
            return false;
        }
        if state.under_way.sent.is_empty() {
            return self.queues.upgrade().is_some_and(|queues| state.send_waiting(&queues, self.codec));
        }
        let (Some(_), Some(orders)) = (state.target_to_read(), self.orders.get()) else { return false };
        state.is_batch_due = true;
        drop(state);
        orders.signal.wake();
        true
    }

    /// None where nothing was permitted.
    pub fn forbid(&self) -> Option<Forbidden> {
        let (forbidden, was_read) = {
            let mut state = lock(&self.state);
            let was_read = state.target_to_read().is_some();
            state.is_for_loop = false;
            if let (true, Some(event_loop)) = (mem::take(&mut state.is_batch_due), &self.event_loop) {
                event_loop.wake();
            }
            let forbidden = Forbidden {
                correlation_id: state.permit.take()?.correlation_id,
                under_way: mem::take(&mut state.under_way),
                records_delivered: mem::take(&mut state.records_delivered),
                exchanges: mem::take(&mut state.exchanges),
            };
            (forbidden, was_read)
        };
        if let (true, Some(orders)) = (was_read, self.orders.get()) {
            // The thread is to let go of the socket.
            orders.signal.wake();
        }
        Some(forbidden)
    }

    pub fn has_sent(&self) -> bool {
        !lock(&self.state).under_way.sent.is_empty()
    }

    /// The seconds that a batch has been under way, 0 where none is, and what was answered since the last time.
    pub fn figures(&self) -> (f64, Exchanges) {
        let mut state = lock(&self.state);
        let seconds = state.under_way.sent.front().map_or(0.0, |sent| sent.sent_at.elapsed().as_secs_f64());
        (seconds, mem::take(&mut state.exchanges))
    }

    /// Ends the thread, if there is one, and gives up what is under way. To be called with the interpreter lock before
    /// the queues are dropped: what batches refer to in Python is dropped here, and never by the thread.
    pub fn end(&self) {
        if let Some(mut state) = lock_unless_forked(&self.state) {
            state.permit = None;
            let under_way = mem::take(&mut state.under_way);
            drop(state);
            drop(under_way);
        }
        if let Some(orders) = self.orders.get() {
            orders.shall_end.store(true, Ordering::Release);
            orders.signal.wake();
        }
    }

    fn thread_orders(&self) -> io::Result<&Arc<Orders>> {
        if let Some(orders) = self.orders.get() {
            return Ok(orders);
        }
        let Some(event_loop) = &self.event_loop else {
            return Err(io::Error::other("there is no event loop to leave answers to"));
        };
        let orders = Arc::new(Orders { signal: Signal::new()?, shall_end: AtomicBool::new(false) });
        let thread = AnswerThread {
            state: Arc::clone(&self.state),
            queues: Weak::clone(&self.queues),
            codec: self.codec,
            event_loop: Arc::clone(event_loop),
            orders: Arc::clone(&orders),
        };
        thread::Builder::new().name("barnabas-answer".to_owned()).spawn(move || {
            if catch_unwind(AssertUnwindSafe(|| thread.run())).is_err() {
                thread.leave_to_loop(&mut lock(&thread.state));
            }
        })?;
        Ok(self.orders.get_or_init(|| orders))
    }
}

struct AnswerThread {
    state: Arc<Mutex<State>>,
    queues: Weak<SharedQueues>,
    codec: (Compression, Option<i32>),
    event_loop: Arc<Signal>,
    orders: Arc<Orders>,
}

impl AnswerThread {
    fn run(&self) {
        while !self.orders.shall_end.load(Ordering::Acquire) {
            let target = {
                let mut state = lock(&self.state);
                self.send_what_is_due(&mut state);
                state.target_to_read().map(Arc::clone)
            };
            let socket = target.as_ref().map(|target| &target.socket);
            match (wait_for_either(&self.orders.signal, socket), &target) {
                (Ok(true), Some(target)) => self.read(target),
                (Ok(_), _) => {}
                (Err(_), Some(_)) => self.leave_to_loop(&mut lock(&self.state)),
                (Err(_), None) => return,
            }
        }
    }

    fn leave_to_loop(&self, state: &mut State) {
        state.is_for_loop = true;
        self.event_loop.wake();
    }

    fn send_what_is_due(&self, state: &mut State) {
        let Some(permit) = &state.permit else { return };
        let may_send = !state.is_for_loop && state.under_way.sent.len() < permit.max_in_flight;
        if !(may_send && mem::take(&mut state.is_batch_due)) {
            return;
        }
        let is_done = self.queues.upgrade().is_some_and(|queues| state.send_waiting(&queues, self.codec));
        if !is_done {
            self.event_loop.wake();
        }
    }

    /// Takes in what is on the socket, unless the loop has it back.
    fn read(&self, target: &Arc<Target>) {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        if !state.target_to_read().is_some_and(|present| Arc::ptr_eq(present, target)) {
            return;
        }
        let is_ordinary = receive(&target.socket, &mut state.under_way.received).is_some()
            && self.take_in(target, state).is_some();
        if !is_ordinary {
            self.leave_to_loop(state);
        }
    }

    /// Decides the batches whose answers have come. None where something is there that is the loop's.
    fn take_in(&self, target: &Target, state: &mut State) -> Option<()> {
        let State { under_way, records_delivered, exchanges, .. } = state;
        // As long as they are there, a batch is not the last to refer to its topic's name.
        let queues = self.queues.upgrade()?;
        while let Some(length) = under_way.received.first_chunk() {
            let whole = LENGTH_BYTES + u32::from_be_bytes(*length) as usize;
            if whole > MOST_ANSWER_BYTES {
                return None;
            }
            let Some(answer) = under_way.received.get(LENGTH_BYTES..whole) else { break };
            let sent = under_way.sent.front()?;
            let taken = taken(answer, sent.correlation_id, &target.topic_key, target.partition as i32)?;
            let is_decided =
                sent.unsent.is_empty() && sent.batch.deliver_untold(taken.base_offset, taken.log_append_time);
            if !is_decided {
                return None;
            }
            queues.release(&sent.batch);
            let records = sent.batch.record_count() as u64;
            *records_delivered += records;
            exchanges.count += 1;
            exchanges.records += records;
            exchanges.batch_bytes += sent.batch_bytes as u64;
            exchanges.bytes_sent += sent.frame_bytes as u64;
            exchanges.bytes_received += whole as u64;
            exchanges.milliseconds += sent.sent_at.elapsed().as_secs_f64() * 1000.0;
            under_way.sent.pop_front();
            under_way.received.drain(..whole);
        }
        Some(())
    }
}

/// Takes in what is there. None where the connection has ended.
fn receive(socket: &OwnedFd, received: &mut Vec<u8>) -> Option<()> {
    let mut bytes = [0; MOST_ANSWER_BYTES];
    loop {
        match recv(socket, &mut bytes[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => return None,
            Ok((count, _)) => {
                received.extend_from_slice(&bytes[..count]);
                // What does not fill the room is all there is.
                if count < bytes.len() || received.len() > MOST_ANSWER_BYTES {
                    return Some(());
                }
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Some(()),
            Err(_) => return None,
        }
    }
}

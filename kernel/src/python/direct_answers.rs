//! What becomes of a permit to send directly: the batch that was sent, and its answer.
//!
//! Where nobody has to be told in Python of what becomes of a batch, a thread reads the answer, with neither the event
//! loop nor the interpreter lock, decides the batch, and permits the next one. It looks at the socket only while it
//! holds the lock of the permit, so that the loop has the connection back as soon as it has taken the permit. Anything
//! but an ordinary answer is left to the loop, which is woken and goes on as if it had sent the batch itself.
//!
//! After a fork there is no thread in the child, where all this may only be dropped: that takes no lock.

use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::{io, mem, thread};

use pyo3::prelude::*;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::direct_send::{DirectlySent, Permit, Target};
use super::producer_batch::ProducerBatch;
use super::shared_queues::SharedQueues;
use super::sockets::wait_for_either;
use super::waker::Signal;
use crate::producing::taken;

const LENGTH_BYTES: usize = 4;
/// A longer answer is not one to a request for one partition in its ordinary course.
const MOST_ANSWER_BYTES: usize = 4096;

/// Requests that were answered: batches, of which each had its own, their records and bytes, the bytes of requests and
/// answers, and the milliseconds from each request to its answer.
pub type Exchanges = (u64, u64, u64, u64, u64, f64);

#[derive(Default)]
enum Direct {
    #[default]
    Forbidden,
    Permitted(Permit),
    Sent(DirectlySent),
}

impl Direct {
    fn permit(&self) -> Option<&Permit> {
        match self {
            Self::Forbidden => None,
            Self::Permitted(permit) => Some(permit),
            Self::Sent(sent) => Some(&sent.permit),
        }
    }
}

#[derive(Default)]
struct State {
    direct: Direct,
    /// What is on the socket is for the loop, which has been woken.
    is_for_loop: bool,
    /// Since the loop has heard of them last.
    exchanges: Exchanges,
}

impl State {
    /// Where an answer is to be read from.
    fn target_to_read(&self) -> Option<&Arc<Target>> {
        let permit = self.direct.permit().filter(|permit| permit.reads_answers && !self.is_for_loop)?;
        Some(&permit.target)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the thread is told.
struct Orders {
    signal: Signal,
    shall_end: AtomicBool,
}

impl Orders {
    fn end(&self) {
        self.shall_end.store(true, Ordering::Release);
        self.signal.wake();
    }
}

pub struct DirectSend {
    state: Arc<Mutex<State>>,
    queues: Weak<SharedQueues>,
    /// None where nobody may read answers without the loop.
    event_loop: Option<Arc<Signal>>,
    /// Of the thread, once there is one.
    orders: OnceLock<Arc<Orders>>,
}

/// What `DirectSend::forbid` ends.
pub struct Forbidden {
    direct: Direct,
    exchanges: Exchanges,
}

/// A batch that was sent, the seconds since then, its bytes, those of the request, what of that is unsent, and what of
/// the answer has come.
type SentBatch = (Py<ProducerBatch>, f64, usize, usize, Vec<u8>, Vec<u8>);

#[pyclass(frozen, get_all, module = "barnabas._kernel")]
pub struct DirectReturn {
    correlation_id: i32,
    exchanges: Exchanges,
    sent: Option<SentBatch>,
}

impl Forbidden {
    pub fn into_return(self, py: Python<'_>) -> PyResult<DirectReturn> {
        let (correlation_id, sent) = match self.direct {
            Direct::Forbidden => (-1, None),
            Direct::Permitted(permit) => (permit.correlation_id.wrapping_sub(1) & i32::MAX, None),
            Direct::Sent(sent) => {
                let seconds = sent.sent_at.elapsed().as_secs_f64();
                let batch = Py::new(py, sent.batch)?;
                let sizes = (sent.batch_bytes, sent.frame_bytes);
                let sent_batch = (batch, seconds, sizes.0, sizes.1, sent.unsent, sent.received);
                (sent.permit.correlation_id, Some(sent_batch))
            }
        };
        Ok(DirectReturn { correlation_id, exchanges: self.exchanges, sent })
    }
}

impl DirectSend {
    pub fn new(queues: &Arc<SharedQueues>, event_loop: Option<Arc<Signal>>) -> Self {
        Self { state: Arc::default(), queues: Arc::downgrade(queues), event_loop, orders: OnceLock::new() }
    }

    pub fn permit(&self, permit: Permit) -> io::Result<()> {
        let orders = if permit.reads_answers { Some(self.thread_orders()?) } else { None };
        {
            let mut state = lock(&self.state);
            state.direct = Direct::Permitted(permit);
            state.is_for_loop = false;
        }
        if let Some(orders) = orders {
            orders.signal.wake();
        }
        Ok(())
    }

    /// Sends what `take` gives, if the next batch of the partition may be sent; gives it back where it cannot be.
    pub fn send(
        &self,
        topic: &str,
        partition: u32,
        take: impl FnOnce() -> Option<ProducerBatch>,
    ) -> Option<Result<(), ProducerBatch>> {
        let mut state = lock(&self.state);
        let Direct::Permitted(permit) = &state.direct else { return None };
        if permit.target.partition != partition || permit.target.topic != topic {
            return None;
        }
        let batch = take()?;
        let Direct::Permitted(permit) = mem::take(&mut state.direct) else { return Some(Err(batch)) };
        let (direct, result) = match permit.send(batch) {
            Ok(sent) => (Direct::Sent(sent), Ok(())),
            Err((permit, batch)) => (Direct::Permitted(permit), Err(batch)),
        };
        state.direct = direct;
        Some(result)
    }

    pub fn forbid(&self) -> Forbidden {
        let (forbidden, was_read) = {
            let mut state = lock(&self.state);
            let was_read = state.target_to_read().is_some();
            state.is_for_loop = false;
            let exchanges = mem::take(&mut state.exchanges);
            (Forbidden { direct: mem::take(&mut state.direct), exchanges }, was_read)
        };
        if let (true, Some(orders)) = (was_read, self.orders.get()) {
            // The thread is to let go of the socket.
            orders.signal.wake();
        }
        forbidden
    }

    pub fn has_sent(&self) -> bool {
        matches!(lock(&self.state).direct, Direct::Sent(_))
    }

    /// The seconds that a batch has been under way, 0 where none is, and what was answered since the last time.
    pub fn figures(&self) -> (f64, Exchanges) {
        let mut state = lock(&self.state);
        let seconds = match &state.direct {
            Direct::Sent(sent) => sent.sent_at.elapsed().as_secs_f64(),
            _ => 0.0,
        };
        (seconds, mem::take(&mut state.exchanges))
    }

    /// Ends the thread, if there is one.
    pub fn end(&self) {
        if let Some(orders) = self.orders.get() {
            orders.end();
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

impl Drop for DirectSend {
    fn drop(&mut self) {
        self.end();
    }
}

struct AnswerThread {
    state: Arc<Mutex<State>>,
    queues: Weak<SharedQueues>,
    event_loop: Arc<Signal>,
    orders: Arc<Orders>,
}

impl AnswerThread {
    fn run(&self) {
        while !self.orders.shall_end.load(Ordering::Acquire) {
            let target = lock(&self.state).target_to_read().map(Arc::clone);
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

    /// Takes in what is on the socket, unless the loop has it back.
    fn read(&self, target: &Arc<Target>) {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        if !state.target_to_read().is_some_and(|present| Arc::ptr_eq(present, target)) {
            return;
        }
        state.direct = match mem::take(&mut state.direct) {
            Direct::Sent(mut sent) => match receive(&target.socket, &mut sent.received) {
                Received::Part => Direct::Sent(sent),
                Received::Frame => match self.take_in(sent, &mut state.exchanges) {
                    Ok(permit) => Direct::Permitted(permit),
                    Err(sent) => {
                        self.leave_to_loop(state);
                        Direct::Sent(*sent)
                    }
                },
                Received::Other => {
                    self.leave_to_loop(state);
                    Direct::Sent(sent)
                }
            },
            // Nothing is due.
            other => {
                self.leave_to_loop(state);
                other
            }
        };
    }

    /// Decides a batch whose answer has come, and gives the permit for the next one; or the batch, if that is the loop's.
    fn take_in(&self, sent: DirectlySent, exchanges: &mut Exchanges) -> Result<Permit, Box<DirectlySent>> {
        let target = &sent.permit.target;
        let answer = &sent.received[LENGTH_BYTES..];
        let taken = taken(answer, sent.permit.correlation_id, &target.topic_key, target.partition as i32);
        let is_decided = sent.unsent.is_empty()
            && taken.is_some_and(|at| sent.batch.deliver_untold(at.base_offset, at.log_append_time));
        if !is_decided {
            return Err(Box::new(sent));
        }
        if let Some(queues) = self.queues.upgrade() {
            queues.release(&sent.batch);
        }
        let records = sent.batch.record_count();
        exchanges.0 += 1;
        exchanges.1 += records as u64;
        exchanges.2 += sent.batch_bytes as u64;
        exchanges.3 += sent.frame_bytes as u64;
        exchanges.4 += sent.received.len() as u64;
        exchanges.5 += sent.sent_at.elapsed().as_secs_f64() * 1000.0;
        Ok(sent.permit.next(records))
    }
}

enum Received {
    /// The rest is yet to come.
    Part,
    Frame,
    /// More than one answer, or the end of the connection.
    Other,
}

fn receive(socket: &OwnedFd, received: &mut Vec<u8>) -> Received {
    let mut bytes = [0; MOST_ANSWER_BYTES];
    loop {
        match recv(socket, &mut bytes[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Received::Other,
            Ok((count, _)) => received.extend_from_slice(&bytes[..count]),
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => return Received::Part,
            Err(_) => return Received::Other,
        }
        let Some(length) = received.first_chunk() else { continue };
        let whole = LENGTH_BYTES + u32::from_be_bytes(*length) as usize;
        if received.len() == whole {
            return Received::Frame;
        }
        if whole > MOST_ANSWER_BYTES || received.len() > whole {
            return Received::Other;
        }
    }
}

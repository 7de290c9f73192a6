//! Connections that are lent for sending, one for each leader, and what came of each when it is taken back.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, Weak};

use pyo3::prelude::*;

use crate::compression::Compression;
use crate::loan::{Back, Courier};
use crate::locks::{lock, lock_unless_forked};
use crate::producing::lent::Lent;
use crate::python::os::sockets::wait_for_either;
use crate::python::os::waker::Signal;
use crate::python::produce::direct_send::{DirectlySent, Terms};
use crate::python::produce::leader_courier::{Exchanges, LeaderCourier};
use crate::python::produce::producer_batch::ProducerBatch;
use crate::python::produce::shared_queues::SharedQueues;
use crate::signal::{Wait, Wake};

impl Wait<Arc<OwnedFd>> for Signal {
    fn wait(&self, socket: Option<&Arc<OwnedFd>>) -> io::Result<bool> {
        wait_for_either(self, socket.map(AsRef::as_ref))
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

type LentTo = Lent<LeaderCourier, Signal, Owner>;

pub struct DirectSend {
    /// By the leader's id, also those that are not lent at present.
    leaders: Mutex<Arc<Vec<(i32, LentTo)>>>,
    queues: Weak<SharedQueues>,
    codec: (Compression, Option<i32>),
    event_loop: Option<Arc<Signal>>,
}

/// A batch, its partition's seat, its request's correlation id, the seconds since that was sent, the batch's bytes and
/// the request's.
type SentBatch = (Py<ProducerBatch>, usize, i32, f64, usize, usize);

#[pyclass(frozen, get_all, module = "barnabas._kernel")]
pub struct DirectReturn {
    correlation_id: i32,
    records_delivered: Vec<(usize, u64)>,
    exchanges: Vec<(usize, Exchanges)>,
    sent: Vec<SentBatch>,
    unsent: Vec<u8>,
    received: Vec<u8>,
}

impl DirectReturn {
    fn of(py: Python<'_>, mut courier: LeaderCourier, back: Back<DirectlySent>) -> PyResult<Self> {
        let mut batches = Vec::with_capacity(back.under_way.len());
        let mut unsent = Vec::new();
        for sent in back.under_way {
            let seconds = sent.sent_at.elapsed().as_secs_f64();
            let batch = Py::new(py, sent.batch)?;
            batches.push((
                batch,
                sent.seat,
                sent.correlation_id,
                seconds,
                sent.batch_bytes,
                sent.frame_bytes,
            ));
            // Nothing is sent behind what is not sent whole.
            unsent = sent.unsent;
        }
        Ok(Self {
            correlation_id: courier.correlation_id().wrapping_sub(1) & i32::MAX,
            records_delivered: courier.records_delivered(),
            exchanges: courier.take_exchanges(),
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
        Self { leaders: Mutex::default(), queues: Arc::downgrade(queues), codec, event_loop }
    }

    pub fn lend(&self, leader_id: i32, terms: Terms) -> io::Result<()> {
        if terms.reads_answers && self.event_loop.is_none() {
            return Err(io::Error::other("there is no event loop to leave answers to"));
        }
        let courier = LeaderCourier::new(terms, Weak::clone(&self.queues), self.codec);
        let lent = self.of(leader_id).unwrap_or_else(|| {
            let lent = Lent::new(Owner(self.event_loop.clone()));
            Arc::make_mut(&mut lock(&self.leaders)).push((leader_id, lent.clone()));
            lent
        });
        lent.lend(courier, Signal::new)
    }

    /// Has what waits at the partition sent, now or by a thread; whether the loop need not.
    pub fn send(&self, topic: &str, partition: u32) -> bool {
        self.leaders().iter().any(|(_, lent)| lent.send(|courier| courier.note(topic, partition)))
    }

    /// Has all that waits sent, also what lingers; whether the loop need not.
    pub fn send_all(&self) -> bool {
        let Some(queues) = self.queues.upgrade() else { return false };
        let waiting: Vec<_> = {
            let mut queues = queues.lock();
            let (waiting, _) = queues.due(f64::INFINITY, 0.0);
            waiting.map(|(topic, partition)| (Arc::clone(topic), partition as u32)).collect()
        };
        let leaders = self.leaders();
        // All are noted before any leaves, so that none has to wait for the answer to another.
        let is_all_lent = waiting.iter().all(|(topic, partition)| {
            leaders
                .iter()
                .any(|(_, lent)| lent.holds(|courier| courier.note(topic.as_ref().as_ref(), *partition)))
        });
        let (mut is_any_lent, mut is_all_sent) = (false, true);
        for (_, lent) in leaders.iter() {
            let mut has_waiting = false;
            let is_sent = lent.send(|courier| {
                is_any_lent = true;
                has_waiting = courier.has_waiting();
                has_waiting
            });
            is_all_sent &= is_sent || !has_waiting;
        }
        is_any_lent && is_all_lent && is_all_sent
    }

    /// Whether what waits at the partition can be sent without the loop, when somebody asks for it.
    pub fn holds(&self, topic: &str, partition: u32) -> bool {
        self.leaders().iter().any(|(_, lent)| lent.holds(|courier| courier.is_for(topic, partition)))
    }

    /// None where nothing was lent.
    pub fn take_back(&self, py: Python<'_>, leader_id: i32) -> PyResult<Option<DirectReturn>> {
        let taken = self.of(leader_id).and_then(|lent| lent.take_back());
        taken.map(|(courier, back)| DirectReturn::of(py, courier, back)).transpose()
    }

    pub fn has_sent(&self) -> bool {
        let leaders = self.leaders();
        leaders.iter().any(|(_, lent)| lent.look(|_, loan| !loan.under_way().is_empty()) == Some(true))
    }

    /// The seconds that a batch has been under way, 0 where none is, and what was answered since the last time.
    pub fn figures(&self, leader_id: i32) -> (f64, Vec<(usize, Exchanges)>) {
        let figures = self.of(leader_id).and_then(|lent| {
            lent.look(|courier, loan| {
                let oldest = loan.under_way().front();
                let seconds = oldest.map_or(0.0, |sent| sent.sent_at.elapsed().as_secs_f64());
                (seconds, courier.take_exchanges())
            })
        });
        figures.unwrap_or_default()
    }

    /// Ends the threads, and gives up what is under way. To be called with the interpreter lock before the queues are
    /// dropped: what batches refer to in Python is dropped here, and never by a thread. Also in the child of a fork.
    pub fn end(&self) {
        let Some(leaders) = lock_unless_forked(&self.leaders).map(|leaders| Arc::clone(&leaders)) else {
            return;
        };
        for (_, lent) in leaders.iter() {
            drop(lent.end());
        }
    }

    fn leaders(&self) -> Arc<Vec<(i32, LentTo)>> {
        Arc::clone(&lock(&self.leaders))
    }

    fn of(&self, leader_id: i32) -> Option<LentTo> {
        let leaders = self.leaders();
        leaders.iter().find(|(id, _)| *id == leader_id).map(|(_, lent)| lent.clone())
    }
}

//! `DirectFetches`: what a thread waits with that polls for records, and how it fetches meanwhile, without the event
//! loop and without the interpreter lock.
//!
//! The loop lends it connections that wait for the answer to a fetch. As long as answers are ordinary and small, the
//! thread that waits takes them in and sends the next fetch. Everything else is given back to the loop, as bytes that
//! were received and a request that is under way, as if the loop had sent it.
//!
//! The lock is held for moments, never by a thread that waits for the interpreter lock.

use std::io;
use std::mem;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::fetching::by_waiting::{Fetching, LentFetches};
use crate::fetching::in_bulk::{Counts, Listeners};
use crate::fetching::{Arrival, Partition, Records, Session, moved};
use crate::frame_bytes::LENGTH_BYTES;
use crate::loan::{Answer, Courier, Departure};
use crate::locks::lock;
use crate::python::consume::bulk_fetch::{self, FetchCredit, Received, SessionPlace, SocketBulkFetch};
use crate::python::consume::reader::RecordReader;
use crate::python::objects::receive_buffer::ReceiveBuffer;
use crate::python::os::sockets::{duplicate, send_all};
use crate::python::os::waker::{Signal, Waker};
use crate::records::Limits;
use crate::shared_bytes::SharedBytes;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, Mutex};

/// A larger frame is for whoever receives frames into memory of their own.
const MOST_FRAME_BYTES: usize = 32 << 10;
const MAX_DECOMPRESSED_BYTES: usize = 1 << 30;
/// Nobody waits for longer in one go.
const LONGEST_WAIT_SECONDS: f64 = 1e9;

/// For each partition what Python calls it by, and its topic's name.
type Names = Arc<Vec<(Py<PyAny>, Py<PyString>)>>;

/// A socket, and the session on it, as long as answers are small.
struct SmallFetching {
    socket: Arc<OwnedFd>,
    session: Session,
    names: Names,
    arrived: Vec<Arrived>,
    counts: Counts,
    /// The places of partitions that moved, of which the broker is to be told.
    told: Vec<usize>,
    /// A request left in part only.
    is_broken: bool,
}

impl Courier for SmallFetching {
    /// When it was sent.
    type Request = Instant;
    type Line = Arc<OwnedFd>;

    fn line(&self) -> Option<Arc<OwnedFd>> {
        Some(Arc::clone(&self.socket))
    }

    fn max_in_flight(&self) -> usize {
        1
    }

    fn send(&mut self) -> Departure<Instant> {
        let request = self.session.next_request(&self.told);
        let sent_at = Instant::now();
        if !send_all(&self.socket, &request) {
            self.is_broken = true;
            return Departure::SentInPart(sent_at);
        }
        self.counts.requests += 1;
        self.counts.bytes_sent += request.len() as u64;
        Departure::Sent(sent_at)
    }

    fn receive(&mut self, received: &mut Vec<u8>) -> bool {
        let start = received.len();
        received.resize(LENGTH_BYTES + MOST_FRAME_BYTES, 0);
        let outcome = recv(&*self.socket, &mut received[start..], RecvFlags::DONTWAIT);
        let count = outcome.as_ref().map_or(0, |(count, _)| *count);
        received.truncate(start + count);
        self.counts.bytes_received += count as u64;
        match outcome {
            // The loop sees the end for itself.
            Ok((count, _)) => count > 0,
            Err(error) => matches!(error, Errno::AGAIN | Errno::INTR),
        }
    }

    fn settle(&mut self, sent_at: &Instant, received: &[u8]) -> Answer {
        let Some(length) = received.first_chunk::<LENGTH_BYTES>() else { return Answer::Partial };
        let length = u32::from_be_bytes(*length) as usize;
        if length > MOST_FRAME_BYTES {
            return Answer::Foreign;
        }
        if received.len() < LENGTH_BYTES + length {
            return Answer::Partial;
        }
        // No answer is under way but this one, so nothing can follow it.
        let frame = SharedBytes::new(received[LENGTH_BYTES..].to_vec());
        let Some(arrivals) = self.session.take_answer(&frame) else { return Answer::Foreign };
        self.counts.answers += 1;
        self.counts.milliseconds += sent_at.elapsed().as_secs_f64() * 1000.0;
        self.told = moved(&arrivals);
        self.arrived.extend(arrivals.into_iter().map(|arrival| Arrived {
            names: Arc::clone(&self.names),
            index: self.session.partitions[arrival.partition].index,
            arrival,
        }));
        Answer::Settled(received.len())
    }
}

impl Fetching for SmallFetching {
    type Arrival = Arrived;

    fn take_arrived(&mut self) -> Vec<Arrived> {
        mem::take(&mut self.arrived)
    }
}

/// A session that a thread of its own carries on.
struct LentInBulk {
    id: u64,
    fetch: SocketBulkFetch,
    names: Names,
    indexes: Vec<i32>,
}

struct Arrived {
    names: Names,
    index: i32,
    arrival: Arrival,
}

#[derive(Default)]
struct InBulk {
    lent: Vec<LentInBulk>,
    /// Of those that were taken back.
    arrived: Vec<Arrived>,
}

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct DirectFetches {
    by_waiting: LentFetches<SmallFetching, Signal>,
    in_bulk: Mutex<InBulk>,
    waited_at: Mutex<Option<Instant>>,
    next_id: AtomicU64,
    signal: Arc<Signal>,
    /// Wakes the loop, for connections to be taken back.
    loop_signal: Arc<Signal>,
    /// In bulk.
    has_arrived: Arc<AtomicBool>,
    is_lent: AtomicBool,
    is_waiting: AtomicBool,
}

fn named(names: &Names, indexes: &[i32], arrivals: Vec<Arrival>) -> impl Iterator<Item = Arrived> {
    arrivals.into_iter().map(|arrival| Arrived {
        names: Arc::clone(names),
        index: indexes[arrival.partition],
        arrival,
    })
}

enum Waited {
    /// There is something to look at.
    Something,
    /// The time is over.
    Nothing,
    /// A signal came.
    Interrupted,
}

impl DirectFetches {
    fn wait_until(&self, deadline: Instant) -> io::Result<Waited> {
        loop {
            let Some(sockets) = self.by_waiting.lines().filter(|_| !self.has_arrived()) else {
                // Whoever waited for it was interrupted before it took it.
                return Ok(Waited::Something);
            };
            let mut polled = Vec::with_capacity(1 + sockets.len());
            polled.push(PollFd::from_borrowed_fd(self.signal.descriptor(), PollFlags::IN));
            polled.extend(sockets.iter().map(|(_, socket)| PollFd::new(&**socket, PollFlags::IN)));
            let remaining = deadline.saturating_duration_since(Instant::now());
            let timeout =
                Timespec { tv_sec: remaining.as_secs() as i64, tv_nsec: remaining.subsec_nanos().into() };
            match poll(&mut polled, Some(&timeout)) {
                Ok(0) => return Ok(Waited::Nothing),
                Ok(_) => {}
                Err(Errno::INTR) => return Ok(Waited::Interrupted),
                Err(error) => return Err(error.into()),
            }
            let mut has_something = false;
            for ((id, _), polled) in sockets.iter().zip(&polled[1..]) {
                if !polled.revents().is_empty() {
                    has_something |= self.by_waiting.take_in(*id);
                }
            }
            if !polled[0].revents().is_empty() {
                self.signal.clear();
                has_something = true;
            }
            if has_something {
                return Ok(Waited::Something);
            }
        }
    }
}

type LentPartition<'py> = (Py<PyAny>, Bound<'py, PyString>, [u8; 16], i32, i32, i64, i32, i32);
/// Counts since the last time: answers, requests, bytes received and sent, milliseconds that answers took, all together.
type Figures = (u64, u64, u64, u64, f64);

fn figures(counts: Counts) -> Figures {
    (counts.answers, counts.requests, counts.bytes_received, counts.bytes_sent, counts.milliseconds)
}

/// What became of a fetch that was lent.
#[pyclass(frozen, get_all, module = "barnabas._kernel")]
pub struct TakenBack {
    correlation_id: i32,
    session_epoch: i32,
    seconds_under_way: Option<f64>,
    received: Vec<u8>,
    frame: Option<(Py<ReceiveBuffer>, usize)>,
    is_broken: bool,
    places: Vec<(i64, i32)>,
    figures: Figures,
}

#[pymethods]
impl DirectFetches {
    #[new]
    fn new() -> PyResult<Self> {
        let loop_signal = Arc::new(Signal::new()?);
        Ok(Self {
            by_waiting: LentFetches::new(Arc::clone(&loop_signal)),
            in_bulk: Mutex::default(),
            waited_at: Mutex::default(),
            next_id: AtomicU64::new(1),
            signal: Arc::new(Signal::new()?),
            loop_signal,
            has_arrived: Arc::default(),
            is_lent: AtomicBool::new(false),
            is_waiting: AtomicBool::new(false),
        })
    }

    #[getter]
    fn loop_waker(&self) -> Waker {
        Waker(Arc::clone(&self.loop_signal))
    }

    fn wake(&self) {
        self.signal.wake();
    }

    fn clear(&self) {
        if self.signal.is_due() {
            self.signal.clear();
        }
    }

    #[getter]
    fn is_lent(&self) -> bool {
        self.is_lent.load(Ordering::Acquire)
    }

    #[getter]
    fn has_arrived(&self) -> bool {
        self.has_arrived.load(Ordering::Acquire)
    }

    fn wait(&self, py: Python<'_>, timeout: f64) -> PyResult<()> {
        let deadline = Instant::now() + Duration::from_secs_f64(timeout.clamp(0.0, LONGEST_WAIT_SECONDS));
        self.is_waiting.store(true, Ordering::Release);
        let outcome = loop {
            match py.detach(|| self.wait_until(deadline)) {
                Ok(Waited::Something | Waited::Nothing) => break Ok(()),
                Ok(Waited::Interrupted) => {
                    if let Err(error) = py.check_signals() {
                        break Err(error);
                    }
                }
                Err(error) => break Err(error.into()),
            }
        };
        *lock(&self.waited_at) = Some(Instant::now());
        self.is_waiting.store(false, Ordering::Release);
        outcome
    }

    fn seconds_since_wait(&self) -> f64 {
        if self.is_waiting.load(Ordering::Acquire) {
            return 0.0;
        }
        lock(&self.waited_at).map_or(f64::INFINITY, |at| at.elapsed().as_secs_f64())
    }

    #[pyo3(signature = (socket, request, partitions, *, check_crcs, reads_committed, max_decompressed_bytes=MAX_DECOMPRESSED_BYTES))]
    fn lend(
        &self,
        socket: i32,
        request: &[u8],
        partitions: Vec<LentPartition<'_>>,
        check_crcs: bool,
        reads_committed: bool,
        max_decompressed_bytes: usize,
    ) -> PyResult<u64> {
        let limits = Limits { check_crcs, max_decompressed_bytes };
        let (session, names) = session(request, partitions, limits, reads_committed)?;
        let socket = Arc::new(duplicate(socket)?);
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (arrived, counts) = (Vec::new(), Counts::default());
        let courier =
            SmallFetching { socket, session, names, arrived, counts, told: Vec::new(), is_broken: false };
        self.by_waiting.lend(id, courier, Instant::now());
        self.is_lent.store(true, Ordering::Release);
        // A thread that waits already looks at the new one, too.
        self.signal.wake();
        Ok(id)
    }

    #[pyo3(signature = (socket, request, partitions, credit, end_offsets, *, check_crcs, reads_committed, max_decompressed_bytes=MAX_DECOMPRESSED_BYTES))]
    #[allow(clippy::too_many_arguments)]
    fn lend_in_bulk(
        &self,
        socket: i32,
        request: &[u8],
        partitions: Vec<LentPartition<'_>>,
        credit: &FetchCredit,
        end_offsets: Vec<i64>,
        check_crcs: bool,
        reads_committed: bool,
        max_decompressed_bytes: usize,
    ) -> PyResult<u64> {
        let limits = Limits { check_crcs, max_decompressed_bytes };
        let (session, names) = session(request, partitions, limits, reads_committed)?;
        let indexes = session.partitions.iter().map(|partition| partition.index).collect();
        let listeners = Listeners {
            has_arrived: Arc::clone(&self.has_arrived),
            taker: Arc::clone(&self.signal),
            owner: Arc::clone(&self.loop_signal),
        };
        let socket = duplicate(socket)?;
        let mut in_bulk = lock(&self.in_bulk);
        let fetch = bulk_fetch::start(socket, session, credit, end_offsets, listeners)?;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        in_bulk.lent.push(LentInBulk { id, fetch, names, indexes });
        Ok(id)
    }

    /// The ids of those that the loop has to take back.
    fn over(&self) -> Vec<u64> {
        let mut over = self.by_waiting.left();
        let in_bulk = lock(&self.in_bulk);
        over.extend(in_bulk.lent.iter().filter(|lent| lent.fetch.has_left()).map(|lent| lent.id));
        over
    }

    fn take_back(&self, py: Python<'_>, id: u64) -> PyResult<Option<TakenBack>> {
        let lent = {
            let mut in_bulk = lock(&self.in_bulk);
            let place = in_bulk.lent.iter().position(|lent| lent.id == id);
            place.map(|place| in_bulk.lent.swap_remove(place))
        };
        if let Some(lent) = lent {
            return self.take_back_bulk(py, lent).map(Some);
        }
        let Some((courier, back)) = self.by_waiting.take_back(id) else { return Ok(None) };
        self.is_lent.store(!self.by_waiting.is_empty(), Ordering::Release);
        let place = SessionPlace::of(&courier.session);
        Ok(Some(TakenBack {
            correlation_id: place.correlation_id,
            session_epoch: place.epoch,
            seconds_under_way: back.under_way.front().map(|sent_at| sent_at.elapsed().as_secs_f64()),
            received: back.received,
            frame: None,
            is_broken: courier.is_broken,
            places: place.partitions,
            figures: figures(courier.counts),
        }))
    }

    /// For each that is lent, the seconds that its fetch has been under way, and what it counted.
    fn figures(&self) -> Vec<(u64, f64, Figures)> {
        let mut all = self.by_waiting.look(|id, courier, loan| {
            let seconds = loan.under_way().front().map_or(0.0, |sent_at| sent_at.elapsed().as_secs_f64());
            (id, seconds, figures(mem::take(&mut courier.counts)))
        });
        all.extend(lock(&self.in_bulk).lent.iter().map(|lent| {
            let (seconds, counts) = lent.fetch.figures();
            (lent.id, seconds, figures(counts))
        }));
        all
    }

    fn take_arrivals(&self, py: Python<'_>, into: &Bound<'_, PyList>) -> PyResult<()> {
        let arrived = {
            // What is fetched in bulk follows what was fetched otherwise.
            let mut arrived = self.by_waiting.take_arrived();
            self.has_arrived.store(false, Ordering::Release);
            let mut in_bulk = lock(&self.in_bulk);
            arrived.append(&mut in_bulk.arrived);
            for lent in &in_bulk.lent {
                arrived.extend(named(&lent.names, &lent.indexes, lent.fetch.take_arrived()));
            }
            arrived
        };
        for Arrived { names, index, arrival } in arrived {
            let (name, topic) = &names[arrival.partition];
            let watermarks = (arrival.high_watermark, arrival.last_stable_offset, arrival.log_start_offset);
            let records = match arrival.records {
                None => None,
                Some(Records { cursor, size, fetch_offset, end_offset, leader_epoch }) => {
                    let reader = Py::new(py, RecordReader::of(topic.bind(py), index, cursor))?;
                    Some((reader, fetch_offset, end_offset, size, leader_epoch))
                }
            };
            into.append((name, watermarks, records).into_pyobject(py)?)?;
        }
        Ok(())
    }
}

impl DirectFetches {
    fn take_back_bulk(&self, py: Python<'_>, lent: LentInBulk) -> PyResult<TakenBack> {
        let LentInBulk { fetch, names, indexes, .. } = lent;
        let outcome = py.detach(|| fetch.take_back());
        lock(&self.in_bulk).arrived.extend(named(&names, &indexes, outcome.arrived));
        let (mut received, mut frame) = (Vec::new(), None);
        match outcome.leftover {
            Some(Received::Length(prefix, count)) => received = prefix[..count].to_vec(),
            Some(Received::Frame(buffer, count)) => frame = Some((Py::new(py, buffer)?, count)),
            None => {}
        }
        Ok(TakenBack {
            correlation_id: outcome.place.correlation_id,
            session_epoch: outcome.place.epoch,
            seconds_under_way: outcome.seconds_under_way,
            received,
            frame,
            is_broken: outcome.is_broken,
            places: outcome.place.partitions,
            figures: figures(outcome.counts),
        })
    }
}

fn session(
    request: &[u8],
    partitions: Vec<LentPartition<'_>>,
    limits: Limits,
    reads_committed: bool,
) -> PyResult<(Session, Names)> {
    let mut names = Vec::with_capacity(partitions.len());
    let mut known = Vec::with_capacity(partitions.len());
    for (name, topic, topic_id, index, leader_epoch, fetch_offset, last_fetched_epoch, max_bytes) in
        partitions
    {
        names.push((name, topic.unbind()));
        known.push(Partition { topic_id, index, leader_epoch, fetch_offset, last_fetched_epoch, max_bytes });
    }
    let session = Session::new(request, known, limits, reads_committed)
        .ok_or_else(|| PyValueError::new_err("the request is no fetch of a session without topics"))?;
    Ok((session, Arc::new(names)))
}

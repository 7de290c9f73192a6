//! `DirectFetches`: what a thread waits with that polls for records, and how it fetches meanwhile, without the event
//! loop and without the interpreter lock.
//!
//! The loop lends it connections that wait for the answer to a fetch. As long as answers are ordinary and small, the
//! thread that waits takes them in and sends the next fetch. Everything else is given back to the loop, as bytes that
//! were received and a request that is under way, as if the loop had sent it.
//!
//! The lock is held for moments, never by a thread that waits for the interpreter lock.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::fetching::{Arrival, Partition, Records, Session, moved};
use crate::frame_bytes::LENGTH_BYTES;
use crate::python::consume::bulk_fetch::{BulkFetch, Counts, FetchCredit, Listeners};
use crate::python::consume::reader::RecordReader;
use crate::python::objects::receive_buffer::ReceiveBuffer;
use crate::python::os::sockets::{duplicate, send_all};
use crate::python::os::waker::{Signal, Waker};
use crate::records::Limits;
use crate::shared_bytes::SharedBytes;

/// A larger frame is for whoever receives frames into memory of their own.
const MOST_FRAME_BYTES: usize = 32 << 10;
const MAX_DECOMPRESSED_BYTES: usize = 1 << 30;
/// Nobody waits for longer in one go.
const LONGEST_WAIT_SECONDS: f64 = 1e9;

/// For each partition what Python calls it by, and its topic's name.
type Names = Arc<Vec<(Py<PyAny>, Py<PyString>)>>;

struct Lent {
    id: u64,
    socket: Arc<OwnedFd>,
    session: Session,
    names: Names,
    received: Vec<u8>,
    sent_at: Instant,
    counts: Counts,
    /// The loop has to see to it.
    is_over: bool,
    /// A request left in part only.
    is_broken: bool,
}

/// A session that a thread of its own carries on.
struct LentInBulk {
    id: u64,
    fetch: BulkFetch,
    names: Names,
    indexes: Vec<i32>,
}

struct Arrived {
    names: Names,
    index: i32,
    arrival: Arrival,
}

#[derive(Default)]
struct State {
    lent: Vec<Lent>,
    in_bulk: Vec<LentInBulk>,
    arrived: Vec<Arrived>,
    next_id: u64,
    waited_at: Option<Instant>,
}

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct DirectFetches {
    state: Mutex<State>,
    signal: Arc<Signal>,
    /// Wakes the loop, for connections to be taken back.
    loop_signal: Arc<Signal>,
    /// In bulk.
    has_arrived: Arc<AtomicBool>,
    is_lent: AtomicBool,
    is_waiting: AtomicBool,
}

impl Lent {
    /// Takes in what has arrived. Whether there is something new for the caller, or for the loop.
    fn receive(&mut self, arrived: &mut Vec<Arrived>) -> bool {
        let start = self.received.len();
        self.received.resize(LENGTH_BYTES + MOST_FRAME_BYTES, 0);
        let outcome = recv(&*self.socket, &mut self.received[start..], RecvFlags::DONTWAIT);
        match outcome {
            Ok((count, _)) => self.received.truncate(start + count),
            Err(_) => self.received.truncate(start),
        }
        match outcome {
            // The loop sees the end for itself.
            Ok((0, _)) => self.is_over = true,
            Ok((count, _)) => {
                self.counts.bytes_received += count as u64;
                self.take_frame(arrived);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.is_over = true,
        }
        self.is_over || !arrived.is_empty()
    }

    fn take_frame(&mut self, arrived: &mut Vec<Arrived>) {
        let Some(length) = self.received.first_chunk::<LENGTH_BYTES>() else { return };
        let length = u32::from_be_bytes(*length) as usize;
        if length > MOST_FRAME_BYTES {
            self.is_over = true;
            return;
        }
        let end = LENGTH_BYTES + length;
        if self.received.len() < end {
            return;
        }
        // No answer is under way but this one, so nothing can follow it.
        let frame = SharedBytes::new(self.received[LENGTH_BYTES..].to_vec());
        let Some(arrivals) = self.session.take_answer(&frame) else {
            self.is_over = true;
            return;
        };
        self.received.clear();
        self.counts.answers += 1;
        self.counts.milliseconds += self.sent_at.elapsed().as_secs_f64() * 1000.0;
        let request = self.session.next_request(&moved(&arrivals));
        self.sent_at = Instant::now();
        if send_all(&self.socket, &request) {
            self.counts.requests += 1;
            self.counts.bytes_sent += request.len() as u64;
        } else {
            (self.is_over, self.is_broken) = (true, true);
        }
        arrived.extend(arrivals.into_iter().map(|arrival| Arrived {
            names: Arc::clone(&self.names),
            index: self.session.partitions[arrival.partition].index,
            arrival,
        }));
    }
}

impl LentInBulk {
    fn named(&self, arrivals: Vec<Arrival>) -> impl Iterator<Item = Arrived> + '_ {
        arrivals.into_iter().map(|arrival| Arrived {
            names: Arc::clone(&self.names),
            index: self.indexes[arrival.partition],
            arrival,
        })
    }
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
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until(&self, deadline: Instant) -> io::Result<Waited> {
        loop {
            let sockets: Vec<(u64, Arc<OwnedFd>)> = {
                let state = self.lock();
                if !state.arrived.is_empty() || self.has_arrived() {
                    // Whoever waited for it was interrupted before it took it.
                    return Ok(Waited::Something);
                }
                let lent = state.lent.iter().filter(|lent| !lent.is_over);
                lent.map(|lent| (lent.id, Arc::clone(&lent.socket))).collect()
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
                    has_something |= self.receive(*id);
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

    fn receive(&self, id: u64) -> bool {
        let mut guard = self.lock();
        let state = &mut *guard;
        // It may have been taken back meanwhile.
        let Some(lent) = state.lent.iter_mut().find(|lent| lent.id == id && !lent.is_over) else {
            return false;
        };
        let has_something = lent.receive(&mut state.arrived);
        if lent.is_over {
            self.loop_signal.wake();
        }
        has_something
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
        Ok(Self {
            state: Mutex::default(),
            signal: Arc::new(Signal::new()?),
            loop_signal: Arc::new(Signal::new()?),
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
        self.lock().waited_at = Some(Instant::now());
        self.is_waiting.store(false, Ordering::Release);
        outcome
    }

    fn seconds_since_wait(&self) -> f64 {
        if self.is_waiting.load(Ordering::Acquire) {
            return 0.0;
        }
        self.lock().waited_at.map_or(f64::INFINITY, |at| at.elapsed().as_secs_f64())
    }

    #[pyo3(signature = (socket, request, partitions, *, check_crcs, reads_committed))]
    fn lend(
        &self,
        socket: i32,
        request: &[u8],
        partitions: Vec<LentPartition<'_>>,
        check_crcs: bool,
        reads_committed: bool,
    ) -> PyResult<u64> {
        let (session, names) = session(request, partitions, check_crcs, reads_committed)?;
        let socket = Arc::new(duplicate(socket)?);
        let mut state = self.lock();
        state.next_id += 1;
        let id = state.next_id;
        state.lent.push(Lent {
            id,
            socket,
            session,
            names,
            received: Vec::new(),
            sent_at: Instant::now(),
            counts: Counts::default(),
            is_over: false,
            is_broken: false,
        });
        drop(state);
        self.is_lent.store(true, Ordering::Release);
        // A thread that waits already looks at the new one, too.
        self.signal.wake();
        Ok(id)
    }

    #[pyo3(signature = (socket, request, partitions, credit, end_offsets, *, check_crcs, reads_committed))]
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
    ) -> PyResult<u64> {
        let (session, names) = session(request, partitions, check_crcs, reads_committed)?;
        let indexes = session.partitions.iter().map(|partition| partition.index).collect();
        let listeners = Listeners {
            has_arrived: Arc::clone(&self.has_arrived),
            consumer: Arc::clone(&self.signal),
            event_loop: Arc::clone(&self.loop_signal),
        };
        let socket = duplicate(socket)?;
        let mut state = self.lock();
        let fetch = BulkFetch::start(socket, session, credit, end_offsets, listeners)?;
        state.next_id += 1;
        let id = state.next_id;
        state.in_bulk.push(LentInBulk { id, fetch, names, indexes });
        Ok(id)
    }

    /// The ids of those that the loop has to take back.
    fn over(&self) -> Vec<u64> {
        let state = self.lock();
        let lent = state.lent.iter().filter(|lent| lent.is_over).map(|lent| lent.id);
        lent.chain(state.in_bulk.iter().filter(|lent| lent.fetch.has_ended()).map(|lent| lent.id)).collect()
    }

    fn take_back(&self, py: Python<'_>, id: u64) -> PyResult<Option<TakenBack>> {
        let mut state = self.lock();
        if let Some(place) = state.in_bulk.iter().position(|lent| lent.id == id) {
            let lent = state.in_bulk.swap_remove(place);
            drop(state);
            return self.take_back_bulk(py, &lent).map(Some);
        }
        let Some(place) = state.lent.iter().position(|lent| lent.id == id) else { return Ok(None) };
        let lent = state.lent.swap_remove(place);
        self.is_lent.store(!state.lent.is_empty(), Ordering::Release);
        drop(state);
        let session = &lent.session;
        Ok(Some(TakenBack {
            correlation_id: session.correlation_id,
            session_epoch: session.epoch,
            seconds_under_way: Some(lent.sent_at.elapsed().as_secs_f64()),
            received: lent.received,
            frame: None,
            is_broken: lent.is_broken,
            places: session.partitions.iter().map(|p| (p.fetch_offset, p.last_fetched_epoch)).collect(),
            figures: figures(lent.counts),
        }))
    }

    /// For each that is lent, the seconds that its fetch has been under way, and what it counted.
    fn figures(&self) -> Vec<(u64, f64, Figures)> {
        let mut state = self.lock();
        let lent = state.lent.iter_mut().map(|lent| {
            (lent.id, lent.sent_at.elapsed().as_secs_f64(), figures(std::mem::take(&mut lent.counts)))
        });
        let mut all: Vec<_> = lent.collect();
        all.extend(state.in_bulk.iter().map(|lent| {
            let (seconds, counts) = lent.fetch.figures();
            (lent.id, seconds, figures(counts))
        }));
        all
    }

    fn take_arrivals(&self, py: Python<'_>, into: &Bound<'_, PyList>) -> PyResult<()> {
        let arrived = {
            let mut state = self.lock();
            self.has_arrived.store(false, Ordering::Release);
            let mut arrived = std::mem::take(&mut state.arrived);
            for lent in &state.in_bulk {
                arrived.extend(lent.named(lent.fetch.take_arrived()));
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
    fn take_back_bulk(&self, py: Python<'_>, lent: &LentInBulk) -> PyResult<TakenBack> {
        let outcome = py.detach(|| lent.fetch.end());
        self.lock().arrived.extend(lent.named(outcome.arrived));
        let frame = match outcome.ended.frame {
            Some((buffer, received)) => Some((Py::new(py, buffer)?, received)),
            None => None,
        };
        Ok(TakenBack {
            correlation_id: outcome.correlation_id,
            session_epoch: outcome.epoch,
            seconds_under_way: outcome.seconds_under_way,
            received: outcome.ended.received,
            frame,
            is_broken: outcome.ended.is_broken,
            places: outcome.places,
            figures: figures(outcome.counts),
        })
    }
}

fn session(
    request: &[u8],
    partitions: Vec<LentPartition<'_>>,
    check_crcs: bool,
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
    let limits = Limits { check_crcs, max_decompressed_bytes: MAX_DECOMPRESSED_BYTES };
    let session = Session::new(request, known, limits, reads_committed)
        .ok_or_else(|| PyValueError::new_err("the request is no fetch of a session without topics"))?;
    Ok((session, Arc::new(names)))
}

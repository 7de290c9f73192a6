//! `BulkFetch`: a fetch session that a thread of its own carries on while answers are large and ordinary;
//! `FetchCredit`: how its consumer tells it what was taken.
//!
//! The thread receives each answer into memory of its own, takes it in, and sends the next request as soon as there is
//! room for what comes. It holds no Python objects and needs no interpreter lock. It ends, and says so, at anything that
//! is not for it: then the event loop goes on from what was received and from the request that is under way.
//!
//! After a fork there is no thread in the child, where all this may only be dropped: that takes no lock.

use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;
use std::{io, thread};

use pyo3::prelude::*;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::fetch_room::FetchRoom;
use crate::fetching::{Arrival, Session, moved};
use crate::frame_bytes::LENGTH_BYTES;
use crate::locks::lock;
use crate::python::objects::receive_buffer::ReceiveBuffer;
use crate::python::os::sockets::{send_all, wait_for_either};
use crate::python::os::waker::Signal;
use crate::shared_bytes::SharedBytes;

/// A smaller answer comes at the end of what there is to fetch.
const LEAST_FRAME_BYTES: usize = 64 << 10;
const MOST_FRAME_BYTES: usize = 256 << 20;

/// What is added up while a connection is lent.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub answers: u64,
    pub requests: u64,
    pub bytes_received: u64,
    pub bytes_sent: u64,
    pub milliseconds: f64,
}

/// The room for what a thread fetches, and what wakes the thread.
struct Account {
    room: Mutex<FetchRoom>,
    /// For the thread: there is room again, or it shall end.
    signal: Signal,
    awaits_room: AtomicBool,
    shall_end: AtomicBool,
}

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct FetchCredit(Arc<Account>);

#[pymethods]
impl FetchCredit {
    #[new]
    fn new(queued: Vec<usize>, partition_bytes: usize) -> PyResult<Self> {
        Ok(Self(Arc::new(Account {
            room: Mutex::new(FetchRoom::new(queued, partition_bytes)),
            signal: Signal::new()?,
            awaits_room: AtomicBool::new(false),
            shall_end: AtomicBool::new(false),
        })))
    }

    fn was_taken(&self, place: usize, bytes: usize) {
        let mut room = lock(&self.0.room);
        room.was_taken(place, bytes);
        if self.0.awaits_room.load(Ordering::Acquire) && room.bytes().is_some() {
            self.0.signal.wake();
        }
    }
}

/// Who is told of what a thread does.
#[derive(Clone)]
pub struct Listeners {
    /// Set when something has arrived, which then also wakes the consumer.
    pub has_arrived: Arc<AtomicBool>,
    pub consumer: Arc<Signal>,
    /// Woken when a thread has ended.
    pub event_loop: Arc<Signal>,
}

/// What a thread leaves behind.
#[derive(Default)]
pub struct Ended {
    /// The beginning of a frame with its length, or of the frame without it, in memory of its own.
    pub received: Vec<u8>,
    pub frame: Option<(ReceiveBuffer, usize)>,
    /// A request left in part only.
    pub is_broken: bool,
}

struct Progress {
    correlation_id: i32,
    epoch: i32,
    /// Fetch offset and last fetched epoch of each partition.
    places: Vec<(i64, i32)>,
    sent_at: Instant,
    is_under_way: bool,
    arrived: Vec<Arrival>,
    counts: Counts,
    ended: Option<Ended>,
}

struct Shared {
    socket: OwnedFd,
    account: Arc<Account>,
    progress: Mutex<Progress>,
    has_ended: Condvar,
    listeners: Listeners,
}

pub struct BulkFetch {
    shared: Arc<Shared>,
}

/// What became of a session that was lent.
pub struct Outcome {
    pub correlation_id: i32,
    pub epoch: i32,
    pub places: Vec<(i64, i32)>,
    /// Since the request under way was sent; None where none is.
    pub seconds_under_way: Option<f64>,
    pub arrived: Vec<Arrival>,
    pub counts: Counts,
    pub ended: Ended,
}

impl BulkFetch {
    /// `end_offsets`: no partition is fetched from there on.
    pub fn start(
        socket: OwnedFd,
        session: Session,
        credit: &FetchCredit,
        end_offsets: Vec<i64>,
        listeners: Listeners,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            socket,
            account: Arc::clone(&credit.0),
            progress: Mutex::new(Progress {
                correlation_id: session.correlation_id,
                epoch: session.epoch,
                places: places(&session),
                sent_at: Instant::now(),
                is_under_way: true,
                arrived: Vec::new(),
                counts: Counts::default(),
                ended: None,
            }),
            has_ended: Condvar::new(),
            listeners,
        });
        let most_bytes = session.max_bytes();
        let ended = Ended::default();
        let mut thread = FetchThread { shared: Arc::clone(&shared), session, end_offsets, most_bytes, ended };
        thread::Builder::new().name("barnabas-fetch".to_owned()).spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| while thread.fetch().is_some() {}));
            thread.ended.is_broken |= outcome.is_err();
            let is_expected = thread.shall_end();
            let FetchThread { shared, ended, .. } = thread;
            lock(&shared.progress).ended = Some(ended);
            shared.has_ended.notify_all();
            if !is_expected {
                shared.listeners.event_loop.wake();
            }
        })?;
        Ok(Self { shared })
    }

    pub fn has_ended(&self) -> bool {
        lock(&self.shared.progress).ended.is_some()
    }

    pub fn take_arrived(&self) -> Vec<Arrival> {
        std::mem::take(&mut lock(&self.shared.progress).arrived)
    }

    /// The seconds that a request has been under way, 0 where none is, and what was counted since the last time.
    pub fn figures(&self) -> (f64, Counts) {
        let mut progress = lock(&self.shared.progress);
        let age = if progress.is_under_way { progress.sent_at.elapsed().as_secs_f64() } else { 0.0 };
        (age, std::mem::take(&mut progress.counts))
    }

    /// Has the thread end, which takes moments.
    pub fn end(&self) -> Outcome {
        self.shared.account.shall_end.store(true, Ordering::Release);
        self.shared.account.signal.wake();
        let mut progress = lock(&self.shared.progress);
        let ended = loop {
            if let Some(ended) = progress.ended.take() {
                break ended;
            }
            progress = self.shared.has_ended.wait(progress).unwrap_or_else(PoisonError::into_inner);
        };
        Outcome {
            correlation_id: progress.correlation_id,
            epoch: progress.epoch,
            places: std::mem::take(&mut progress.places),
            seconds_under_way: progress.is_under_way.then(|| progress.sent_at.elapsed().as_secs_f64()),
            arrived: std::mem::take(&mut progress.arrived),
            counts: std::mem::take(&mut progress.counts),
            ended,
        }
    }
}

impl Drop for BulkFetch {
    fn drop(&mut self) {
        self.shared.account.shall_end.store(true, Ordering::Release);
        self.shared.account.signal.wake();
    }
}

fn places(session: &Session) -> Vec<(i64, i32)> {
    session.partitions.iter().map(|p| (p.fetch_offset, p.last_fetched_epoch)).collect()
}

struct FetchThread {
    shared: Arc<Shared>,
    session: Session,
    end_offsets: Vec<i64>,
    most_bytes: i32,
    ended: Ended,
}

impl FetchThread {
    /// Takes in one answer and sends the next request. None when that is all.
    fn fetch(&mut self) -> Option<()> {
        let buffer = self.receive_frame()?;
        let size = buffer.size();
        let arrivals = buffer.frozen().and_then(|bytes| self.session.take_answer(&SharedBytes::new(bytes)));
        let Some(arrivals) = arrivals else {
            self.ended.frame = Some((buffer, size));
            return None;
        };
        drop(buffer);
        let told = moved(&arrivals);
        {
            let mut room = lock(&self.shared.account.room);
            for arrival in &arrivals {
                room.came(arrival.partition, arrival.records.as_ref().map_or(0, |records| records.size));
            }
        }
        {
            let mut progress = lock(&self.shared.progress);
            progress.places = places(&self.session);
            progress.is_under_way = false;
            progress.counts.answers += 1;
            progress.counts.bytes_received += (LENGTH_BYTES + size) as u64;
            progress.counts.milliseconds += progress.sent_at.elapsed().as_secs_f64() * 1000.0;
        }
        // The broker begins with the next answer while this one is taken.
        let room = self.room();
        if let Some(room) = room {
            self.send_request(room, &told);
        }
        lock(&self.shared.progress).arrived.extend(arrivals);
        self.shared.listeners.has_arrived.store(true, Ordering::Release);
        self.shared.listeners.consumer.wake();
        if room.is_none() {
            let room = self.await_room()?;
            self.send_request(room, &told);
        }
        (!self.ended.is_broken).then_some(())
    }

    fn shall_end(&self) -> bool {
        self.shared.account.shall_end.load(Ordering::Acquire)
    }

    fn is_at_an_end(&self) -> bool {
        self.session.partitions.iter().zip(&self.end_offsets).any(|(p, &end)| p.fetch_offset >= end)
    }

    /// How many bytes may be asked for at once.
    fn room(&self) -> Option<usize> {
        if self.shall_end() || self.is_at_an_end() {
            return None;
        }
        lock(&self.shared.account.room).bytes()
    }

    /// Waits for room, which there is none of while the consumer is slower than the broker. None where there is no use in
    /// that.
    fn await_room(&mut self) -> Option<usize> {
        let account = Arc::clone(&self.shared.account);
        account.awaits_room.store(true, Ordering::Release);
        let room = loop {
            if self.shall_end() || self.is_at_an_end() {
                break None;
            }
            let room = lock(&account.room).bytes();
            if room.is_some() {
                break room;
            }
            // Nothing is due on the socket: it is readable when the broker has hung up.
            if self.wait_for_socket()? {
                break None;
            }
        };
        account.awaits_room.store(false, Ordering::Release);
        room
    }

    fn send_request(&mut self, room: usize, told: &[usize]) {
        let largest = self.session.partitions.iter().map(|p| p.max_bytes).max().unwrap_or(0);
        let max_bytes = i32::try_from(room).unwrap_or(i32::MAX).max(largest).min(self.most_bytes);
        self.session.set_max_bytes(max_bytes);
        let request = self.session.next_request(told);
        {
            let mut progress = lock(&self.shared.progress);
            (progress.correlation_id, progress.epoch) = (self.session.correlation_id, self.session.epoch);
            progress.sent_at = Instant::now();
            progress.is_under_way = true;
            progress.counts.requests += 1;
            progress.counts.bytes_sent += request.len() as u64;
        }
        self.ended.is_broken = !send_all(&self.shared.socket, &request);
    }

    fn receive_frame(&mut self) -> Option<ReceiveBuffer> {
        let mut prefix = [0; LENGTH_BYTES];
        let received = self.receive_all(&mut prefix);
        let length = u32::from_be_bytes(prefix) as usize;
        if received < LENGTH_BYTES || !(LEAST_FRAME_BYTES..=MOST_FRAME_BYTES).contains(&length) {
            self.ended.received = prefix[..received].to_vec();
            return None;
        }
        let buffer = ReceiveBuffer::new(length);
        let received = buffer.writer(0).map_or(0, |mut writer| self.receive_all(writer.rest()));
        if received < length {
            self.ended.frame = Some((buffer, received));
            return None;
        }
        Some(buffer)
    }

    /// How many bytes came; all, unless the thread shall end, or the event loop is to see why no more come.
    fn receive_all(&self, bytes: &mut [u8]) -> usize {
        let mut received = 0;
        while received < bytes.len() && !self.shall_end() {
            match recv(&self.shared.socket, &mut bytes[received..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => break,
                Ok((count, _)) => received += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    if self.wait_for_socket().is_none() {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        received
    }

    /// Until there is something to read, or the thread is woken. Whether there is something to read.
    fn wait_for_socket(&self) -> Option<bool> {
        wait_for_either(&self.shared.account.signal, Some(&self.shared.socket)).ok()
    }
}

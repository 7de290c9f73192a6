//! A fetch session that a thread of its own carries on while answers are large and ordinary, on a socket; `FetchCredit`:
//! how its consumer tells it what was taken. Who may use the connection when is for `fetching::in_bulk`.
//!
//! The thread receives each answer into memory of its own, takes it in, and sends the next request as soon as there is
//! room for what comes. It holds no Python objects and needs no interpreter lock.
//!
//! After a fork there is no thread in the child, where all this may only be dropped: that takes no lock.

use std::io;
use std::os::fd::OwnedFd;

use pyo3::prelude::*;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::fetch_room::FetchRoom;
use crate::fetching::in_bulk::{Account, BulkCourier, BulkFetch, Listeners, Receipt};
use crate::fetching::{Arrival, Session, moved};
use crate::frame_bytes::LENGTH_BYTES;
use crate::python::objects::receive_buffer::ReceiveBuffer;
use crate::python::os::sockets::{send_all, wait_for_either};
use crate::python::os::waker::Signal;
use crate::shared_bytes::SharedBytes;
use crate::signal::Wait;
use crate::sync::Arc;

/// A smaller answer comes at the end of what there is to fetch.
const LEAST_FRAME_BYTES: usize = 64 << 10;
const MOST_FRAME_BYTES: usize = 256 << 20;

pub type SocketBulkFetch = BulkFetch<BulkSocket, Signal, Signal, Signal>;

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct FetchCredit(Arc<Account<Signal>>);

#[pymethods]
impl FetchCredit {
    #[new]
    fn new(queued: Vec<usize>, partition_bytes: usize) -> PyResult<Self> {
        Ok(Self(Arc::new(Account::new(FetchRoom::new(queued, partition_bytes), Signal::new()?))))
    }

    fn was_taken(&self, place: usize, bytes: usize) {
        self.0.was_taken(place, bytes);
    }
}

/// Where a session stands.
#[derive(Default)]
pub struct SessionPlace {
    pub correlation_id: i32,
    pub epoch: i32,
    /// Fetch offset and last fetched epoch of each partition.
    pub partitions: Vec<(i64, i32)>,
}

impl SessionPlace {
    pub fn of(session: &Session) -> Self {
        Self {
            correlation_id: session.correlation_id,
            epoch: session.epoch,
            partitions: session.partitions.iter().map(|p| (p.fetch_offset, p.last_fetched_epoch)).collect(),
        }
    }
}

/// The beginning of an answer.
pub enum Received {
    /// Of its length.
    Length([u8; LENGTH_BYTES], usize),
    /// So many bytes behind its length, in memory of its own.
    Frame(ReceiveBuffer, usize),
}

/// A socket that nobody else uses, and the session on it.
pub struct BulkSocket {
    socket: OwnedFd,
    session: Session,
    /// No partition is fetched from there on.
    end_offsets: Vec<i64>,
    most_bytes: i32,
    received: Received,
    /// The places of partitions that moved, of which the broker is to be told.
    told: Vec<usize>,
}

impl BulkSocket {
    fn new(socket: OwnedFd, session: Session, end_offsets: Vec<i64>) -> Self {
        let (most_bytes, received) = (session.max_bytes(), Received::Length([0; LENGTH_BYTES], 0));
        Self { socket, session, end_offsets, most_bytes, received, told: Vec::new() }
    }

    /// How many bytes came into what there is room for.
    fn receive_some(&mut self) -> rustix::io::Result<usize> {
        let socket = &self.socket;
        let count = match &mut self.received {
            Received::Length(prefix, received) => {
                let (count, _) = recv(socket, &mut prefix[*received..], RecvFlags::DONTWAIT)?;
                *received += count;
                count
            }
            Received::Frame(buffer, received) => {
                let Some(mut writer) = buffer.writer(*received) else { return Ok(0) };
                let (count, _) = recv(socket, writer.rest(), RecvFlags::DONTWAIT)?;
                *received += count;
                count
            }
        };
        Ok(count)
    }

    /// What it is that has come.
    fn cut(&mut self) -> Receipt<Arrival> {
        match &self.received {
            Received::Length(prefix, LENGTH_BYTES) => {
                let length = u32::from_be_bytes(*prefix) as usize;
                if !(LEAST_FRAME_BYTES..=MOST_FRAME_BYTES).contains(&length) {
                    return Receipt::Foreign;
                }
                self.received = Received::Frame(ReceiveBuffer::new(length), 0);
                Receipt::Part
            }
            Received::Frame(buffer, received) if *received == buffer.size() => {
                let frame = buffer.frozen().map(SharedBytes::new);
                let Some(arrivals) = frame.and_then(|frame| self.session.take_answer(&frame)) else {
                    return Receipt::Foreign;
                };
                self.told = moved(&arrivals);
                let bytes = (LENGTH_BYTES + *received) as u64;
                self.received = Received::Length([0; LENGTH_BYTES], 0);
                Receipt::Answer(arrivals, bytes)
            }
            _ => Receipt::Part,
        }
    }
}

impl BulkCourier for BulkSocket {
    type Line = OwnedFd;
    type Arrival = Arrival;
    type Place = SessionPlace;
    type Leftover = Received;

    fn line(&self) -> &OwnedFd {
        &self.socket
    }

    fn receive(&mut self) -> Receipt<Arrival> {
        match self.receive_some() {
            // The event loop is to see the end for itself, and what is wrong.
            Ok(0) => Receipt::Foreign,
            Ok(_) => self.cut(),
            Err(Errno::INTR) => Receipt::Part,
            Err(Errno::AGAIN) => Receipt::Nothing,
            Err(_) => Receipt::Foreign,
        }
    }

    fn room_taken(arrival: &Arrival) -> (usize, usize) {
        (arrival.partition, arrival.records.as_ref().map_or(0, |records| records.size))
    }

    fn is_at_an_end(&self) -> bool {
        self.session.partitions.iter().zip(&self.end_offsets).any(|(p, &end)| p.fetch_offset >= end)
    }

    fn send(&mut self, most_bytes: usize) -> Option<u64> {
        let largest = self.session.partitions.iter().map(|p| p.max_bytes).max().unwrap_or(0);
        let max_bytes = i32::try_from(most_bytes).unwrap_or(i32::MAX).max(largest).min(self.most_bytes);
        self.session.set_max_bytes(max_bytes);
        let request = self.session.next_request(&self.told);
        send_all(&self.socket, &request).then_some(request.len() as u64)
    }

    fn place(&self) -> SessionPlace {
        SessionPlace::of(&self.session)
    }

    fn into_leftover(self) -> Received {
        self.received
    }
}

impl Wait<OwnedFd> for Signal {
    fn wait(&self, socket: Option<&OwnedFd>) -> io::Result<bool> {
        wait_for_either(self, socket)
    }
}

/// Raises: as the system, where it has no more threads.
pub fn start(
    socket: OwnedFd,
    session: Session,
    credit: &FetchCredit,
    end_offsets: Vec<i64>,
    listeners: Listeners<Signal, Signal>,
) -> io::Result<SocketBulkFetch> {
    BulkFetch::start(BulkSocket::new(socket, session, end_offsets), Arc::clone(&credit.0), listeners)
}

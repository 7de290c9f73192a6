//! Who sends what waits for one leader on its lent connection, and settles it: small batches, each in a request of its
//! own. Here are the sockets, the batches and the queues; who may use the connection when is for `producing::lent`.
//!
//! While a batch is under way, the next is left to the thread that reads answers: records that are handed over one right
//! after the other gather until it has woken, and leave as one batch a partition. Each as a batch of its own would take
//! the broker as long again.
//!
//! The thread drops nothing that is Python's. After a fork there is none in the child, where all this may only be
//! dropped.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::mem;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use pyo3::prelude::*;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::compression::Compression;
use crate::frame_bytes::LENGTH_BYTES;
use crate::loan::{Answer, Courier, Departure};
use crate::producing::{Waiting, taken};
use crate::python::produce::direct_send::{DirectlySent, Target, Terms};
use crate::python::produce::producer_batch::ClosedBatch;
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

/// A partition's, by its seat.
#[derive(Default)]
struct Figures {
    /// With this loan.
    records_delivered: u64,
    /// Since the loop last took them.
    exchanges: Exchanges,
    /// Whether it is among those that wait.
    is_waiting: bool,
}

pub struct LeaderCourier {
    terms: Terms,
    queues: Weak<SharedQueues>,
    codec: (Compression, Option<i32>),
    figures: Vec<Figures>,
    /// The seats, sorted by partition and topic.
    by_place: Vec<usize>,
    /// Seats where something is to leave, the first first.
    waiting: VecDeque<usize>,
}

impl LeaderCourier {
    pub fn new(terms: Terms, queues: Weak<SharedQueues>, codec: (Compression, Option<i32>)) -> Self {
        let seats = &terms.seats;
        let figures = seats.iter().map(|_| Figures::default()).collect();
        let mut by_place: Vec<_> = (0..seats.len()).collect();
        by_place.sort_unstable_by_key(|&seat| place_of(&seats[seat].target));
        Self { terms, queues, codec, figures, by_place, waiting: VecDeque::new() }
    }

    pub fn correlation_id(&self) -> i32 {
        self.terms.correlation_id
    }

    /// Whether a partition is one of these.
    pub fn is_for(&self, topic: &str, partition: u32) -> bool {
        self.seat(topic, partition).is_some()
    }

    /// Something waits at a partition, and is to leave; whether it is one of these.
    pub fn note(&mut self, topic: &str, partition: u32) -> bool {
        let Some(seat) = self.seat(topic, partition) else { return false };
        if !mem::replace(&mut self.figures[seat].is_waiting, true) {
            self.waiting.push_back(seat);
        }
        true
    }

    fn seat(&self, topic: &str, partition: u32) -> Option<usize> {
        let seats = &self.terms.seats;
        let found = self.by_place.binary_search_by(|&seat| order(&seats[seat].target, (partition, topic)));
        found.ok().map(|found| self.by_place[found])
    }

    /// By seat, where any were: the records that were delivered with this loan.
    pub fn records_delivered(&self) -> Vec<(usize, u64)> {
        let delivered = self.figures.iter().map(|figures| figures.records_delivered).enumerate();
        delivered.filter(|(_, records)| *records > 0).collect()
    }

    /// By seat, where there were any: what was answered since the last time.
    pub fn take_exchanges(&mut self) -> Vec<(usize, Exchanges)> {
        let exchanges = self.figures.iter_mut().map(|figures| &mut figures.exchanges).enumerate();
        exchanges
            .filter(|(_, exchanges)| exchanges.count > 0)
            .map(|(seat, exchanges)| (seat, mem::take(exchanges)))
            .collect()
    }
}

fn place_of(target: &Target) -> (u32, &str) {
    (target.partition, &target.topic)
}

fn order(target: &Target, place: (u32, &str)) -> Ordering {
    place_of(target).cmp(&place)
}

impl Courier for LeaderCourier {
    type Request = DirectlySent;
    type Line = Arc<OwnedFd>;

    fn line(&self) -> Option<Arc<OwnedFd>> {
        self.terms.reads_answers.then(|| Arc::clone(&self.terms.socket))
    }

    fn max_in_flight(&self) -> usize {
        self.terms.max_in_flight
    }

    fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn send(&mut self) -> Departure<DirectlySent> {
        let Some(queues) = self.queues.upgrade() else { return Departure::Refused };
        while let Some(seat) = self.waiting.pop_front() {
            self.figures[seat].is_waiting = false;
            let target = Arc::clone(&self.terms.seats[seat].target);
            let partition = target.partition as usize;
            let taken = {
                let mut queues = queues.lock();
                let Some(queue) = queues.partition(&target.topic, partition) else {
                    return Departure::Refused;
                };
                match queue.take_small() {
                    Some(batch) => batch,
                    None if queue.batches.is_empty() => continue,
                    None => return Departure::Refused,
                }
            };
            let batch = ClosedBatch::from(taken);
            batch.body.seal();
            return match self.terms.send(seat, batch, self.codec) {
                Ok(sent) if sent.unsent.is_empty() => Departure::Sent(sent),
                Ok(sent) => Departure::SentInPart(sent),
                Err(batch) => {
                    queues.lock().put_back(&target.topic, partition, Waiting::Closed(batch));
                    Departure::Refused
                }
            };
        }
        Departure::NothingWaits
    }

    fn receive(&mut self, received: &mut Vec<u8>) -> bool {
        receive(&self.terms.socket, received)
    }

    fn settle(&mut self, sent: &DirectlySent, received: &[u8]) -> Answer {
        let Some(length) = received.first_chunk() else { return Answer::Partial };
        let whole = LENGTH_BYTES + u32::from_be_bytes(*length) as usize;
        if whole > MOST_ANSWER_BYTES {
            return Answer::Foreign;
        }
        let Some(answer) = received.get(LENGTH_BYTES..whole) else { return Answer::Partial };
        let target = &self.terms.seats[sent.seat].target;
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
        let records = sent.batch.record_count() as u64;
        let Figures { records_delivered, exchanges, .. } = &mut self.figures[sent.seat];
        *records_delivered += records;
        exchanges.count += 1;
        exchanges.records += records;
        exchanges.batch_bytes += sent.batch_bytes as u64;
        exchanges.bytes_sent += sent.frame_bytes as u64;
        exchanges.bytes_received += whole as u64;
        exchanges.milliseconds += sent.sent_at.elapsed().as_secs_f64() * 1000.0;
        Answer::Settled(whole)
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

//! lend, poll, take back, rebalance, close; and a panic in each thread: of fetches that a caller takes in, and of those
//! that a thread of their own does.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc as StdArc;
use std::sync::atomic::{AtomicBool as Flag, Ordering as StdOrdering};

use crate::fetch_room::FetchRoom;
use crate::fetching::by_waiting::{Fetching, LentFetches};
use crate::fetching::in_bulk::{Account, BulkCourier, BulkFetch, Listeners, Outcome, Receipt};
use crate::loan::{Answer, Back, Courier, Departure};
use crate::models::checker::{explore, find};
use crate::models::wire::{Orders, Sleeper, Wire};
use crate::signal::{Wait, Wake};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Planned, caught, thread};

const FOREIGN: u8 = 255;
/// Of each record, and of the room for them.
const BYTES: usize = 1;

/// A broker that answers each fetch of an offset by the record there, one byte, and at `end` by what is not for the
/// borrower.
#[derive(Clone)]
struct Broker {
    wire: Arc<Wire>,
    end: u8,
}

impl Broker {
    fn new(end: u8) -> Self {
        let broker = Self { wire: Arc::default(), end };
        broker.wire.set_lent(true);
        broker.fetch(0);
        broker
    }

    fn fetch(&self, offset: u8) {
        self.wire.answer(if offset == self.end { FOREIGN } else { offset });
    }
}

/// A session on the wire.
struct Session {
    broker: Broker,
    next: u8,
    arrived: Vec<u8>,
    received: Vec<u8>,
    /// The next time that something is settled.
    panics: StdArc<Flag>,
}

impl Session {
    fn new(broker: &Broker) -> Self {
        let panics = StdArc::default();
        Self { broker: broker.clone(), next: 0, arrived: Vec::new(), received: Vec::new(), panics }
    }

    fn take(&mut self, answer: u8) -> bool {
        if self.panics.swap(false, StdOrdering::Relaxed) {
            resume_unwind(Box::new(Planned));
        }
        if answer == FOREIGN {
            return false;
        }
        assert_eq!(answer, self.next, "the record at another offset");
        self.next += 1;
        true
    }
}

/// What is left is the answer to the request that is under way.
fn assert_answer_is_left(under_way: Option<u8>, next: u8, mut received: Vec<u8>, broker: &Broker) {
    broker.wire.set_lent(false);
    received.extend(broker.wire.read());
    assert!(under_way.is_none_or(|offset| offset == next));
    let answer = under_way.map(|offset| if offset == broker.end { FOREIGN } else { offset });
    assert_eq!(received, Vec::from_iter(answer));
}

impl Courier for Session {
    /// The offset that is fetched.
    type Request = u8;
    type Line = Arc<Wire>;

    fn line(&self) -> Option<Arc<Wire>> {
        Some(Arc::clone(&self.broker.wire))
    }

    fn max_in_flight(&self) -> usize {
        1
    }

    fn send(&mut self) -> Departure<u8> {
        self.broker.wire.assert_lent();
        self.broker.fetch(self.next);
        Departure::Sent(self.next)
    }

    fn receive(&mut self, received: &mut Vec<u8>) -> bool {
        self.broker.wire.assert_lent();
        received.extend(self.broker.wire.read());
        true
    }

    fn settle(&mut self, _request: &u8, received: &[u8]) -> Answer {
        let Some(&answer) = received.first() else { return Answer::Partial };
        if !self.take(answer) {
            return Answer::Foreign;
        }
        self.arrived.push(answer);
        Answer::Settled(1)
    }
}

impl Fetching for Session {
    type Arrival = u8;

    fn take_arrived(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.arrived)
    }
}

type ByWaiting = LentFetches<Session, Sleeper>;

/// As a caller that polls for as long as anything is lent; what it got.
fn poll(lent: &ByWaiting, orders: &Orders) -> Vec<u8> {
    let mut taken = Vec::new();
    while let Some((id, wire)) = lent.lines().map_or(Some((0, None)), |mut lines| {
        let (id, wire) = lines.pop()?;
        Some((id, Some(wire)))
    }) {
        if wire.is_some_and(|wire| orders.wait(Some(&wire)).unwrap()) {
            let outcome = catch_unwind(AssertUnwindSafe(|| lent.take_in(id)));
            outcome.map_or_else(caught, drop);
        }
        taken.append(&mut lent.take_arrived());
    }
    taken
}

/// Takes the loan back; what arrived and nobody had taken.
fn take_back(lent: &ByWaiting, id: u64, broker: &Broker) -> (Vec<u8>, u8) {
    let (session, Back { under_way, received }) = lent.take_back(id).unwrap();
    assert_answer_is_left(under_way.front().copied(), session.next, received, broker);
    (lent.take_arrived(), session.next)
}

/// A caller polls while the owner takes the loan back.
fn a_poll(end: u8, panics: bool) {
    let broker = Broker::new(end);
    let owner = Arc::new(Sleeper::default());
    let lent = Arc::new(LentFetches::new(Arc::clone(&owner)));
    let orders = Arc::new(Orders::new(&broker.wire));
    let session = Session::new(&broker);
    session.panics.store(panics, StdOrdering::Relaxed);
    lent.lend(1, session, 0);
    let caller = {
        let (lent, orders) = (Arc::clone(&lent), Arc::clone(&orders));
        thread::spawn(move || poll(&lent, &orders))
    };
    if panics || end == 0 {
        owner.wait(|| false);
    }
    let (rest, next) = take_back(&lent, 1, &broker);
    // As who is told that there may be nothing to wait for.
    orders.wake();
    let taken = caller.join().unwrap();
    // Only one of both can have had the lock first, and each takes all that is there.
    let mut all = [taken, rest].concat();
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter(0..next));
}

type InBulk = BulkFetch<Session, Orders, Sleeper, Sleeper>;

impl BulkCourier for Session {
    type Line = Arc<Wire>;
    type Arrival = u8;
    type Place = u8;
    type Leftover = Vec<u8>;

    fn line(&self) -> &Arc<Wire> {
        &self.broker.wire
    }

    fn receive(&mut self) -> Receipt<u8> {
        self.broker.wire.assert_lent();
        self.received = self.broker.wire.read();
        let Some(&answer) = self.received.first() else { return Receipt::Nothing };
        if !self.take(answer) {
            return Receipt::Foreign;
        }
        self.received.clear();
        Receipt::Answer(vec![answer], 1)
    }

    fn room_taken(_record: &u8) -> (usize, usize) {
        (0, BYTES)
    }

    fn is_at_an_end(&self) -> bool {
        false
    }

    fn send(&mut self, _most_bytes: usize) -> Option<u64> {
        self.broker.wire.assert_lent();
        self.broker.fetch(self.next);
        Some(1)
    }

    fn place(&self) -> u8 {
        self.next
    }

    fn into_leftover(self) -> Vec<u8> {
        self.received
    }
}

struct Bulk {
    broker: Broker,
    account: Arc<Account<Orders>>,
    has_arrived: Arc<AtomicBool>,
    taker: Arc<Sleeper>,
    owner: Arc<Sleeper>,
    fetch: InBulk,
}

impl Bulk {
    /// There is room for one record at a time.
    fn start(end: u8, panics: bool) -> Self {
        let broker = Broker::new(end);
        let account = Account::new(FetchRoom::new(vec![0], BYTES), Orders::new(&broker.wire));
        let (account, has_arrived) = (Arc::new(account), Arc::new(AtomicBool::new(false)));
        let (taker, owner) = (Arc::new(Sleeper::default()), Arc::new(Sleeper::default()));
        let listeners = Listeners {
            has_arrived: Arc::clone(&has_arrived),
            taker: Arc::clone(&taker),
            owner: Arc::clone(&owner),
        };
        let session = Session::new(&broker);
        session.panics.store(panics, StdOrdering::Relaxed);
        let fetch = BulkFetch::start(session, Arc::clone(&account), listeners).unwrap();
        Self { broker, account, has_arrived, taker, owner, fetch }
    }

    fn take(&self) -> Vec<u8> {
        self.taker.wait(|| false);
        assert!(self.has_arrived.swap(false, Ordering::AcqRel), "woken for nothing");
        self.fetch.take_arrived()
    }

    /// As the owner.
    fn take_back(self) -> (u8, Vec<u8>) {
        let Outcome { place, arrived, leftover, seconds_under_way, is_broken, .. } = self.fetch.take_back();
        if !is_broken {
            let under_way = seconds_under_way.map(|_| place);
            assert_answer_is_left(under_way, place, leftover.unwrap(), &self.broker);
        }
        (place, arrived)
    }
}

/// The owner asks for the connection at any moment.
fn takes_back_in_bulk() {
    let bulk = Bulk::start(9, false);
    let (next, arrived) = bulk.take_back();
    assert_eq!(arrived, Vec::from_iter(0..next));
}

/// All records come, one after the other, though there is room for one alone.
fn fetches_in_bulk() {
    let bulk = Bulk::start(2, false);
    let mut all = Vec::new();
    while all.len() < 2 {
        let taken = bulk.take();
        bulk.account.was_taken(0, taken.len() * BYTES);
        all.extend(taken);
    }
    assert_eq!(all, [0, 1]);
    bulk.owner.wait(|| false);
    assert!(bulk.fetch.has_left());
    assert_eq!(bulk.take_back(), (2, vec![]));
}

fn panics_in_bulk() {
    let bulk = Bulk::start(9, true);
    bulk.owner.wait(|| false);
    assert_eq!(bulk.take_back(), (0, vec![]));
}

#[test]
fn every_record_is_taken_once_when_the_loan_is_taken_back() {
    explore(|| a_poll(2, false));
}

#[test]
fn what_is_not_for_the_caller_is_left_to_the_owner() {
    explore(|| a_poll(0, false));
}

#[test]
fn a_panic_of_the_caller_leaves_all_to_the_owner() {
    explore(|| a_poll(2, true));
}

#[test]
fn a_thread_that_fetches_in_bulk_leaves_when_it_is_asked_to() {
    explore(takes_back_in_bulk);
}

#[test]
fn a_thread_that_fetches_in_bulk_tells_of_every_record_and_hears_of_room() {
    explore(fetches_in_bulk);
}

#[test]
fn a_panic_of_a_thread_that_fetches_in_bulk_leaves_all_to_the_owner() {
    explore(panics_in_bulk);
}

find! {
    bytes_that_are_dropped_are_found: BytesAreDropped in || a_poll(0, false);
    a_silent_panic_of_the_caller_is_found: PanicIsSilent in || a_poll(2, true);
    a_silent_end_of_the_fetching_thread_is_found: PanicIsSilent in panics_in_bulk;
    who_is_told_too_early_is_found: ToldTooEarly in fetches_in_bulk;
    room_that_is_not_told_is_found: RoomIsNotTold in fetches_in_bulk;
}

//! A connection that is lent to a thread of its own, which fetches ahead of who takes, as far as there is room. Knows
//! neither sockets nor bytes: a `BulkCourier` does.
//!
//! The thread uses its connection without a lock. So the owner asks for it, and waits until the thread has left.

use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::time::Instant;

use crate::fetch_room::FetchRoom;
use crate::loan::Loan;
use crate::locks::lock;
use crate::signal::{Wait, Wake};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Condvar, Fault, Mutex, caught, has, thread};

/// What a look at the connection gave.
pub enum Receipt<A> {
    /// A whole answer in the ordinary course, of so many bytes.
    Answer(Vec<A>, u64),
    /// Part of one: there may be more at once.
    Part,
    /// There is nothing at present.
    Nothing,
    /// It is for the owner.
    Foreign,
}

/// Who fetches on a connection that nobody else uses.
pub trait BulkCourier: Send + 'static {
    type Line;
    type Arrival: Send;
    /// Where the session stands, for the owner to go on from.
    type Place: Send + Default;
    /// What was received and not dealt with, in memory of its own.
    type Leftover: Send;

    fn line(&self) -> &Self::Line;
    fn receive(&mut self) -> Receipt<Self::Arrival>;
    /// The place of its partition, and the bytes of its records.
    fn room_taken(arrival: &Self::Arrival) -> (usize, usize);
    /// Whether nothing more is to be fetched.
    fn is_at_an_end(&self) -> bool;
    /// Sends the next request, for at most about so many bytes, and gives its size. None where it may have left in part
    /// only.
    fn send(&mut self, most_bytes: usize) -> Option<u64>;
    fn place(&self) -> Self::Place;
    fn into_leftover(self) -> Self::Leftover;
}

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
pub struct Account<W> {
    room: Mutex<FetchRoom>,
    /// For the thread: there is room again, or it shall end.
    signal: W,
    awaits_room: AtomicBool,
    shall_end: AtomicBool,
}

impl<W: Wake> Account<W> {
    pub fn new(room: FetchRoom, signal: W) -> Self {
        let (awaits_room, shall_end) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { room: Mutex::new(room), signal, awaits_room, shall_end }
    }

    /// By who takes.
    pub fn was_taken(&self, place: usize, bytes: usize) {
        if has(Fault::RoomIsNotTold) && !self.awaits_room.load(Ordering::Acquire) {
            return lock(&self.room).was_taken(place, bytes);
        }
        let mut room = lock(&self.room);
        room.was_taken(place, bytes);
        // Not before the lock is held: who awaits room looks for it under the lock when it has said so.
        if self.awaits_room.load(Ordering::Acquire) && room.bytes().is_some() {
            self.signal.wake();
        }
    }

    /// Takes no lock: there may be no thread any more, after a fork.
    fn end(&self) {
        self.shall_end.store(true, Ordering::Release);
        self.signal.wake();
    }
}

/// Who is told of what a thread does.
pub struct Listeners<T, O> {
    /// Set when something has arrived, which then also wakes who takes it.
    pub has_arrived: Arc<AtomicBool>,
    pub taker: Arc<T>,
    /// Woken when a thread has left that nobody asked to.
    pub owner: Arc<O>,
}

struct Progress<C: BulkCourier> {
    loan: Loan<Instant>,
    place: C::Place,
    arrived: Vec<C::Arrival>,
    counts: Counts,
    /// A request left in part only, or it is not known what did.
    is_broken: bool,
    /// Of who has left.
    leftover: Option<C::Leftover>,
}

struct Shared<C: BulkCourier, W, T, O> {
    account: Arc<Account<W>>,
    progress: Mutex<Progress<C>>,
    has_left: Condvar,
    listeners: Listeners<T, O>,
}

pub struct BulkFetch<C: BulkCourier, W: Wake, T, O> {
    shared: Arc<Shared<C, W, T, O>>,
}

/// What the owner has back.
pub struct Outcome<C: BulkCourier> {
    pub place: C::Place,
    /// Since the request under way was sent; None where none is.
    pub seconds_under_way: Option<f64>,
    pub arrived: Vec<C::Arrival>,
    pub counts: Counts,
    pub is_broken: bool,
    pub leftover: Option<C::Leftover>,
}

impl<C: BulkCourier, W: Wait<C::Line>, T: Wake, O: Wake> BulkFetch<C, W, T, O> {
    /// A request is under way. Raises: as the system, where it has no more threads.
    pub fn start(courier: C, account: Arc<Account<W>>, listeners: Listeners<T, O>) -> io::Result<Self> {
        let mut loan = Loan::default();
        loan.lend([Instant::now()]);
        let progress = Progress {
            loan,
            place: courier.place(),
            arrived: Vec::new(),
            counts: Counts::default(),
            is_broken: false,
            leftover: None,
        };
        let has_left = Condvar::new();
        let shared = Arc::new(Shared { account, progress: Mutex::new(progress), has_left, listeners });
        let mut thread = FetchThread { shared: Arc::clone(&shared), courier };
        thread::Builder::new().name("barnabas-fetch".to_owned()).spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| while thread.fetch().is_some() {}));
            if !(outcome.is_err() && has(Fault::PanicIsSilent)) {
                thread.leave(outcome.is_err());
            }
            if let Err(panic) = outcome {
                caught(panic);
            }
        })?;
        Ok(Self { shared })
    }

    pub fn has_left(&self) -> bool {
        lock(&self.shared.progress).loan.is_left()
    }

    pub fn take_arrived(&self) -> Vec<C::Arrival> {
        mem::take(&mut lock(&self.shared.progress).arrived)
    }

    /// The seconds that a request has been under way, 0 where none is, and what was counted since the last time.
    pub fn figures(&self) -> (f64, Counts) {
        let mut progress = lock(&self.shared.progress);
        let age = progress.loan.under_way().front().map_or(0.0, |sent_at| sent_at.elapsed().as_secs_f64());
        (age, mem::take(&mut progress.counts))
    }

    /// Has the thread leave, which takes moments.
    pub fn take_back(self) -> Outcome<C> {
        self.shared.account.end();
        let mut progress = lock(&self.shared.progress);
        while !progress.loan.is_left() {
            progress = self.shared.has_left.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
        let under_way = progress.loan.take_back().map(|back| back.under_way).unwrap_or_default();
        Outcome {
            seconds_under_way: under_way.front().map(|sent_at| sent_at.elapsed().as_secs_f64()),
            arrived: mem::take(&mut progress.arrived),
            counts: mem::take(&mut progress.counts),
            is_broken: progress.is_broken,
            leftover: progress.leftover.take(),
            place: mem::take(&mut progress.place),
        }
    }
}

impl<C: BulkCourier, W: Wake, T, O> Drop for BulkFetch<C, W, T, O> {
    fn drop(&mut self) {
        self.shared.account.end();
    }
}

struct FetchThread<C: BulkCourier, W, T, O> {
    shared: Arc<Shared<C, W, T, O>>,
    courier: C,
}

impl<C: BulkCourier, W: Wait<C::Line>, T: Wake, O: Wake> FetchThread<C, W, T, O> {
    /// Takes in one answer and sends the next request. None when that is all.
    fn fetch(&mut self) -> Option<()> {
        let (arrivals, bytes) = self.receive()?;
        {
            let mut room = lock(&self.shared.account.room);
            for (place, bytes) in arrivals.iter().map(C::room_taken) {
                room.came(place, bytes);
            }
        }
        {
            let mut progress = lock(&self.shared.progress);
            progress.place = self.courier.place();
            progress.counts.answers += 1;
            progress.counts.bytes_received += bytes;
            if let Some(sent_at) = progress.loan.settle(0) {
                progress.counts.milliseconds += sent_at.elapsed().as_secs_f64() * 1000.0;
            }
        }
        // The broker begins with the next answer while this one is taken.
        let room = self.room();
        let mut is_sent = room.is_none_or(|room| self.send(room));
        self.tell(arrivals);
        if room.is_none() {
            let room = self.await_room()?;
            is_sent = self.send(room);
        }
        is_sent.then_some(())
    }

    fn tell(&self, arrivals: Vec<C::Arrival>) {
        let listeners = &self.shared.listeners;
        let tell = || {
            listeners.has_arrived.store(true, Ordering::Release);
            listeners.taker.wake();
        };
        if has(Fault::ToldTooEarly) {
            tell();
        }
        lock(&self.shared.progress).arrived.extend(arrivals);
        if !has(Fault::ToldTooEarly) {
            tell();
        }
    }

    fn shall_end(&self) -> bool {
        self.shared.account.shall_end.load(Ordering::Acquire)
    }

    fn receive(&mut self) -> Option<(Vec<C::Arrival>, u64)> {
        while !self.shall_end() {
            match self.courier.receive() {
                Receipt::Answer(arrivals, bytes) => return Some((arrivals, bytes)),
                Receipt::Part => {}
                Receipt::Nothing => drop(self.wait()?),
                Receipt::Foreign => break,
            }
        }
        None
    }

    /// How many bytes may be asked for at once.
    fn room(&self) -> Option<usize> {
        if self.shall_end() || self.courier.is_at_an_end() {
            return None;
        }
        lock(&self.shared.account.room).bytes()
    }

    /// Waits for room, which there is none of while who takes is slower than the broker. None where there is no use in
    /// that.
    fn await_room(&self) -> Option<usize> {
        let account = &self.shared.account;
        account.awaits_room.store(true, Ordering::Release);
        let room = loop {
            if self.shall_end() || self.courier.is_at_an_end() {
                break None;
            }
            let room = lock(&account.room).bytes();
            if room.is_some() {
                break room;
            }
            // Nothing is due on the line: there is something to read when the broker has hung up.
            if self.wait()? {
                break None;
            }
        };
        account.awaits_room.store(false, Ordering::Release);
        room
    }

    fn send(&mut self, room: usize) -> bool {
        let sent_at = Instant::now();
        let bytes = self.courier.send(room);
        let mut progress = lock(&self.shared.progress);
        progress.place = self.courier.place();
        progress.loan.send(sent_at);
        progress.counts.requests += 1;
        progress.counts.bytes_sent += bytes.unwrap_or(0);
        progress.is_broken = bytes.is_none();
        bytes.is_some()
    }

    /// Until there is something to read, or the thread is woken. Whether there is something to read.
    fn wait(&self) -> Option<bool> {
        self.shared.account.signal.wait(Some(self.courier.line())).ok()
    }

    fn leave(self, is_panic: bool) {
        let Self { shared, courier } = self;
        let is_expected = shared.account.shall_end.load(Ordering::Acquire);
        {
            let mut progress = lock(&shared.progress);
            progress.is_broken |= is_panic;
            progress.leftover = Some(courier.into_leftover());
            progress.loan.leave();
        }
        shared.has_left.notify_all();
        if !is_expected {
            shared.listeners.owner.wake();
        }
    }
}

//! Connections that are lent to whoever waits for what is fetched: it takes in each answer, and sends the next fetch.
//! Knows neither sockets nor bytes: a `Courier` does.
//!
//! All use of the connections is under one lock, which is held for moments, and never while one waits.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::loan::{Back, Courier, Loan};
use crate::locks::lock;
use crate::signal::Wake;
use crate::sync::{Arc, Fault, Mutex, has};

/// Who fetches, one request after the other.
pub trait Fetching: Courier {
    type Arrival: Send;

    /// What the answers brought that were settled since this was asked last.
    fn take_arrived(&mut self) -> Vec<Self::Arrival>;
}

struct Lent<C: Fetching> {
    id: u64,
    loan: Loan<C::Request>,
    courier: C,
}

struct State<C: Fetching> {
    lent: Vec<Lent<C>>,
    arrived: Vec<C::Arrival>,
}

/// `O`: wakes the owner, to take back what was left to it.
pub struct LentFetches<C: Fetching, O> {
    state: Mutex<State<C>>,
    owner: Arc<O>,
}

impl<C: Fetching, O: Wake> LentFetches<C, O> {
    pub fn new(owner: Arc<O>) -> Self {
        Self { state: Mutex::new(State { lent: Vec::new(), arrived: Vec::new() }), owner }
    }

    /// Lends a connection on which one request is under way.
    pub fn lend(&self, id: u64, courier: C, under_way: C::Request) {
        let mut loan = Loan::default();
        loan.lend([under_way]);
        lock(&self.state).lent.push(Lent { id, loan, courier });
    }

    pub fn is_empty(&self) -> bool {
        lock(&self.state).lent.is_empty()
    }

    /// What is to be waited for, of each loan; None where something has arrived that nobody has taken.
    pub fn lines(&self) -> Option<Vec<(u64, C::Line)>> {
        let state = lock(&self.state);
        let lent = state.lent.iter().filter(|lent| lent.loan.is_lent());
        let lines = lent.filter_map(|lent| Some((lent.id, lent.courier.line()?))).collect();
        state.arrived.is_empty().then_some(lines)
    }

    /// Takes in what has come, unless it was taken back meanwhile. Whether there is something new for the caller, or for
    /// the owner.
    pub fn take_in(&self, id: u64) -> bool {
        let mut guard = lock(&self.state);
        let State { lent, arrived } = &mut *guard;
        let is_usable = |lent: &&mut Lent<C>| lent.id == id && lent.loan.is_lent();
        let Some(Lent { loan, courier, .. }) = lent.iter_mut().find(is_usable) else { return false };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            loan.take_in(courier);
            if loan.is_lent() && loan.under_way().is_empty() {
                loan.send_by(courier);
            }
        }));
        arrived.append(&mut courier.take_arrived());
        if outcome.is_err() && loan.is_lent() && !has(Fault::PanicIsSilent) {
            loan.leave();
        }
        let is_left = loan.is_left();
        let is_something = is_left || !arrived.is_empty();
        drop(guard);
        if is_left {
            self.owner.wake();
        }
        if let Err(panic) = outcome {
            resume_unwind(panic);
        }
        is_something
    }

    /// Those that the owner has to take back.
    pub fn left(&self) -> Vec<u64> {
        lock(&self.state).lent.iter().filter(|lent| lent.loan.is_left()).map(|lent| lent.id).collect()
    }

    /// Ends a loan; None where there is none.
    pub fn take_back(&self, id: u64) -> Option<(C, Back<C::Request>)> {
        let mut state = lock(&self.state);
        let place = state.lent.iter().position(|lent| lent.id == id)?;
        let Lent { mut loan, courier, .. } = state.lent.swap_remove(place);
        let mut back = loan.take_back()?;
        if has(Fault::BytesAreDropped) {
            back.received.clear();
        }
        Some((courier, back))
    }

    pub fn take_arrived(&self) -> Vec<C::Arrival> {
        mem::take(&mut lock(&self.state).arrived)
    }

    /// Of each loan.
    pub fn look<T>(&self, mut at: impl FnMut(u64, &mut C, &Loan<C::Request>) -> T) -> Vec<T> {
        let mut state = lock(&self.state);
        state.lent.iter_mut().map(|Lent { id, loan, courier }| at(*id, courier, loan)).collect()
    }
}

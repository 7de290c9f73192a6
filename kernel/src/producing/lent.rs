//! A connection that is lent for writing, or for writing and reading: who hands a record over has it sent, and a thread
//! of its own reads the answers, settles what was sent, and sends what has gathered meanwhile. Knows neither sockets
//! nor bytes: a `Courier` does.
//!
//! All use of the connection is under one lock, which is held for moments: the owner has the connection back as soon as
//! it has taken the loan. What the courier does not understand, or a panic, leaves the loan to its owner, who is woken.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::{io, mem};

use crate::loan::{Back, Courier, Loan};
use crate::locks::{lock, lock_unless_forked};
use crate::signal::{Wait, Wake};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Fault, Mutex, MutexGuard, caught, has, thread};

struct Orders<W> {
    signal: W,
    shall_end: AtomicBool,
}

struct State<C: Courier, W> {
    loan: Loan<C::Request>,
    /// Present while there is a loan.
    courier: Option<C>,
    /// The thread is to send what waits.
    is_due: bool,
    /// Of the thread, while one runs.
    orders: Option<Arc<Orders<W>>>,
}

impl<C: Courier, W> State<C, W> {
    fn reading_line(&self) -> Option<C::Line> {
        let is_ours = self.loan.is_lent() || has(Fault::UsesWhatItLeft);
        if is_ours { self.courier.as_ref()?.line() } else { None }
    }

    /// Sends what waits, as far as it may be under way; the thread goes on with the rest. Whether the owner need not.
    fn send(&mut self) -> bool {
        let Self { loan, courier: Some(courier), is_due, .. } = self else { return false };
        while loan.is_lent() {
            if !courier.has_waiting() {
                return true;
            }
            if loan.under_way().len() >= courier.max_in_flight() {
                *is_due = courier.line().is_some() && !has(Fault::RestIsForgotten);
                return *is_due || has(Fault::RestIsForgotten);
            }
            if !loan.send_by(courier) {
                return false;
            }
        }
        false
    }

    fn take_in(&mut self) {
        if let Self { loan, courier: Some(courier), .. } = self {
            loan.take_in(courier);
        }
    }
}

/// `O`: wakes the owner, to take the loan back, or to send what waits itself. A clone is of the same connection.
pub struct Lent<C: Courier, W, O> {
    shared: Arc<Shared<C, W, O>>,
}

struct Shared<C: Courier, W, O> {
    state: Mutex<State<C, W>>,
    owner: O,
}

impl<C: Courier, W, O: Wake> Shared<C, W, O> {
    /// With the loan left to its owner where `work` panics.
    fn with<T>(&self, mut state: MutexGuard<'_, State<C, W>>, work: impl FnOnce(&mut State<C, W>) -> T) -> T {
        match catch_unwind(AssertUnwindSafe(|| work(&mut state))) {
            Ok(outcome) => outcome,
            Err(panic) => {
                if !has(Fault::PanicIsSilent) {
                    if state.loan.is_lent() {
                        state.loan.leave();
                    }
                    self.owner.wake();
                }
                drop(state);
                resume_unwind(panic)
            }
        }
    }
}

impl<C: Courier, W, O> Clone for Lent<C, W, O> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<C: Courier, W: Wait<C::Line>, O: Wake> Lent<C, W, O> {
    pub fn new(owner: O) -> Self {
        let state = State { loan: Loan::default(), courier: None, is_due: false, orders: None };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), owner }) }
    }

    /// `signal` makes what a thread is woken by, if one has to be started. Raises: as that, or if the system has no more
    /// threads; then nothing is lent.
    pub fn lend(&self, courier: C, signal: impl FnOnce() -> io::Result<W>) -> io::Result<()> {
        let orders = {
            let mut state = lock(&self.shared.state);
            if courier.line().is_some() && state.orders.is_none() {
                state.orders = Some(self.start(signal()?)?);
            }
            state.loan.lend([]);
            let orders = courier.line().and(state.orders.clone());
            state.courier = Some(courier);
            orders
        };
        if let Some(orders) = orders {
            orders.signal.wake();
        }
        Ok(())
    }

    /// Has what waits sent, now or by the thread; whether the owner need not. `is_for` tells the courier what waits, and
    /// whether it is the one who can send that.
    pub fn send(&self, is_for: impl FnOnce(&mut C) -> bool) -> bool {
        let mut state = lock(&self.shared.state);
        if !(state.loan.is_lent() && state.courier.as_mut().is_some_and(is_for)) {
            return false;
        }
        if state.loan.under_way().is_empty() {
            return self.shared.with(state, State::send);
        }
        let Some(orders) = state.reading_line().and(state.orders.clone()) else { return false };
        state.is_due = true;
        drop(state);
        orders.signal.wake();
        true
    }

    /// As `send`, but sends nothing yet.
    pub fn holds(&self, is_for: impl FnOnce(&mut C) -> bool) -> bool {
        let mut state = lock(&self.shared.state);
        state.loan.is_lent() && state.courier.as_mut().is_some_and(is_for)
    }

    /// Ends a loan; None where there is none.
    pub fn take_back(&self) -> Option<(C, Back<C::Request>)> {
        let (courier, mut back, orders) = {
            let mut state = lock(&self.shared.state);
            let orders = state.reading_line().and(state.orders.clone());
            let is_due = mem::take(&mut state.is_due);
            let back = state.loan.take_back()?;
            if is_due && !has(Fault::OrderIsForgotten) {
                self.shared.owner.wake();
            }
            (state.courier.take()?, back, orders)
        };
        if let Some(orders) = orders {
            // The thread is to let go of the line.
            orders.signal.wake();
        }
        if has(Fault::BytesAreDropped) {
            back.received.clear();
        }
        Some((courier, back))
    }

    /// What is lent, where anything is.
    pub fn look<T>(&self, at: impl FnOnce(&mut C, &Loan<C::Request>) -> T) -> Option<T> {
        let mut state = lock(&self.shared.state);
        let State { loan, courier, .. } = &mut *state;
        courier.as_mut().map(|courier| at(courier, loan))
    }

    /// Ends the thread, and gives up what is lent: it is dropped by the caller. Also in the child of a fork, where
    /// there is no thread.
    pub fn end(&self) -> Option<(C, Back<C::Request>)> {
        let mut state = lock_unless_forked(&self.shared.state)?;
        let back = state.loan.take_back();
        let given_up = state.courier.take().zip(back);
        let orders = state.orders.clone();
        drop(state);
        if let Some(orders) = orders {
            orders.shall_end.store(true, Ordering::Release);
            orders.signal.wake();
        }
        given_up
    }

    fn start(&self, signal: W) -> io::Result<Arc<Orders<W>>> {
        let orders = Arc::new(Orders { signal, shall_end: AtomicBool::new(false) });
        let thread = AnswerThread { shared: Arc::clone(&self.shared), orders: Arc::clone(&orders) };
        thread::Builder::new().name("barnabas-answer".to_owned()).spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| thread.run()));
            thread.has_ended();
            if let Err(panic) = outcome {
                caught(panic);
            }
        })?;
        Ok(orders)
    }
}

struct AnswerThread<C: Courier, W, O> {
    shared: Arc<Shared<C, W, O>>,
    orders: Arc<Orders<W>>,
}

impl<C: Courier, W: Wait<C::Line>, O: Wake> AnswerThread<C, W, O> {
    fn run(&self) {
        while !self.orders.shall_end.load(Ordering::Acquire) {
            let line = self.shared.with(lock(&self.shared.state), |state| {
                self.send_what_is_due(state);
                state.reading_line()
            });
            match self.orders.signal.wait(line.as_ref()) {
                Ok(true) => self.read(),
                Ok(false) => {}
                Err(_) => return,
            }
        }
    }

    fn send_what_is_due(&self, state: &mut State<C, W>) {
        let Some(courier) = &state.courier else { return };
        let may_send = state.loan.is_lent() && state.loan.under_way().len() < courier.max_in_flight();
        if may_send && mem::take(&mut state.is_due) && !state.send() {
            self.shared.owner.wake();
        }
    }

    /// Takes in what is on the line, unless it has been taken back since it was waited for.
    fn read(&self) {
        self.shared.with(lock(&self.shared.state), |state| {
            if state.reading_line().is_some() {
                state.take_in();
                if state.loan.is_left() {
                    self.shared.owner.wake();
                }
            }
        });
    }

    /// The next loan has a thread of its own.
    fn has_ended(&self) {
        let mut state = lock(&self.shared.state);
        if !has(Fault::ThreadIsForgotten)
            && state.orders.as_ref().is_some_and(|present| Arc::ptr_eq(present, &self.orders))
        {
            state.orders = None;
        }
        if state.reading_line().is_some() && !has(Fault::PanicIsSilent) {
            state.loan.leave();
            self.shared.owner.wake();
        }
    }
}

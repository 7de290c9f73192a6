//! A signal that one thread waits for and any other gives, by whatever a thread can wait for beside it.

use std::io;

use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Fault, has};

/// What is waited for: ready from `raise` until `reset`.
pub trait Flag {
    fn raise(&self);
    fn reset(&self);
}

/// Wakes somebody.
pub trait Wake: Send + Sync + 'static {
    fn wake(&self);
}

/// Has a thread wait for its orders, and for a line.
pub trait Wait<L>: Wake {
    /// Until the line has something to read, or `wake` was called, which is then seen. Whether the line has.
    fn wait(&self, line: Option<&L>) -> io::Result<bool>;
}

/// Raises its flag once, however often it is woken before somebody has seen it.
pub struct Signal<F> {
    flag: F,
    is_due: AtomicBool,
}

impl<F: Flag> Signal<F> {
    pub fn of(flag: F) -> Self {
        Self { flag, is_due: AtomicBool::new(false) }
    }

    pub fn flag(&self) -> &F {
        &self.flag
    }

    pub fn wake(&self) {
        if !self.is_due.swap(true, Ordering::AcqRel) {
            self.flag.raise();
        }
    }

    pub fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Acquire)
    }

    /// To be called before one looks for what the signal was for.
    pub fn clear(&self) {
        if has(Fault::SignalIsClearedFirst) {
            self.is_due.swap(false, Ordering::AcqRel);
            return self.flag.reset();
        }
        self.flag.reset();
        // Not before: a signal that came in between would be reset, and none would ever follow it. What it was for is
        // seen after this.
        self.is_due.swap(false, Ordering::AcqRel);
    }
}

impl<F: Flag + Send + Sync + 'static> Wake for Signal<F> {
    fn wake(&self) {
        Self::wake(self);
    }
}

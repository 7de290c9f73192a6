//! `Lending`: one source of items at a time, lent by whoever keeps the order of sources, which any thread takes items
//! from one by one, until it is taken back. Knows neither Python nor what the items are.
//!
//! Who takes an item holds the lock of the loan, and may take as long as it likes. The item counts before the lock is
//! let go: the count that comes back with the source has all that was handed out. How far a loan has come is read without the lock
//! (`HandedOut`): the event loop commits by that, and must not wait for a caller.

use std::sync::TryLockError;

use crate::handed_out::{HandedOut, NOTHING, Progress};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Fault, Mutex, MutexGuard, has};

struct Lent<S> {
    source: Option<S>,
    /// Of the last loan. No number is used again.
    progress: Progress,
}

/// What a taker makes of the next item, its offset, and its leader epoch.
pub type Item<T> = (T, i64, i32);

pub struct Lending<S> {
    /// Items of all loans.
    handed_out: AtomicU64,
    lent: Mutex<Lent<S>>,
    /// Of the loan in `lent`, whose lock a writer holds.
    progress: HandedOut,
}

impl<S> Default for Lending<S> {
    fn default() -> Self {
        Self {
            handed_out: AtomicU64::new(0),
            lent: Mutex::new(Lent { source: None, progress: NOTHING }),
            progress: HandedOut::default(),
        }
    }
}

/// `wait` is called again and again while another thread holds the loan.
impl<S> Lending<S> {
    fn hold(&self, wait: impl Fn()) -> MutexGuard<'_, Lent<S>> {
        loop {
            match self.lent.try_lock() {
                Ok(lent) => return lent,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => wait(),
            }
        }
    }

    /// What `take` makes of the next item of what is lent, if it finds any.
    #[inline]
    pub fn next<T, E>(
        &self,
        wait: impl Fn(),
        take: impl FnOnce(&mut S) -> Result<Option<Item<T>>, E>,
    ) -> Result<Option<T>, E> {
        let mut lent = self.hold(&wait);
        let Some(source) = &mut lent.source else { return Ok(None) };
        let Some((made, offset, leader_epoch)) = take(source)? else { return Ok(None) };
        if has(Fault::CountsTooLate) {
            drop(lent);
            lent = self.hold(&wait);
        }
        let progress = &mut lent.progress;
        progress.count += 1;
        progress.next_offset = offset + 1;
        progress.leader_epoch = leader_epoch;
        self.progress.publish(*progress);
        self.handed_out.fetch_add(1, Ordering::Relaxed);
        Ok(Some(made))
    }

    pub fn handed_out(&self) -> u64 {
        self.handed_out.load(Ordering::Relaxed)
    }

    /// Items are handed out of `source` from here on, until `take_back`. The number of this loan.
    pub fn lend(&self, source: S, wait: impl Fn()) -> u64 {
        let mut lent = self.hold(wait);
        let loan = lent.progress.loan + 1;
        lent.progress = Progress { loan, ..NOTHING };
        self.progress.publish(lent.progress);
        let before = lent.source.replace(source);
        drop(lent);
        drop(before);
        loan
    }

    /// How far the present loan has come, if it has and is not just changing. Any thread; waits for nobody.
    pub fn progress(&self) -> Option<Progress> {
        self.progress.read()
    }

    /// Ends `lend`.
    pub fn take_back(&self, wait: impl Fn()) -> Option<(S, Progress)> {
        let mut lent = self.hold(wait);
        self.progress.end();
        Some((lent.source.take()?, lent.progress))
    }
}

//! `LentReader`: the reader that an application's thread takes records from one by one, where they are at hand.
//!
//! Holds one reader at a time, lent by whoever keeps the order of partitions. The lock of the loan is the callers':
//! whoever holds it may decode. How far a loan has come is for everyone, and is read without it (`HandedOut`): the event
//! loop commits by that, and must not wait for a caller.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use pyo3::prelude::*;

use crate::handed_out::{HandedOut, Progress};
use crate::python::consume::reader::RecordReader;
use crate::python::consume::record::RecordMaker;

/// How long a thread waits for another that reads before it looks again.
const READING_WAIT: Duration = Duration::from_micros(50);

const NOTHING: Progress = Progress { loan: 0, count: 0, next_offset: -1, leader_epoch: -1 };

/// What a loan was, when it has ended: its number, its reader, how many records were handed out of it, the offset
/// behind the last of them, and its leader epoch (both -1 if there was none).
pub type Returned = (u64, Py<RecordReader>, u64, i64, i32);

/// What is lent, and how far it has come. Loans have numbers, which are never used again.
struct Lent {
    reader: Option<Py<RecordReader>>,
    progress: Progress,
}

pub struct LentReader {
    needs_attention: AtomicBool,
    /// Records handed out so far, of all readers.
    handed_out: AtomicU64,
    loans: AtomicU64,
    lent: Mutex<Lent>,
    /// Of the loan in `lent`, whose lock a writer holds.
    progress: HandedOut,
}

impl Default for LentReader {
    fn default() -> Self {
        Self {
            needs_attention: AtomicBool::new(false),
            handed_out: AtomicU64::new(0),
            loans: AtomicU64::new(0),
            lent: Mutex::new(Lent { reader: None, progress: NOTHING }),
            progress: HandedOut::default(),
        }
    }
}

impl LentReader {
    /// The reader, for this thread alone. Whoever reads may have given up the interpreter lock, and needs it again
    /// to finish: so this never waits with it.
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Lent> {
        loop {
            match self.lent.try_lock() {
                Ok(lent) => return lent,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => py.detach(|| std::thread::sleep(READING_WAIT)),
            }
        }
    }

    /// What `maker` makes of the next record that is lent, if there is any. Raises: CorruptBatchError.
    pub fn next<M: RecordMaker>(&self, py: Python<'_>, maker: &M) -> PyResult<Option<M::Made>> {
        let mut lent = self.lock(py);
        let lent = &mut *lent;
        let Some(reader) = &lent.reader else { return Ok(None) };
        let mut reader = reader.bind(py).try_borrow_mut()?;
        let Some((made, offset)) = reader.next(py, maker)? else { return Ok(None) };
        lent.progress.count += 1;
        lent.progress.next_offset = offset + 1;
        lent.progress.leader_epoch = reader.leader_epoch();
        self.progress.publish(lent.progress);
        self.handed_out.fetch_add(1, Ordering::Relaxed);
        Ok(Some(made))
    }

    /// Whether there is something else to be seen to before the next record. Any thread.
    pub fn needs_attention(&self) -> bool {
        self.needs_attention.load(Ordering::Relaxed)
    }

    pub fn set_needs_attention(&self, needs_attention: bool) {
        self.needs_attention.store(needs_attention, Ordering::Relaxed);
    }

    pub fn handed_out(&self) -> u64 {
        self.handed_out.load(Ordering::Relaxed)
    }

    /// Records are handed out of `reader` from here on, until `take_back`. The number of this loan.
    pub fn lend(&self, py: Python<'_>, reader: Py<RecordReader>) -> u64 {
        let mut lent = self.lock(py);
        let loan = self.loans.fetch_add(1, Ordering::Relaxed) + 1;
        let progress = Progress { loan, ..NOTHING };
        let before = std::mem::replace(&mut *lent, Lent { reader: Some(reader), progress });
        self.progress.publish(progress);
        drop(lent);
        drop(before);
        loan
    }

    /// How far the present loan has come, if it has and is not just changing. Any thread; waits for nobody.
    pub fn progress(&self) -> Option<Progress> {
        self.progress.read()
    }

    /// Ends `lend`.
    pub fn take_back(&self, py: Python<'_>) -> Option<Returned> {
        let mut lent = self.lock(py);
        self.progress.end();
        let Lent { reader, progress } =
            std::mem::replace(&mut *lent, Lent { reader: None, progress: NOTHING });
        drop(lent);
        Some((progress.loan, reader?, progress.count, progress.next_offset, progress.leader_epoch))
    }
}

//! `MessagePoller`: `poll()` of `confluent_kafka`'s Consumer, where the next message is at hand.
//!
//! Holds one reader at a time, lent by whoever keeps the order of partitions, and hands out its messages one by one
//! without any Python. Everything else is the subclass's: `_poll`, with the arguments of `poll`.
//!
//! The lock of the loan is the callers': whoever holds it may decode. How far a loan has come is for everyone, and is
//! read without it (`HandedOut`): the event loop commits by that, and must not wait for a caller.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyTuple};

use crate::handed_out::{HandedOut, Progress};
use crate::python::consume::reader::RecordReader;
use crate::python::librdkafka::message::Message;

/// How long a thread waits for another that reads before it looks again.
const READING_WAIT: Duration = Duration::from_micros(50);

/// What is lent, and how far it has come. Loans have numbers, which are never used again.
struct Lent {
    reader: Option<Py<RecordReader>>,
    progress: Progress,
}

impl Default for Lent {
    fn default() -> Self {
        Self { reader: None, progress: Progress { loan: 0, count: 0, next_offset: -1, leader_epoch: -1 } }
    }
}

#[pyclass(frozen, subclass, module = "barnabas._kernel")]
pub struct MessagePoller {
    needs_attention: AtomicBool,
    /// Messages handed out so far, of all readers.
    handed_out: AtomicU64,
    loans: AtomicU64,
    lent: Mutex<Lent>,
    /// Of the loan in `lent`, whose lock a writer holds.
    progress: HandedOut,
}

impl MessagePoller {
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

    fn next(&self, py: Python<'_>) -> PyResult<Option<Py<Message>>> {
        let mut lent = self.lock(py);
        let lent = &mut *lent;
        let Some(reader) = &lent.reader else { return Ok(None) };
        let mut reader = reader.bind(py).try_borrow_mut()?;
        let Some((message, offset)) = reader.next::<Message>(py)? else { return Ok(None) };
        lent.progress.count += 1;
        lent.progress.next_offset = offset + 1;
        lent.progress.leader_epoch = reader.leader_epoch();
        self.progress.publish(lent.progress);
        self.handed_out.fetch_add(1, Ordering::Relaxed);
        Ok(Some(message))
    }
}

/// Whether these are the arguments of an ordinary poll, which need no further check.
fn are_plain(arguments: &Bound<'_, PyTuple>, keywords: Option<&Bound<'_, PyDict>>) -> bool {
    if keywords.is_some() {
        return false;
    }
    match arguments.len() {
        0 => true,
        1 => arguments.get_borrowed_item(0).is_ok_and(|timeout| {
            timeout.is_exact_instance_of::<PyFloat>() || timeout.is_exact_instance_of::<PyInt>()
        }),
        _ => false,
    }
}

#[pymethods]
impl MessagePoller {
    #[new]
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn new(_arguments: &Bound<'_, PyTuple>, _keywords: Option<&Bound<'_, PyDict>>) -> Self {
        Self {
            needs_attention: AtomicBool::new(false),
            handed_out: AtomicU64::new(0),
            loans: AtomicU64::new(0),
            lent: Mutex::default(),
            progress: HandedOut::default(),
        }
    }

    /// The next message, an event as a message with an error, or None when neither came within `timeout` seconds
    /// (None and negative: without end). Callbacks are called from here.
    #[pyo3(signature = (*arguments, **keywords), text_signature = "($self, timeout=None)")]
    fn poll<'py>(
        slf: &Bound<'py, Self>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let poller = slf.get();
        if !poller.needs_attention.load(Ordering::Relaxed) && are_plain(arguments, keywords) {
            // What does not go well here is met again, and dealt with, by the subclass.
            if let Ok(Some(message)) = poller.next(py) {
                return Ok(message.into_bound(py).into_any());
            }
        }
        slf.getattr(intern!(py, "_poll"))?.call(arguments, keywords)
    }

    /// Has the next `poll` go to `_poll`. Any thread.
    fn _attend(&self) {
        self.needs_attention.store(true, Ordering::Relaxed);
    }

    /// `_poll` has seen to it.
    fn _attended(&self) {
        self.needs_attention.store(false, Ordering::Relaxed);
    }

    /// How many messages were handed out so far.
    #[getter]
    fn _handed_out(&self) -> u64 {
        self.handed_out.load(Ordering::Relaxed)
    }

    /// The next message of the reader that is lent, if there is any. Raises: CorruptBatchError.
    fn _next_message(&self, py: Python<'_>) -> PyResult<Option<Py<Message>>> {
        self.next(py)
    }

    /// Messages are handed out of `reader` from here on, until `_take_back`. The number of this loan.
    fn _lend(&self, py: Python<'_>, reader: Py<RecordReader>) -> u64 {
        let mut lent = self.lock(py);
        let loan = self.loans.fetch_add(1, Ordering::Relaxed) + 1;
        let progress = Progress { loan, count: 0, next_offset: -1, leader_epoch: -1 };
        let before = std::mem::replace(&mut *lent, Lent { reader: Some(reader), progress });
        self.progress.publish(progress);
        drop(lent);
        drop(before);
        loan
    }

    /// How far the present loan has come: its number, the messages handed out of it (at least one), the offset behind
    /// the last of them and its leader epoch (-1 if not known). None where there is nothing of that kind, or it is just
    /// changing. Any thread; waits for nobody.
    #[getter]
    fn _progress(&self) -> Option<(u64, u64, i64, i32)> {
        let Progress { loan, count, next_offset, leader_epoch } = self.progress.read()?;
        Some((loan, count, next_offset, leader_epoch))
    }

    /// Ends `_lend`: the number of the loan, its reader, how many messages were handed out of it, the offset behind the
    /// last of them, and its leader epoch (both -1 if there was none).
    fn _take_back(&self, py: Python<'_>) -> Option<(u64, Py<RecordReader>, u64, i64, i32)> {
        let mut lent = self.lock(py);
        self.progress.end();
        let Lent { reader, progress } = std::mem::take(&mut *lent);
        drop(lent);
        Some((progress.loan, reader?, progress.count, progress.next_offset, progress.leader_epoch))
    }
}

//! `MessagePoller`: `poll()` of `confluent_kafka`'s Consumer, where the next message is at hand.
//!
//! Holds one reader at a time, lent by whoever keeps the order of partitions, and hands out its messages one by one
//! without any Python. Everything else is the subclass's: `_poll`, with the arguments of `poll`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyTuple};

use crate::python::consume::reader::RecordReader;
use crate::python::librdkafka::message::Message;

/// How long a thread waits for another that reads before it looks again.
const READING_WAIT: Duration = Duration::from_micros(50);

#[derive(Default)]
struct Lent {
    reader: Option<Py<RecordReader>>,
    /// Messages handed out of it.
    taken: u64,
    last_offset: i64,
}

#[pyclass(frozen, subclass, module = "barnabas._kernel")]
pub struct MessagePoller {
    needs_attention: AtomicBool,
    /// Messages handed out so far, of all readers.
    handed_out: AtomicU64,
    lent: Mutex<Lent>,
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
        let next = reader.bind(py).try_borrow_mut()?.next::<Message>(py)?;
        Ok(next.map(|(message, offset)| {
            lent.taken += 1;
            lent.last_offset = offset;
            self.handed_out.fetch_add(1, Ordering::Relaxed);
            message
        }))
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
            lent: Mutex::default(),
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

    /// Messages are handed out of `reader` from here on, until `_take_back`.
    fn _lend(&self, py: Python<'_>, reader: Py<RecordReader>) {
        let mut lent = self.lock(py);
        let before = std::mem::replace(&mut *lent, Lent { reader: Some(reader), taken: 0, last_offset: -1 });
        drop(lent);
        drop(before);
    }

    /// The lent reader, how many messages were handed out of it, and the offset of the last one (-1 if none).
    fn _lent(&self, py: Python<'_>) -> Option<(Py<RecordReader>, u64, i64)> {
        let lent = self.lock(py);
        let reader = lent.reader.as_ref()?.clone_ref(py);
        Some((reader, lent.taken, lent.last_offset))
    }

    /// Ends `_lend`: what `_lent` would give.
    fn _take_back(&self, py: Python<'_>) -> Option<(Py<RecordReader>, u64, i64)> {
        let lent = std::mem::take(&mut *self.lock(py));
        Some((lent.reader?, lent.taken, lent.last_offset))
    }
}

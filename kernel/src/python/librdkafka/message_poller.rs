//! `MessagePoller`: `poll()` of `confluent_kafka`'s Consumer, where the next message is at hand.
//!
//! Hands out messages of the reader that is lent to it (`LentReader`) one by one without any Python. Everything else is
//! the subclass's: `_poll`, with the arguments of `poll`.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyTuple};

use crate::handed_out::Progress;
use crate::python::consume::lent_reader::{LentReader, Returned};
use crate::python::consume::reader::RecordReader;
use crate::python::consume::record::ObjectsOf;
use crate::python::librdkafka::message::Message;

#[pyclass(frozen, subclass, module = "barnabas._kernel")]
pub struct MessagePoller {
    lent: LentReader,
}

impl MessagePoller {
    fn next(&self, py: Python<'_>) -> PyResult<Option<Py<Message>>> {
        self.lent.next(py, &ObjectsOf::<Message>::new())
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
        Self { lent: LentReader::default() }
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
        if !poller.lent.needs_attention() && are_plain(arguments, keywords) {
            // What does not go well here is met again, and dealt with, by the subclass.
            if let Ok(Some(message)) = poller.next(py) {
                return Ok(message.into_bound(py).into_any());
            }
        }
        slf.getattr(intern!(py, "_poll"))?.call(arguments, keywords)
    }

    /// Has the next `poll` go to `_poll`. Any thread.
    fn _attend(&self) {
        self.lent.set_needs_attention(true);
    }

    /// `_poll` has seen to it.
    fn _attended(&self) {
        self.lent.set_needs_attention(false);
    }

    /// How many messages were handed out so far.
    #[getter]
    fn _handed_out(&self) -> u64 {
        self.lent.handed_out()
    }

    /// The next message of the reader that is lent, if there is any. Raises: CorruptBatchError.
    fn _next_message(&self, py: Python<'_>) -> PyResult<Option<Py<Message>>> {
        self.next(py)
    }

    /// Messages are handed out of `reader` from here on, until `_take_back`. The number of this loan.
    fn _lend(&self, py: Python<'_>, reader: Py<RecordReader>) -> u64 {
        self.lent.lend(py, reader)
    }

    /// How far the present loan has come: its number, the messages handed out of it (at least one), the offset behind
    /// the last of them and its leader epoch (-1 if not known). None where there is nothing of that kind, or it is just
    /// changing. Any thread; waits for nobody.
    #[getter]
    fn _progress(&self) -> Option<(u64, u64, i64, i32)> {
        let Progress { loan, count, next_offset, leader_epoch } = self.lent.progress()?;
        Some((loan, count, next_offset, leader_epoch))
    }

    /// Ends `_lend`: the number of the loan, its reader, how many messages were handed out of it, the offset behind the
    /// last of them, and its leader epoch (both -1 if there was none).
    fn _take_back(&self, py: Python<'_>) -> Option<Returned> {
        self.lent.take_back(py)
    }
}

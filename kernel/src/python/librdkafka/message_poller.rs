//! `MessagePoller`: `poll()` of `confluent_kafka`'s Consumer, where the next message is at hand.
//!
//! Hands out messages of the reader that is lent to it one by one without any Python. Everything else is the subclass's:
//! `_poll`, with the arguments of `poll`.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyTuple};

use crate::python::consume::poller::Poller;
use crate::python::consume::record::ObjectsOf;
use crate::python::librdkafka::message::Message;

#[pyclass(frozen, subclass, extends = Poller, module = "barnabas._kernel")]
pub struct MessagePoller;

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
    fn new(
        _arguments: &Bound<'_, PyTuple>,
        _keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyClassInitializer<Self> {
        Poller::subclassed(Self)
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
        if !slf.as_super().get().needs_attention() && are_plain(arguments, keywords) {
            // What does not go well here is met again, and dealt with, by the subclass.
            if let Ok(Some(message)) = Self::_next_lent(slf) {
                return Ok(message.into_bound(py).into_any());
            }
        }
        slf.getattr(intern!(py, "_poll"))?.call(arguments, keywords)
    }

    /// The next message of the reader that is lent, if there is any. Raises: CorruptBatchError.
    fn _next_lent(slf: &Bound<'_, Self>) -> PyResult<Option<Py<Message>>> {
        slf.as_super().get().next(slf.py(), &ObjectsOf::<Message>::new())
    }
}

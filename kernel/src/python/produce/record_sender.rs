//! `RecordSender`: the part of a sync producer that runs for each record, in the caller's thread.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::clock::now_ms;
use crate::python::objects::input::{BorrowedInput, InputHeaders};
use crate::python::produce::accumulator::Accumulator;
use crate::python::produce::delivery::Delivery;
use crate::records::NewRecord;

/// Base of the sync Producer, which has a method `_send_slowly` for all that is not plain appending.
#[pyclass(frozen, subclass, module = "barnabas._kernel")]
pub struct RecordSender {
    accumulator: OnceLock<Py<Accumulator>>,
    appends_directly: AtomicBool,
}

/// The arguments of a `send`, to be taken apart or to be handed on.
struct Arguments<'a, 'py> {
    topic: &'a Bound<'py, PyAny>,
    value: Option<&'a Bound<'py, PyAny>>,
    key: Option<&'a Bound<'py, PyAny>>,
    headers: Option<&'a Bound<'py, PyAny>>,
    partition: Option<&'a Bound<'py, PyAny>>,
    timestamp: Option<&'a Bound<'py, PyAny>>,
    on_delivery: Option<&'a Bound<'py, PyAny>>,
}

/// What the arguments of a `send` hold.
struct Parts<'a, 'py> {
    topic: &'a Bound<'py, PyString>,
    value: Option<BorrowedInput<'a>>,
    key: Option<BorrowedInput<'a>>,
    headers: InputHeaders,
    partition: Option<i32>,
    timestamp: Option<i64>,
}

impl<'a, 'py> Arguments<'a, 'py> {
    /// Raises where one is of a wrong type.
    fn parts(&self) -> PyResult<Parts<'a, 'py>> {
        Ok(Parts {
            topic: self.topic.cast()?,
            value: self.value.map(BorrowedInput::of).transpose()?,
            key: self.key.map(BorrowedInput::of).transpose()?,
            headers: extracted(self.headers)?.unwrap_or(InputHeaders::None),
            partition: extracted(self.partition)?,
            timestamp: extracted(self.timestamp)?,
        })
    }
}

fn extracted<'a, 'py, T>(argument: Option<&'a Bound<'py, PyAny>>) -> PyResult<Option<T>>
where
    T: FromPyObject<'a, 'py, Error = PyErr>,
{
    argument.map(|argument| argument.extract()).transpose()
}

impl RecordSender {
    /// None when the record is not one to append just now, or none at all: `_send_slowly` says what is wrong.
    fn append(&self, py: Python<'_>, arguments: &Arguments<'_, '_>) -> PyResult<Option<Py<Delivery>>> {
        let Some(accumulator) = self.accumulator.get() else { return Ok(None) };
        let Ok(parts) = arguments.parts() else { return Ok(None) };
        let record = NewRecord::new(
            parts.timestamp.unwrap_or_else(now_ms),
            parts.key.as_ref().map(AsRef::as_ref),
            parts.value.as_ref().map(AsRef::as_ref),
            parts.headers.as_ref(),
        );
        let on_delivery = arguments.on_delivery.map(|on_delivery| on_delivery.clone().unbind());
        let appended =
            accumulator.get().append_record(py, parts.topic, parts.partition, &record, on_delivery);
        match appended {
            // The partition may be newer than what is known of the topic.
            Err(error) if error.is_instance_of::<PyValueError>(py) => Ok(None),
            appended => appended,
        }
    }
}

#[pymethods]
impl RecordSender {
    #[new]
    #[pyo3(signature = (*_arguments, **_settings))]
    fn new(_arguments: &Bound<'_, PyTuple>, _settings: Option<&Bound<'_, PyDict>>) -> Self {
        Self { accumulator: OnceLock::new(), appends_directly: AtomicBool::new(false) }
    }

    fn _append_directly_to(&self, accumulator: Py<Accumulator>) -> PyResult<()> {
        if self.accumulator.set(accumulator).is_err() {
            return Err(PyTypeError::new_err("there is an accumulator already"));
        }
        self.appends_directly.store(true, Ordering::Release);
        Ok(())
    }

    fn _stop_appending_directly(&self) {
        self.appends_directly.store(false, Ordering::Release);
    }

    /// Hands a record over; `result()` of the Delivery gives its RecordMetadata, or raises its error.
    ///
    /// `partition` None lets the key choose, or spreads records without a key. `timestamp` in milliseconds
    /// since 1970, None is now. Waits at most max_block_ms for the topic's metadata and for room in
    /// buffer_memory, and 5 s of these for a partition that is not there yet. `on_delivery(error, metadata)`
    /// is called on the thread that does the network's work, which it holds up: it should be quick, and may
    /// send but not wait.
    ///
    /// Raises: ClosedError, RecordTooLargeError, BufferFullError, UnknownTopicOrPartitionError (nobody
    /// created the topic in time), BootstrapError (no broker was reachable in time), NoSuchPartitionError,
    /// UnusableRecordError; with a transactional_id also TransactionStateError and TransactionFailedError.
    #[pyo3(signature = (topic, value=None, *, key=None, headers=None, partition=None, timestamp=None, on_delivery=None))]
    #[expect(clippy::too_many_arguments, reason = "the parts of a record")]
    fn send<'py>(
        slf: &Bound<'py, Self>,
        topic: &Bound<'py, PyAny>,
        value: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
        headers: Option<&Bound<'py, PyAny>>,
        partition: Option<&Bound<'py, PyAny>>,
        timestamp: Option<&Bound<'py, PyAny>>,
        on_delivery: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let sender = slf.get();
        if sender.appends_directly.load(Ordering::Acquire) {
            let arguments = Arguments { topic, value, key, headers, partition, timestamp, on_delivery };
            if let Some(delivery) = sender.append(py, &arguments)? {
                if !sender.appends_directly.load(Ordering::Acquire) {
                    slf.call_method0(intern!(py, "_after_late_append"))?;
                }
                return Ok(delivery.into_bound(py).into_any());
            }
        }
        slf.call_method1(
            intern!(py, "_send_slowly"),
            (topic, value, key, headers, partition, timestamp, on_delivery),
        )
    }
}

//! `RecordSender`: the part of a sync producer that runs for each record, in the caller's thread.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use crate::clock::now_ms;
use crate::python::objects::generic_alias::generic_alias;
use crate::python::objects::input::{BorrowedInput, InputHeaders};
use crate::python::produce::accumulator::Accumulator;
use crate::python::produce::delivery::Delivery;
use crate::records::NewRecord;

/// Base of the sync Producer, which has a method `_send_slowly` for all that is not plain appending.
#[pyclass(frozen, subclass, module = "barnabas._kernel")]
pub struct RecordSender {
    target: OnceLock<Target>,
    appends_directly: AtomicBool,
}

/// Where records go, and what makes bytes of their keys and values on the way.
struct Target {
    accumulator: Py<Accumulator>,
    key_serializer: Option<Py<PyAny>>,
    value_serializer: Option<Py<PyAny>>,
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

/// What is sent of a key or value.
enum Sent<'a, 'py> {
    AsGiven(Option<&'a Bound<'py, PyAny>>),
    Serialized(Bound<'py, PyAny>),
}

impl<'py> Sent<'_, 'py> {
    const fn get(&self) -> Option<&Bound<'py, PyAny>> {
        match self {
            Self::AsGiven(given) => *given,
            Self::Serialized(made) => Some(made),
        }
    }
}

/// A tombstone's None stays None. None of all where the serializer fails: `_send_slowly` says why.
fn serialized<'a, 'py>(
    py: Python<'py>,
    serializer: Option<&Py<PyAny>>,
    given: Option<&'a Bound<'py, PyAny>>,
) -> PyResult<Option<Sent<'a, 'py>>> {
    let (Some(serializer), Some(object)) = (serializer, given) else { return Ok(Some(Sent::AsGiven(given))) };
    match serializer.bind(py).call1((object,)) {
        Ok(made) => Ok(Some(Sent::Serialized(made))),
        Err(error) if error.is_instance_of::<PyException>(py) => Ok(None),
        Err(interruption) => Err(interruption),
    }
}

impl RecordSender {
    /// None when the record is not one to append just now, or none at all: `_send_slowly` says what is wrong.
    fn append(&self, py: Python<'_>, arguments: &Arguments<'_, '_>) -> PyResult<Option<Py<Delivery>>> {
        let Some(target) = self.target.get() else { return Ok(None) };
        let Some(key) = serialized(py, target.key_serializer.as_ref(), arguments.key)? else {
            return Ok(None);
        };
        let Some(value) = serialized(py, target.value_serializer.as_ref(), arguments.value)? else {
            return Ok(None);
        };
        let arguments = Arguments { key: key.get(), value: value.get(), ..*arguments };
        let Ok(parts) = arguments.parts() else { return Ok(None) };
        let record = NewRecord::new(
            parts.timestamp.unwrap_or_else(now_ms),
            parts.key.as_ref().map(AsRef::as_ref),
            parts.value.as_ref().map(AsRef::as_ref),
            parts.headers.as_ref(),
        );
        let on_delivery = arguments.on_delivery.map(|on_delivery| on_delivery.clone().unbind());
        let appended =
            target.accumulator.get().append_record(py, parts.topic, parts.partition, &record, on_delivery);
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
        Self { target: OnceLock::new(), appends_directly: AtomicBool::new(false) }
    }

    #[classmethod]
    fn __class_getitem__<'py>(
        cls: &Bound<'py, PyType>,
        item: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        generic_alias(cls, item)
    }

    #[pyo3(signature = (accumulator, key_serializer=None, value_serializer=None))]
    fn _append_directly_to(
        &self,
        accumulator: Py<Accumulator>,
        key_serializer: Option<Py<PyAny>>,
        value_serializer: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        if self.target.set(Target { accumulator, key_serializer, value_serializer }).is_err() {
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

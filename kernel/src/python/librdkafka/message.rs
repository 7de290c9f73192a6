//! `Message` of `confluent_kafka`: a consumed record that points into the batch it came in, a delivered one that points
//! to the batch it was in, or parts given one by one (by a program, for a message that has failed, or for an event of a
//! consumer). Knows nothing of how either comes about.
//!
//! It takes part in garbage collection, since a program may set anything in it, but the collector passes over those in
//! which nothing was: to look at each message that was fetched would cost more than to make it.

#![allow(unsafe_code)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use once_cell::race::OnceBox;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::ffi;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple, PyType};

use crate::python::consume::record::{FromRecord, RecordSource};
use crate::python::librdkafka::message_arguments::{Argument, unexpected_keyword};
use crate::python::objects::allocation::{new_untracked, renewed};
use crate::python::objects::locked_rc::LockedRc;
use crate::records::{HeaderIter, RecordSlices, Span};

const MICROSECONDS: f64 = 1_000_000.0;
const NO_PARTITION: i32 = -1;
pub const NO_OFFSET: i64 = -1001;
const NO_LATENCY: i64 = -1;
pub const NO_LEADER_EPOCH: i32 = -1;
pub const NO_DELIVERY_COUNT: i16 = -1;

/// The arguments of the constructor, in their order.
const ARGUMENTS: [&str; 11] = [
    "topic",
    "partition",
    "offset",
    "key",
    "value",
    "headers",
    "error",
    "timestamp",
    "latency",
    "leader_epoch",
    "delivery_count",
];

/// A record in the batch that it was fetched in.
struct FetchedRecord {
    source: LockedRc<RecordSource>,
    offset: i64,
    timestamp: i64,
    key: Option<Span>,
    value: Option<Span>,
    headers: Span,
}

impl FetchedRecord {
    fn bytes<'py>(&self, py: Python<'py>, span: Option<Span>) -> Option<Bound<'py, PyBytes>> {
        span.map(|span| PyBytes::new(py, span.of(self.source.payload.as_ref())))
    }

    fn timestamp(&self) -> (i32, i64) {
        // Kafka counts the types from -1 (there is none), librdkafka from 0.
        (self.source.timestamp_type + 1, self.timestamp)
    }

    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let pairs: Vec<_> = HeaderIter::new(self.headers.of(self.source.payload.as_ref()))
            .map(|(key, value)| {
                let value = value.map(|value| PyBytes::new(py, value));
                (String::from_utf8_lossy(key), value)
            })
            .collect();
        PyList::new(py, pairs)
    }

    fn parts(&self, py: Python<'_>) -> PyResult<MessageParts> {
        let object = |bytes: Option<Bound<'_, PyBytes>>| {
            bytes.map_or_else(|| py.None(), |bytes| bytes.into_any().unbind())
        };
        let headers = match self.headers.is_empty() {
            true => py.None(),
            false => self.headers(py)?.into_any().unbind(),
        };
        Ok(MessageParts {
            topic: self.source.topic.clone_ref(py).into_any(),
            partition: self.source.partition,
            offset: self.offset,
            key: object(self.bytes(py, self.key)),
            value: object(self.bytes(py, self.value)),
            headers,
            timestamp: self.timestamp(),
            leader_epoch: self.source.leader_epoch,
            ..MessageParts::empty(py)
        })
    }
}

/// What the delivered messages of a batch have in common.
pub struct DeliveredBatch {
    /// As the program calls it.
    pub topic: Py<PyAny>,
    pub partition: i32,
    /// librdkafka's number of it.
    pub timestamp_type: i32,
}

/// A message that was delivered.
pub struct DeliveredRecord {
    pub batch: LockedRc<DeliveredBatch>,
    pub offset: i64,
    pub timestamp: i64,
    pub latency_us: i64,
    /// As they were given: `bytes`, or `str` that is made bytes when it is looked at. Neither of a class of its own,
    /// which could lead anywhere.
    pub key: Option<Py<PyAny>>,
    pub value: Option<Py<PyAny>>,
}

impl DeliveredRecord {
    fn parts(&self, py: Python<'_>) -> PyResult<MessageParts> {
        let bytes = |given: &Option<Py<PyAny>>| as_bytes(py, given.as_ref().map(|given| given.clone_ref(py)));
        Ok(MessageParts {
            topic: self.batch.topic.clone_ref(py),
            partition: self.batch.partition,
            offset: self.offset,
            key: bytes(&self.key)?,
            value: bytes(&self.value)?,
            timestamp: self.timestamp(),
            latency_us: self.latency_us,
            ..MessageParts::empty(py)
        })
    }

    fn timestamp(&self) -> (i32, i64) {
        (self.batch.timestamp_type, self.timestamp)
    }
}

/// A key or a value as `bytes`, where it is that already.
fn bytes_as_given(py: Python<'_>, given: &Option<Py<PyAny>>) -> Option<Py<PyAny>> {
    match given {
        None => Some(py.None()),
        Some(given) => given.bind(py).is_exact_instance_of::<PyBytes>().then(|| given.clone_ref(py)),
    }
}

/// A key or a value that was given as `bytes` or `str`.
pub fn as_bytes(py: Python<'_>, given: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
    let Some(given) = given else { return Ok(py.None()) };
    match given.bind(py).cast::<PyString>() {
        Ok(text) => Ok(PyBytes::new(py, text.to_str()?.as_bytes()).into_any().unbind()),
        Err(_) => Ok(given),
    }
}

enum Origin {
    Fetched(FetchedRecord),
    Delivered(DeliveredRecord),
}

/// The parts of a message as objects. Any object is taken as topic, key, value, headers and error.
pub struct MessageParts {
    pub topic: Py<PyAny>,
    /// Negative: there is none. The same holds for all numbers here.
    pub partition: i32,
    pub offset: i64,
    pub key: Py<PyAny>,
    pub value: Py<PyAny>,
    pub headers: Py<PyAny>,
    pub error: Py<PyAny>,
    /// With librdkafka's number of its type: 0 none, 1 creation, 2 appending to the log.
    pub timestamp: (i32, i64),
    pub latency_us: i64,
    pub leader_epoch: i32,
    pub delivery_count: i16,
}

impl MessageParts {
    pub fn empty(py: Python<'_>) -> Self {
        Self {
            topic: py.None(),
            partition: NO_PARTITION,
            offset: NO_OFFSET,
            key: py.None(),
            value: py.None(),
            headers: py.None(),
            error: py.None(),
            timestamp: (0, 0),
            latency_us: NO_LATENCY,
            leader_epoch: NO_LEADER_EPOCH,
            delivery_count: NO_DELIVERY_COUNT,
        }
    }

    /// Those of a message whose constructor did not run: in the original they are the bits of fresh memory, so all
    /// numbers are 0.
    fn unset(py: Python<'_>) -> Self {
        Self { partition: 0, offset: 0, latency_us: 0, leader_epoch: 0, delivery_count: 0, ..Self::empty(py) }
    }

    fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            topic: self.topic.clone_ref(py),
            key: self.key.clone_ref(py),
            value: self.value.clone_ref(py),
            headers: self.headers.clone_ref(py),
            error: self.error.clone_ref(py),
            ..*self
        }
    }

    fn from_arguments(
        positional: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let py = positional.py();
        let given = positional.len() + keywords.map_or(0, |keywords| keywords.len());
        if given > ARGUMENTS.len() {
            let (limit, kind) = (ARGUMENTS.len(), if positional.is_empty() { "keyword " } else { "" });
            let message = format!("function takes at most {limit} {kind}arguments ({given} given)");
            return Err(PyTypeError::new_err(message));
        }
        let mut parts = Self::empty(py);
        for (index, value) in positional.iter().enumerate() {
            parts.set(index, &value)?;
        }
        for (name, value) in keywords.into_iter().flatten() {
            let name = name.cast_into::<PyString>()?;
            let text = name.to_str()?;
            let Some(index) = ARGUMENTS.iter().position(|known| *known == text) else {
                return Err(unexpected_keyword(&name, &ARGUMENTS));
            };
            if index < positional.len() {
                let place = index + 1;
                let message =
                    format!("argument for function given by name ('{name}') and position ({place})");
                return Err(PyTypeError::new_err(message));
            }
            parts.set(index, &value)?;
        }
        Ok(parts)
    }

    /// Sets the part with this place in `ARGUMENTS`.
    fn set(&mut self, index: usize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match index {
            0 => self.topic = value.clone().unbind(),
            1 => self.partition = none_if_negative(integer(value, "signed integer")?, NO_PARTITION),
            2 => {
                let offset = Argument::Given(value.as_borrowed()).long(NO_OFFSET)?;
                self.offset = none_if_negative(offset, NO_OFFSET);
            }
            3 => self.key = value.clone().unbind(),
            4 => self.value = value.clone().unbind(),
            5 => self.headers = value.clone().unbind(),
            6 => self.error = value.clone().unbind(),
            7 => self.timestamp = timestamp_from(value)?,
            8 => self.latency_us = (value.extract::<f64>()? * MICROSECONDS) as i64,
            9 => self.leader_epoch = none_if_negative(integer(value, "signed integer")?, NO_LEADER_EPOCH),
            _ => {
                let count = integer(value, "signed short integer")?;
                self.delivery_count =
                    if count == 0 { NO_DELIVERY_COUNT } else { none_if_negative(count, NO_DELIVERY_COUNT) };
            }
        }
        Ok(())
    }
}

/// A number that must fit into a C type, which `kind` calls by its name in Python's messages.
fn integer<T: TryFrom<i64>>(value: &Bound<'_, PyAny>, kind: &str) -> PyResult<T> {
    let wide: i64 = value.extract()?;
    let bound = if wide < 0 { "less than minimum" } else { "greater than maximum" };
    T::try_from(wide).map_err(|_| PyOverflowError::new_err(format!("{kind} is {bound}")))
}

/// All negative numbers are the same one, `none`, in comparisons and in pickles.
fn none_if_negative<T: Default + PartialOrd>(number: T, none: T) -> T {
    if number < T::default() { none } else { number }
}

/// The one argument of a method, which takes none by name.
fn only_argument<'py>(
    method: &str,
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Py<PyAny>> {
    if keywords.is_some_and(|keywords| !keywords.is_empty()) {
        return Err(PyTypeError::new_err(format!("Message.{method}() takes no keyword arguments")));
    }
    if arguments.len() != 1 {
        let given = arguments.len();
        let message = format!("Message.{method}() takes exactly one argument ({given} given)");
        return Err(PyTypeError::new_err(message));
    }
    Ok(arguments.get_item(0)?.unbind())
}

fn timestamp_from(value: &Bound<'_, PyAny>) -> PyResult<(i32, i64)> {
    if value.is_none() {
        return Ok((0, 0));
    }
    match value.cast::<PyTuple>() {
        Ok(pair) if pair.len() == 2 => pair.extract(),
        _ => Err(PyTypeError::new_err("timestamp must be a tuple of (int, int)")),
    }
}

/// A message, or an event when `error()` is not None.
///
/// Programs get messages from poll() and consume() and in delivery callbacks; the constructor is for tests.
/// All its parameters are optional: topic, partition, offset, key, value, headers, error, timestamp (type and
/// milliseconds since 1970), latency (seconds), leader_epoch, delivery_count.
///
/// len() is the size of the value: a message without one is false.
#[pyclass(frozen, subclass, module = "confluent_kafka.cimpl")]
pub struct Message {
    origin: Option<Origin>,
    /// All parts, once they were given or one of them was changed or had to be made: they count then, in place of
    /// `origin`.
    parts: OnceBox<Mutex<MessageParts>>,
}

impl FromRecord for Message {
    #[inline(always)]
    fn from_record(
        py: Python<'_>,
        source: &LockedRc<RecordSource>,
        slices: RecordSlices,
    ) -> PyResult<Py<Self>> {
        let fetched = FetchedRecord {
            source: source.clone_ref(py),
            offset: slices.offset,
            timestamp: slices.timestamp,
            key: slices.key,
            value: slices.value,
            headers: slices.headers,
        };
        new_untracked(py, Self::of_origin(Origin::Fetched(fetched)))
    }
}

impl Message {
    fn from_parts(parts: MessageParts) -> Self {
        Self { origin: None, parts: OnceBox::with_value(Box::new(Mutex::new(parts))) }
    }

    #[inline(always)]
    fn of_origin(origin: Origin) -> Self {
        Self { origin: Some(origin), parts: OnceBox::new() }
    }

    /// A message that was delivered; it takes the place of `last` where nobody has kept that.
    #[inline]
    pub fn of_delivered(
        py: Python<'_>,
        record: DeliveredRecord,
        last: Option<Py<Self>>,
    ) -> PyResult<Py<Self>> {
        let message = Self::of_origin(Origin::Delivered(record));
        match last {
            Some(last) => renewed(py, last, message),
            None => new_untracked(py, message),
        }
    }

    /// A message of any parts.
    pub fn of_parts(py: Python<'_>, parts: MessageParts) -> PyResult<Py<Self>> {
        Py::new(py, Self::from_parts(parts))
    }

    /// What it came of, where that is all there is.
    #[inline]
    fn untouched(&self) -> Option<&Origin> {
        match self.parts.get() {
            None => self.origin.as_ref(),
            Some(_) => None,
        }
    }

    /// The key or the value.
    #[inline]
    fn bytes(
        &self,
        py: Python<'_>,
        span: impl FnOnce(&FetchedRecord) -> Option<Span>,
        given: impl FnOnce(&DeliveredRecord) -> &Option<Py<PyAny>>,
        part: impl FnOnce(&MessageParts) -> &Py<PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let bytes = match self.untouched() {
            Some(Origin::Fetched(fetched)) => match fetched.bytes(py, span(fetched)) {
                Some(bytes) => Some(bytes.into_any().unbind()),
                None => Some(py.None()),
            },
            // Of text they are made once.
            Some(Origin::Delivered(delivered)) => bytes_as_given(py, given(delivered)),
            None => None,
        };
        match bytes {
            Some(bytes) => Ok(bytes),
            None => Ok(part(&*self.lock(py)?).clone_ref(py)),
        }
    }

    /// The parts, for looking at them.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, MessageParts>> {
        if self.parts.get().is_none() {
            let parts = match &self.origin {
                Some(Origin::Fetched(fetched)) => fetched.parts(py)?,
                Some(Origin::Delivered(delivered)) => delivered.parts(py)?,
                None => MessageParts::empty(py),
            };
            // Nobody else can have been faster: the interpreter lock is held all along.
            let _ = self.parts.set(Box::new(Mutex::new(parts)));
        }
        let parts = self.parts.get_or_init(|| Box::new(Mutex::new(MessageParts::empty(py))));
        Ok(parts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The parts, for setting some, or for handing out what may be changed.
    fn lock_collected<'a>(slf: &'a Bound<'_, Self>) -> PyResult<MutexGuard<'a, MessageParts>> {
        // SAFETY: the object is alive and of a class that takes part in collection; the interpreter lock is held.
        unsafe {
            if ffi::PyObject_GC_IsTracked(slf.as_ptr()) == 0 {
                ffi::PyObject_GC_Track(slf.as_ptr().cast());
            }
        }
        slf.get().lock(slf.py())
    }

    fn all_parts(&self, py: Python<'_>) -> PyResult<MessageParts> {
        Ok(self.lock(py)?.clone_ref(py))
    }

    /// Changes one part. What was there before is let go of without the lock, since that may run any code.
    fn replace(
        slf: &Bound<'_, Self>,
        value: Py<PyAny>,
        part: impl FnOnce(&mut MessageParts) -> &mut Py<PyAny>,
    ) -> PyResult<()> {
        let before = std::mem::replace(part(&mut *Self::lock_collected(slf)?), value);
        drop(before);
        Ok(())
    }
}

#[pymethods]
impl Message {
    #[new]
    #[pyo3(signature = (*_arguments, **_keywords), text_signature = None)]
    fn py_new(
        py: Python<'_>,
        _arguments: &Bound<'_, PyTuple>,
        _keywords: Option<&Bound<'_, PyDict>>,
    ) -> Self {
        Self::from_parts(MessageParts::unset(py))
    }

    #[pyo3(signature = (*arguments, **keywords))]
    fn __init__(
        slf: &Bound<'_, Self>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let parts = MessageParts::from_arguments(arguments, keywords)?;
        let before = std::mem::replace(&mut *Self::lock_collected(slf)?, parts);
        drop(before);
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Nothing that holds the lock makes objects, which is when the collector runs.
        let Some(Ok(parts)) = self.parts.get().map(|parts| parts.try_lock()) else { return Ok(()) };
        for part in [&parts.topic, &parts.key, &parts.value, &parts.headers, &parts.error] {
            visit.call(part)?;
        }
        Ok(())
    }

    fn __clear__(&self, py: Python<'_>) {
        let Some(parts) = self.parts.get() else { return };
        let empty = MessageParts::empty(py);
        let before = std::mem::replace(&mut *parts.lock().unwrap_or_else(PoisonError::into_inner), empty);
        drop(before);
    }

    /// The error or event that this stands for, a KafkaError; None where it is a proper message.
    fn error(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.untouched() {
            Some(_) => Ok(py.None()),
            None => Ok(self.lock(py)?.error.clone_ref(py)),
        }
    }

    /// The value (payload), or None.
    fn value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.bytes(py, |fetched| fetched.value, |delivered| &delivered.value, |parts| &parts.value)
    }

    /// The key, or None.
    fn key(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.bytes(py, |fetched| fetched.key, |delivered| &delivered.key, |parts| &parts.key)
    }

    /// The key as the deserializer of a DeserializingConsumer made it; otherwise what key() gives.
    fn deserialized_key(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.key(py)
    }

    /// The value as the deserializer of a DeserializingConsumer made it; otherwise what value() gives.
    fn deserialized_value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.value(py)
    }

    /// The name of the topic, or None.
    fn topic(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.untouched() {
            Some(Origin::Fetched(fetched)) => Ok(fetched.source.topic.clone_ref(py).into_any()),
            Some(Origin::Delivered(delivered)) => Ok(delivered.batch.topic.clone_ref(py)),
            None => Ok(self.lock(py)?.topic.clone_ref(py)),
        }
    }

    /// The number of the partition, or None.
    fn partition(&self, py: Python<'_>) -> PyResult<Option<i32>> {
        let partition = match self.untouched() {
            Some(Origin::Fetched(fetched)) => fetched.source.partition,
            Some(Origin::Delivered(delivered)) => delivered.batch.partition,
            None => self.lock(py)?.partition,
        };
        Ok(Some(partition).filter(|&partition| partition >= 0))
    }

    /// The offset, or None.
    fn offset(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        let offset = match self.untouched() {
            Some(Origin::Fetched(fetched)) => fetched.offset,
            Some(Origin::Delivered(delivered)) => delivered.offset,
            None => self.lock(py)?.offset,
        };
        Ok(Some(offset).filter(|&offset| offset >= 0))
    }

    /// The type of the timestamp (TIMESTAMP_NOT_AVAILABLE, TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME) and
    /// the timestamp, in milliseconds since 1970 (UTC).
    fn timestamp(&self, py: Python<'_>) -> PyResult<(i32, i64)> {
        match self.untouched() {
            Some(Origin::Fetched(fetched)) => Ok(fetched.timestamp()),
            Some(Origin::Delivered(delivered)) => Ok(delivered.timestamp()),
            None => Ok(self.lock(py)?.timestamp),
        }
    }

    /// The headers, a list of pairs of a name and a value (bytes or None) in their order; None if there are none.
    fn headers(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let message = slf.get();
        match message.untouched() {
            Some(Origin::Fetched(fetched)) if fetched.headers.is_empty() => Ok(py.None()),
            Some(Origin::Delivered(_)) => Ok(py.None()),
            // From here on the list is the message's own: who changes it changes the message.
            Some(_) => Ok(Self::lock_collected(slf)?.headers.clone_ref(py)),
            None => Ok(message.lock(py)?.headers.clone_ref(py)),
        }
    }

    /// How long it took to produce the message, from produce() to the acknowledgement, in seconds; None for any
    /// other message.
    fn latency(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        let latency_us = match self.untouched() {
            Some(Origin::Fetched(_)) => NO_LATENCY,
            Some(Origin::Delivered(delivered)) => delivered.latency_us,
            None => self.lock(py)?.latency_us,
        };
        Ok((latency_us >= 0).then_some(latency_us as f64 / MICROSECONDS))
    }

    /// The leader epoch of the record, or None.
    fn leader_epoch(&self, py: Python<'_>) -> PyResult<Option<i32>> {
        let leader_epoch = match self.untouched() {
            Some(Origin::Fetched(fetched)) => fetched.source.leader_epoch,
            Some(Origin::Delivered(_)) => NO_LEADER_EPOCH,
            None => self.lock(py)?.leader_epoch,
        };
        Ok(Some(leader_epoch).filter(|&leader_epoch| leader_epoch >= 0))
    }

    /// How often a share group has given this record out, this time included; None outside of share groups.
    fn delivery_count(&self, py: Python<'_>) -> PyResult<Option<i16>> {
        match self.untouched() {
            Some(_) => Ok(None),
            None => Ok(Some(self.lock(py)?.delivery_count).filter(|&count| count > 0)),
        }
    }

    /// Replaces the topic.
    #[pyo3(signature = (*arguments, **keywords), text_signature = "($self, value, /)")]
    fn set_topic(
        slf: &Bound<'_, Self>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let value = only_argument("set_topic", arguments, keywords)?;
        Self::replace(slf, value, |parts| &mut parts.topic)
    }

    /// Replaces the key, by any object.
    #[pyo3(signature = (*arguments, **keywords), text_signature = "($self, value, /)")]
    fn set_key(
        slf: &Bound<'_, Self>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let value = only_argument("set_key", arguments, keywords)?;
        Self::replace(slf, value, |parts| &mut parts.key)
    }

    /// Replaces the value, by any object.
    #[pyo3(signature = (*arguments, **keywords), text_signature = "($self, value, /)")]
    fn set_value(
        slf: &Bound<'_, Self>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let value = only_argument("set_value", arguments, keywords)?;
        Self::replace(slf, value, |parts| &mut parts.value)
    }

    /// Replaces the headers.
    #[pyo3(signature = (*arguments, **keywords), text_signature = "($self, value, /)")]
    fn set_headers(
        slf: &Bound<'_, Self>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let value = only_argument("set_headers", arguments, keywords)?;
        Self::replace(slf, value, |parts| &mut parts.headers)
    }

    /// Replaces the error.
    #[pyo3(signature = (*arguments, **keywords), text_signature = "($self, value, /)")]
    fn set_error(
        slf: &Bound<'_, Self>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let value = only_argument("set_error", arguments, keywords)?;
        Self::replace(slf, value, |parts| &mut parts.error)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        if let Some(Origin::Fetched(fetched)) = self.untouched() {
            return Ok(fetched.value.map_or(0, Span::len));
        }
        let value = self.value(py)?;
        if value.is_none(py) { Ok(0) } else { value.bind(py).len() }
    }

    /// Whatever is no message is unequal, even where it would say otherwise itself.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = other.py();
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        let (one, other) = (self.all_parts(py)?, other.get().all_parts(py)?);
        let numbers = |parts: &MessageParts| {
            // Of the timestamp only the time counts, not its type.
            (parts.partition, parts.offset, parts.timestamp.1, parts.leader_epoch)
        };
        if numbers(&one) != numbers(&other) {
            return Ok(false);
        }
        let pairs = [
            (one.topic, other.topic),
            (one.key, other.key),
            (one.value, other.value),
            (one.headers, other.headers),
            (one.error, other.error),
        ];
        for (one, other) in pairs {
            // As in a list, an object equals itself: NaN does, and so does an array that gives no bool.
            if one.is(&other) {
                continue;
            }
            // An error may refuse to be compared with anything but errors.
            if one.is_none(py) || other.is_none(py) || !one.bind(py).eq(other)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let parts = Self::lock_collected(slf)?.clone_ref(py);
        let latency = if parts.latency_us < 0 { -1.0 } else { parts.latency_us as f64 / MICROSECONDS };
        let arguments = (
            parts.topic,
            parts.partition,
            parts.offset,
            parts.key,
            parts.value,
            parts.headers,
            parts.error,
            parts.timestamp,
            latency,
            parts.leader_epoch,
            parts.delivery_count,
        );
        Ok((py.get_type::<Self>(), arguments.into_pyobject(py)?))
    }
}

//! `TopicSender`: what runs in kafka-python's KafkaProducer for each record, in the caller's thread.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyInt, PyList, PyMemoryView, PyString, PyTuple};

use crate::clock::now_ms;
use crate::producing::Refused;
use crate::python::kafka_python::sent_record::{RecordSizes, RecordTeller, SentRecord};
use crate::python::objects::calls::call_with_one;
use crate::python::objects::input::BorrowedInput;
use crate::python::produce::accumulator::{Accumulator, refusal};
use crate::records::{NO_HEADERS, NewRecord, encode_headers};

/// What a producer has once it is set up.
struct SenderParts {
    accumulator: Py<Accumulator>,
    teller: Py<RecordTeller>,
    key_serializer: Option<Py<PyAny>>,
    value_serializer: Option<Py<PyAny>>,
    /// Whether the accumulator chooses partitions.
    chooses_partitions: bool,
    /// Whether other objects with bytes in them are refused.
    takes_bytes_only: bool,
}

/// Base of kafka-python's KafkaProducer. That has methods `_send_slowly(topic, value, key, headers, partition,
/// timestamp_ms)` for all that is not plain appending, `_send_serialized(topic, value, key, key_bytes, value_bytes,
/// headers, partition, timestamp_ms)` for the same after serializers were called, `_serializer_raised(topic, partition,
/// error)`, and `_after_late_append()`.
#[pyclass(frozen, subclass, module = "barnabas._kernel")]
pub struct TopicSender {
    parts: OnceLock<SenderParts>,
    appends_directly: AtomicBool,
}

type Argument<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// The arguments of a `send`, to be taken apart or to be handed on.
struct SendArguments<'a, 'py> {
    topic: &'a Bound<'py, PyAny>,
    value: Argument<'a, 'py>,
    key: Argument<'a, 'py>,
    headers: Argument<'a, 'py>,
    partition: Argument<'a, 'py>,
    timestamp_ms: Argument<'a, 'py>,
}

/// Headers in wire format.
struct PlainHeaders {
    wire: Option<Vec<u8>>,
    /// Of names and values; -1 where there are no headers.
    size: i32,
}

impl PlainHeaders {
    const NONE: Self = Self { wire: None, size: -1 };

    /// None for what is no list of pairs of a `str` and `bytes`.
    fn of(headers: Argument<'_, '_>) -> PyResult<Option<Self>> {
        let Some(headers) = headers else { return Ok(Some(Self::NONE)) };
        let Ok(list) = headers.cast::<PyList>() else { return Ok(None) };
        if list.is_empty() {
            return Ok(Some(Self::NONE));
        }
        let mut pairs = Vec::with_capacity(list.len());
        for item in list.iter() {
            let Ok(pair) = item.cast_into::<PyTuple>() else { return Ok(None) };
            if pair.len() != 2 {
                return Ok(None);
            }
            let (Ok(name), Ok(value)) =
                (pair.get_item(0)?.cast_into::<PyString>(), pair.get_item(1)?.cast_into::<PyBytes>())
            else {
                return Ok(None);
            };
            pairs.push((name, value));
        }
        let mut parts = Vec::with_capacity(pairs.len());
        for (name, value) in &pairs {
            parts.push((name.to_str()?.as_bytes(), Some(value.as_bytes())));
        }
        let size = parts.iter().map(|(name, value)| name.len() + value.map_or(0, <[u8]>::len)).sum::<usize>();
        Ok(Some(Self { wire: Some(encode_headers(parts.into_iter())), size: size as i32 }))
    }

    fn wire(&self) -> &[u8] {
        self.wire.as_deref().unwrap_or(NO_HEADERS)
    }
}

/// A record of plain parts.
struct PlainRecord<'a, 'py> {
    topic: &'a Bound<'py, PyString>,
    key: Argument<'a, 'py>,
    value: Argument<'a, 'py>,
    headers: PlainHeaders,
    partition: Option<i32>,
    timestamp_ms: i64,
}

impl SenderParts {
    /// The inner error is why it was not taken.
    fn append(
        &self,
        py: Python<'_>,
        record: &PlainRecord<'_, '_>,
    ) -> PyResult<Result<Py<SentRecord>, Refused>> {
        let key = record.key.map(BorrowedInput::of).transpose()?;
        let value = record.value.map(BorrowedInput::of).transpose()?;
        let size =
            |part: &Option<BorrowedInput<'_>>| part.as_ref().map_or(-1, |part| part.as_ref().len() as i32);
        let sizes = RecordSizes {
            timestamp: record.timestamp_ms,
            key: size(&key),
            value: size(&value),
            headers: record.headers.size,
        };
        let new = NewRecord::new(
            record.timestamp_ms,
            key.as_ref().map(AsRef::as_ref),
            value.as_ref().map(AsRef::as_ref),
            record.headers.wire(),
        );
        let accumulator = self.accumulator.get();
        let name = record.topic.to_str()?;
        let appended = {
            let mut queues = accumulator.queues.lock();
            let topic_index = queues.index_of_object(record.topic, name);
            queues
                .append_at(&accumulator.settings, name, topic_index, record.partition, &new)
                .map(|place| place.to_appended())
        };
        let appended = match appended {
            Ok(appended) => appended,
            Err(refused) => return Ok(Err(refused)),
        };
        let future = self.teller.get().future(py, appended.outcome, appended.index, sizes);
        if appended.wake && !accumulator.send_directly(name, appended.partition) {
            accumulator.wake_sender(py);
        }
        future.map(Ok)
    }

    /// Whether this can be a key or a value as it is.
    fn is_plain(&self, part: Argument<'_, '_>) -> bool {
        part.is_none_or(|part| {
            part.is_exact_instance_of::<PyBytes>()
                || (!self.takes_bytes_only
                    && (part.is_exact_instance_of::<PyByteArray>()
                        || part.is_exact_instance_of::<PyMemoryView>()))
        })
    }

    /// Whether the topic's partitions are known, and there may be records now.
    fn is_ready_for(&self, topic: &Bound<'_, PyString>) -> PyResult<bool> {
        let name = topic.to_str()?;
        let mut queues = self.accumulator.get().queues.lock();
        let index = queues.index_of_object(topic, name);
        Ok(!queues.is_shut && index.is_some_and(|index| queues.topics[index].partition_count > 0))
    }
}

fn serialized<'py>(
    py: Python<'py>,
    serializer: Option<&Py<PyAny>>,
    part: Argument<'_, 'py>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(serializer) = serializer else { return Ok(part.cloned()) };
    let none = py.None().into_bound(py);
    let made = call_with_one(py, serializer, part.unwrap_or(&none))?;
    Ok((!made.is_none()).then_some(made))
}

fn send<'py>(
    slf: &Bound<'py, TopicSender>,
    arguments: &SendArguments<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    if let Some(sent) = send_plainly(slf, arguments)? {
        if !slf.get().appends_directly.load(Ordering::Acquire) {
            slf.call_method0(intern!(py, "_after_late_append"))?;
        }
        return Ok(sent);
    }
    let SendArguments { topic, value, key, headers, partition, timestamp_ms } = *arguments;
    slf.call_method1(intern!(py, "_send_slowly"), (topic, value, key, headers, partition, timestamp_ms))
}

/// None where more has to be looked at first, and nothing was done.
fn send_plainly<'py>(
    slf: &Bound<'py, TopicSender>,
    arguments: &SendArguments<'_, 'py>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (py, sender) = (slf.py(), slf.get());
    if !sender.appends_directly.load(Ordering::Acquire)
        || (arguments.value.is_none() && arguments.key.is_none())
    {
        return Ok(None);
    }
    let Some(parts) = sender.parts.get() else { return Ok(None) };
    let Ok(topic) = arguments.topic.cast::<PyString>() else { return Ok(None) };
    let partition = match arguments.partition {
        None if parts.chooses_partitions => None,
        Some(given) if given.is_exact_instance_of::<PyInt>() => match given.extract::<i32>() {
            Ok(partition) if partition >= 0 => Some(partition),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let timestamp_ms = match arguments.timestamp_ms {
        None => now_ms(),
        Some(given) => match given.extract::<i64>() {
            Ok(timestamp_ms) if timestamp_ms >= 0 && given.is_exact_instance_of::<PyInt>() => timestamp_ms,
            _ => return Ok(None),
        },
    };
    let Some(headers) = PlainHeaders::of(arguments.headers)? else { return Ok(None) };
    let has_serializers = parts.key_serializer.is_some() || parts.value_serializer.is_some();
    if !has_serializers {
        let (key, value) = (arguments.key, arguments.value);
        if !parts.is_plain(key) || !parts.is_plain(value) {
            return Ok(None);
        }
        let record = PlainRecord { topic, key, value, headers, partition, timestamp_ms };
        return Ok(parts.append(py, &record)?.ok().map(|sent| sent.into_bound(py).into_any()));
    }
    if !parts.is_ready_for(topic)? {
        return Ok(None);
    }
    let made = serialized(py, parts.key_serializer.as_ref(), arguments.key)
        .and_then(|key| Ok((key, serialized(py, parts.value_serializer.as_ref(), arguments.value)?)));
    let (key, value) = match made {
        Ok(made) => made,
        Err(error) => {
            let raised = (topic, arguments.partition, error.into_value(py));
            return slf.call_method1(intern!(py, "_serializer_raised"), raised).map(Some);
        }
    };
    let (key, value) = (key.as_ref(), value.as_ref());
    if parts.is_plain(key) && parts.is_plain(value) {
        let record = PlainRecord { topic, key, value, headers, partition, timestamp_ms };
        if let Ok(sent) = parts.append(py, &record)? {
            return Ok(Some(sent.into_bound(py).into_any()));
        }
    }
    let given = (topic, arguments.value, arguments.key, key, value);
    let (topic, given_value, given_key, key, value) = given;
    slf.call_method1(
        intern!(py, "_send_serialized"),
        (
            topic,
            given_value,
            given_key,
            key,
            value,
            arguments.headers,
            arguments.partition,
            arguments.timestamp_ms,
        ),
    )
    .map(Some)
}

#[pymethods]
impl TopicSender {
    #[new]
    #[pyo3(signature = (*_arguments, **_settings), text_signature = None)]
    fn new(_arguments: &Bound<'_, PyTuple>, _settings: Option<&Bound<'_, PyDict>>) -> Self {
        Self { parts: OnceLock::new(), appends_directly: AtomicBool::new(false) }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(parts) = self.parts.get() else { return Ok(()) };
        visit.call(&parts.key_serializer)?;
        visit.call(&parts.value_serializer)
    }

    /// Sets the sender up, once. A serializer is called with the key or the value; what takes more is left to
    /// `_send_slowly`, of a sender that is not set up as well.
    #[pyo3(signature = (accumulator, teller, *, key_serializer=None, value_serializer=None, chooses_partitions=true, takes_bytes_only=false))]
    fn _append_directly_to(
        &self,
        accumulator: Py<Accumulator>,
        teller: Py<RecordTeller>,
        key_serializer: Option<Py<PyAny>>,
        value_serializer: Option<Py<PyAny>>,
        chooses_partitions: bool,
        takes_bytes_only: bool,
    ) -> PyResult<()> {
        let parts = SenderParts {
            accumulator,
            teller,
            key_serializer,
            value_serializer,
            chooses_partitions,
            takes_bytes_only,
        };
        if self.parts.set(parts).is_err() {
            return Err(PyTypeError::new_err("there is an accumulator already"));
        }
        self.appends_directly.store(true, Ordering::Release);
        Ok(())
    }

    fn _stop_appending_directly(&self) {
        self.appends_directly.store(false, Ordering::Release);
    }

    /// Appends a record of plain parts; None where it takes waiting.
    #[pyo3(signature = (topic, key, value, headers, partition, timestamp_ms))]
    #[expect(clippy::too_many_arguments, reason = "the parts of a record")]
    fn _append(
        &self,
        py: Python<'_>,
        topic: &Bound<'_, PyString>,
        key: Option<&Bound<'_, PyAny>>,
        value: Option<&Bound<'_, PyAny>>,
        headers: Option<&Bound<'_, PyAny>>,
        partition: Option<i32>,
        timestamp_ms: Option<i64>,
    ) -> PyResult<Option<Py<SentRecord>>> {
        let Some(parts) = self.parts.get() else { return Ok(None) };
        let Some(headers) = PlainHeaders::of(headers)? else {
            return Err(PyTypeError::new_err("headers must be pairs of str and bytes"));
        };
        let timestamp_ms = timestamp_ms.unwrap_or_else(now_ms);
        match parts.append(py, &PlainRecord { topic, key, value, headers, partition, timestamp_ms })? {
            Ok(sent) => Ok(Some(sent)),
            Err(refused) => refusal(py, refused).map(|()| None),
        }
    }

    /// Hands a record over; `get()` of the future gives its RecordMetadata, or raises its error.
    ///
    /// `key` and `value`: what the serializers make bytes of, or bytes; one of them may be None. `headers`: a list of
    /// pairs of a str and bytes. `partition` None leaves the choice to the partitioner. `timestamp_ms`: milliseconds
    /// since 1970, None is now. Waits at most max_block_ms for the topic's metadata and for room in the buffer.
    #[pyo3(signature = (topic, value=None, key=None, headers=None, partition=None, timestamp_ms=None))]
    fn send<'py>(
        slf: &Bound<'py, Self>,
        topic: &Bound<'py, PyAny>,
        value: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
        headers: Option<&Bound<'py, PyAny>>,
        partition: Option<&Bound<'py, PyAny>>,
        timestamp_ms: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        send(slf, &SendArguments { topic, value, key, headers, partition, timestamp_ms })
    }

    /// As `send`, in a generation that knows no headers.
    #[pyo3(name = "_send_without_headers", signature = (topic, value=None, key=None, partition=None, timestamp_ms=None))]
    fn send_without_headers<'py>(
        slf: &Bound<'py, Self>,
        topic: &Bound<'py, PyAny>,
        value: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
        partition: Option<&Bound<'py, PyAny>>,
        timestamp_ms: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        send(slf, &SendArguments { topic, value, key, headers: None, partition, timestamp_ms })
    }
}

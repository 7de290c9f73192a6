//! `MessageSender`: what runs in `confluent_kafka`'s Producer for each message, in the caller's thread.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use pyo3::exceptions::{PyBufferError, PyNotImplementedError, PyRuntimeError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString, PyTuple};
use pyo3::{Borrowed, IntoPyObjectExt};

use crate::clock::now_ms;
use crate::producing::Refused;
use crate::python::librdkafka::event_queue::{EventQueue, Events};
use crate::python::librdkafka::message_arguments::{Argument, ByParameter, Headers, Payload, without_nul};
use crate::python::librdkafka::message_report::{Fate, KeptMessages, MessageReport, ReportRules, Reporter};
use crate::python::librdkafka::parked::{ParkedMessage, ParkedMessages};
use crate::python::objects::fast_method::{Arguments, FastMethod};
use crate::python::produce::accumulator::Accumulator;
use crate::python::produce::delivery::TopicName;
use crate::python::produce::shared_queues::NamedQueues;
use crate::records::NewRecord;

const PRODUCE_PARAMETERS: [&str; 8] =
    ["topic", "value", "key", "partition", "callback", "on_delivery", "timestamp", "headers"];
const PRODUCE_BATCH_PARAMETERS: [&str; 5] = ["topic", "messages", "partition", "callback", "on_delivery"];

/// librdkafka's bound for what a record takes beside key, value and headers.
const RECORD_OVERHEAD: usize = 36;
const ANY_PARTITION: i32 = -1;

/// librdkafka's codes of errors.
const MSG_SIZE_TOO_LARGE: i32 = 10;
const QUEUE_FULL: i32 = -184;
const INVALID_ARG: i32 = -186;
const UNKNOWN_PARTITION: i32 = -190;

/// What a producer has once it is set up.
struct Outlet {
    accumulator: Py<Accumulator>,
    events: Arc<Events>,
    reporter: Arc<Reporter>,
    parked: Py<ParkedMessages>,
    max_messages: usize,
    max_bytes: usize,
    max_message_bytes: usize,
    default_callback: Option<Py<PyAny>>,
    names: Option<KafkaNames>,
    takes_null_values: bool,
}

/// Kafka's names of topics, where the program has others.
struct KafkaNames {
    known: Py<PyDict>,
    find: Py<PyAny>,
}

impl KafkaNames {
    fn of<'py>(&self, topic: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
        let known = self.known.bind(topic.py());
        let name = match known.get_item(topic)? {
            Some(name) => name,
            None => {
                let name = self.find.bind(topic.py()).call1((topic,))?;
                known.set_item(topic, &name)?;
                name
            }
        };
        Ok(name.cast_into()?)
    }
}

impl Outlet {
    /// Whether one more message is within queue.buffering.max.messages and .kbytes.
    fn has_room(&self, bytes: usize) -> bool {
        let (messages, outstanding) = self.events.outstanding();
        messages < self.max_messages && outstanding + bytes <= self.max_bytes
    }

    /// The callback given with a message, or that of the configuration.
    fn callback(&self, py: Python<'_>, own: Option<Borrowed<'_, '_, PyAny>>) -> Option<Py<PyAny>> {
        match (own, &self.default_callback) {
            (Some(callback), _) => Some((*callback).clone().unbind()),
            (None, Some(default)) => Some(default.clone_ref(py)),
            (None, None) => None,
        }
    }

    /// What the topic is called in Kafka.
    fn kafka_name<'py>(&self, topic: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
        match &self.names {
            None => Ok(topic.clone()),
            Some(names) => names.of(topic),
        }
    }

    /// Tells the callback of a message without a value, if it has one, that no such message is sent.
    fn report_null_value(&self, py: Python<'_>, message: &mut NewMessage<'_, '_>) {
        let Some(callback) = message.callback.take() else { return };
        let report = message.report(callback, 0, message.timestamp);
        let topic = TopicName::new(message.topic_name.to_owned(), message.topic.clone().unbind());
        let Ok(error) = INVALID_ARG.into_pyobject(py);
        let fate = Fate::Failed {
            topic: Arc::new(topic),
            partition: message.partition,
            error: error.into_any().unbind(),
        };
        self.events.produced(py, 1, 0);
        let kept = KeptMessages { reports: vec![report], ..KeptMessages::default() };
        self.reporter.report(py, fate, kept);
    }
}

/// Base of confluent_kafka's Producer. That has methods `_refuse(code)`, which raises, `_failed_message(topic, reason)`,
/// which makes the error of one of a batch, `_before_parking(topic)`, which raises unless a message for a topic
/// without known partitions shall wait for them, and `_after_parking(topic)`, which sees to it that these are looked for.
#[pyclass(frozen, subclass, module = "barnabas._kernel")]
pub struct MessageSender {
    outlet: OnceLock<Outlet>,
    is_open: AtomicBool,
}

impl MessageSender {
    fn open_outlet(&self) -> PyResult<&Outlet> {
        match self.outlet.get() {
            Some(outlet) if self.is_open.load(Ordering::Acquire) => Ok(outlet),
            _ => Err(PyRuntimeError::new_err("Producer has been closed")),
        }
    }
}

/// A message with its arguments taken apart.
struct NewMessage<'a, 'py> {
    topic: &'a Bound<'py, PyString>,
    topic_name: &'a str,
    key: Payload<'a, 'py>,
    value: Payload<'a, 'py>,
    headers: Headers,
    partition: i32,
    /// 0 is now.
    timestamp: i64,
    callback: Option<Py<PyAny>>,
}

impl NewMessage<'_, '_> {
    /// What `callback` is to hear of it.
    fn report(&self, callback: Py<PyAny>, value_bytes: usize, timestamp: i64) -> MessageReport {
        MessageReport {
            index: 0,
            size: value_bytes as u32,
            timestamp,
            produced_at: Instant::now(),
            callback,
            key: self.key.kept(),
            value: self.value.kept(),
        }
    }
}

/// Hands a message over. The inner error is one of librdkafka's codes: why it was not taken.
fn enqueue(
    slf: &Bound<'_, MessageSender>,
    outlet: &Outlet,
    mut message: NewMessage<'_, '_>,
) -> PyResult<Result<(), i32>> {
    let py = slf.py();
    if matches!(message.value, Payload::None) && !outlet.takes_null_values {
        outlet.report_null_value(py, &mut message);
        return Ok(Ok(()));
    }
    let (value, key) = (message.value.bytes()?, message.key.bytes()?);
    let size = value.map_or(0, <[u8]>::len);
    let record_size = RECORD_OVERHEAD + size + key.map_or(0, <[u8]>::len) + message.headers.size();
    if record_size > outlet.max_message_bytes {
        return Ok(Err(MSG_SIZE_TOO_LARGE));
    }
    if !outlet.has_room(size) {
        return Ok(Err(QUEUE_FULL));
    }
    let timestamp = if message.timestamp == 0 { now_ms() } else { message.timestamp };
    let record = NewRecord::new(timestamp, key, value, message.headers.wire());
    let partition = (message.partition != ANY_PARTITION).then_some(message.partition);
    let accumulator = outlet.accumulator.get();
    let settings = &accumulator.settings;
    let callback = message.callback.take();
    let mut report = Some(callback.map(|callback| message.report(callback, size, timestamp)));
    // The partition that had nothing to send.
    let mut idle = None;
    let mut append = |queues: &mut NamedQueues| {
        let index = queues.index_of_object(message.topic, message.topic_name);
        let place = queues.append_at(settings, message.topic_name, index, partition, &record)?;
        idle = place.wake.then_some(place.partition);
        // While the queues are locked the batch cannot be decided.
        match report.take().flatten() {
            Some(mut report) => {
                report.index = place.index;
                outlet.reporter.keep(py, place.outcome, report);
            }
            None => outlet.reporter.keep_silent(py, place.outcome, 1, size),
        }
        outlet.events.produced(py, 1, size);
        Ok(())
    };
    let parked = outlet.parked.get();
    let mut refused = match parked.has(message.topic_name) {
        true => Err(Refused::NotNow),
        false => append(&mut accumulator.queues.lock()),
    };
    if matches!(refused, Err(Refused::NotNow)) {
        slf.call_method1(intern!(py, "_before_parking"), (message.topic,))?;
        let mut by_topic = parked.lock();
        if !by_topic.contains_key(message.topic_name) {
            refused = append(&mut accumulator.queues.lock());
        }
        if matches!(refused, Err(Refused::NotNow)) {
            let copy =
                ParkedMessage::new(partition, &record, report.flatten(), accumulator.settings.monotonic_ms());
            parked.park(&mut by_topic, message.topic_name, copy);
            outlet.events.produced(py, 1, size);
            drop(by_topic);
            // The topic may have been looked for in vain since, when there was no message to fail.
            slf.call_method1(intern!(py, "_after_parking"), (message.topic,))?;
            return Ok(Ok(()));
        }
    }
    match refused {
        Ok(()) => {}
        Err(Refused::TooLarge(_)) => return Ok(Err(MSG_SIZE_TOO_LARGE)),
        Err(_) => return Ok(Err(UNKNOWN_PARTITION)),
    }
    if let Some(partition) = idle
        && !accumulator.send_directly(message.topic_name, partition)
    {
        accumulator.wake_sender(py);
    }
    Ok(Ok(()))
}

#[pymethods]
impl MessageSender {
    #[new]
    #[pyo3(signature = (*_arguments, **_settings), text_signature = None)]
    fn new(_arguments: &Bound<'_, PyTuple>, _settings: Option<&Bound<'_, PyDict>>) -> Self {
        Self { outlet: OnceLock::new(), is_open: AtomicBool::new(false) }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(outlet) = self.outlet.get() else { return Ok(()) };
        if let Some(names) = &outlet.names {
            visit.call(&names.find)?;
        }
        visit.call(&outlet.default_callback)
    }

    /// Sets the sender up, once. Gives the messages that wait for their topics.
    #[pyo3(signature = (accumulator, events, *, max_messages, max_bytes, max_message_bytes, error_of, only_errors,
        default_callback, kafka_name=None, shown_name=None, takes_null_values=true))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn _open(
        &self,
        accumulator: Bound<'_, Accumulator>,
        events: &Bound<'_, EventQueue>,
        max_messages: usize,
        max_bytes: usize,
        max_message_bytes: usize,
        error_of: Py<PyAny>,
        only_errors: bool,
        default_callback: Option<Py<PyAny>>,
        kafka_name: Option<Py<PyAny>>,
        shown_name: Option<Py<PyAny>>,
        takes_null_values: bool,
    ) -> PyResult<Py<ParkedMessages>> {
        let py = accumulator.py();
        let reporter = Arc::new(Reporter {
            events: Arc::clone(&events.get().events),
            rules: Arc::new(ReportRules { error_of, only_errors, shown_name }),
        });
        let accumulator = accumulator.unbind();
        let parked = Py::new(py, ParkedMessages::new(accumulator.clone_ref(py), Arc::clone(&reporter)))?;
        let outlet = Outlet {
            accumulator,
            events: Arc::clone(&reporter.events),
            reporter,
            parked: parked.clone_ref(py),
            max_messages,
            max_bytes,
            max_message_bytes,
            default_callback,
            names: kafka_name.map(|find| KafkaNames { known: PyDict::new(py).unbind(), find }),
            takes_null_values,
        };
        if self.outlet.set(outlet).is_err() {
            return Err(PyTypeError::new_err("the sender is set up already"));
        }
        self.is_open.store(true, Ordering::Release);
        Ok(parked)
    }

    /// From now on produce() raises.
    fn _shut(&self) {
        self.is_open.store(false, Ordering::Release);
    }

    /// How many messages and reports wait.
    fn __len__(&self) -> usize {
        match self.open_outlet() {
            Ok(outlet) => outlet.events.outstanding().0 + outlet.events.waiting(),
            Err(_) => 0,
        }
    }

    /// A producer is true, also when it has nothing to do.
    fn __bool__(&self) -> bool {
        true
    }
}

pub struct Produce;

impl FastMethod for Produce {
    type Class = MessageSender;
    const NAME: &'static CStr = c"produce";
    const DOCUMENTATION: &'static CStr = c"produce($self, topic, value=None, key=None, partition=-1, callback=None, on_delivery=None, timestamp=0, headers=None)\n--\n\n\
        Hands a message over, and returns before it is sent.\n\
        \n\
        key and value: bytes, or str that is sent as UTF-8, or None. partition -1 leaves the choice to the\n\
        `partitioner`. `callback(error, message)`, also called on_delivery, is called from poll() or flush() when the\n\
        message was delivered or has failed for good; without one that of the configuration is. timestamp: milliseconds\n\
        since 1970 (UTC), 0 is now. headers: a dictionary, or a list of pairs of a name and a value (bytes, str or\n\
        None); messages in callbacks do not show them.\n\
        \n\
        Raises BufferError while more messages wait than queue.buffering.max.messages or .kbytes allows: call poll();\n\
        KafkaException for other reasons, with a code in it; RuntimeError after close().";

    fn call(slf: &Bound<'_, MessageSender>, arguments: &Arguments<'_, '_>) -> PyResult<Py<PyAny>> {
        let arguments = ByParameter::sort(&PRODUCE_PARAMETERS, arguments)?;
        let [topic, value, key, partition, callback, on_delivery, timestamp, headers] = arguments.given;
        let given_topic = topic.text("topic")?;
        let given_name = without_nul(given_topic.to_str()?)?;
        let (value, key) = (value.payload(2)?, key.payload(3)?);
        let (partition, timestamp) = (partition.int(ANY_PARTITION)?, timestamp.long(0)?);
        arguments.check_names()?;
        let headers = headers.headers()?;
        // The arguments are judged first, as everywhere in the original.
        let outlet = slf.get().open_outlet()?;
        let renamed;
        let (topic, topic_name) = match &outlet.names {
            None => (&*given_topic, given_name),
            Some(names) => {
                renamed = names.of(&given_topic)?;
                (&renamed, renamed.to_str()?)
            }
        };
        let message = NewMessage {
            topic,
            topic_name,
            value,
            key,
            partition,
            timestamp,
            headers,
            callback: outlet.callback(slf.py(), callback.object().or_else(|| on_delivery.object())),
        };
        match enqueue(slf, outlet, message)? {
            Ok(()) => Ok(slf.py().None()),
            Err(QUEUE_FULL) => Err(PyBufferError::new_err("Local: Queue full")),
            Err(code) => slf.call_method1(intern!(slf.py(), "_refuse"), (code,)).map(Bound::unbind),
        }
    }
}

pub struct ProduceBatch;

impl FastMethod for ProduceBatch {
    type Class = MessageSender;
    const NAME: &'static CStr = c"produce_batch";
    const DOCUMENTATION: &'static CStr = c"produce_batch($self, topic, messages, partition=-1, callback=None, on_delivery=None)\n--\n\n\
        Hands several messages over, and says how many were taken.\n\
        \n\
        messages: a list of dictionaries with, all optional, `value` and `key` (bytes, str or None) and `callback`. What\n\
        is not taken gets its error as `_error`. `partition` and the default callback are for all of them; there are no\n\
        timestamps and headers here, and no partitions of single messages.\n\
        \n\
        Raises TypeError before anything is taken, where a message is not one; RuntimeError after close().";

    fn call(slf: &Bound<'_, MessageSender>, arguments: &Arguments<'_, '_>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let arguments = ByParameter::sort(&PRODUCE_BATCH_PARAMETERS, arguments)?;
        let [topic, messages, partition, callback, on_delivery] = arguments.given;
        let topic = topic.text("topic")?;
        without_nul(topic.to_str()?)?;
        let Argument::Given(messages) = messages else {
            return Err(PyTypeError::new_err("function missing required argument 'messages' (pos 2)"));
        };
        let partition = partition.int(ANY_PARTITION)?;
        arguments.check_names()?;
        let callback = callback.object().or_else(|| on_delivery.object());
        let messages =
            messages.cast::<PyList>().map_err(|_| PyTypeError::new_err("messages must be a list"))?;
        if messages.is_empty() {
            return 0_usize.into_py_any(py);
        }
        let outlet = slf.get().open_outlet()?;
        let mut items = Vec::with_capacity(messages.len());
        for (index, message) in messages.iter().enumerate() {
            items.push(BatchItem::new(index, message)?);
        }
        let topic = outlet.kafka_name(&topic)?;
        let topic_name = topic.to_str()?;
        let mut taken = 0_usize;
        for item in &items {
            let own_callback = item.callback.as_ref().map(Bound::as_borrowed);
            let message = NewMessage {
                topic: &topic,
                topic_name,
                value: item.payload(&item.value),
                key: item.payload(&item.key),
                partition,
                timestamp: 0,
                headers: Headers::none(),
                callback: outlet.callback(py, own_callback.or(callback)),
            };
            let refused = match enqueue(slf, outlet, message) {
                Ok(Ok(())) => {
                    taken += 1;
                    continue;
                }
                Ok(Err(code)) => code.into_pyobject(py)?.into_any(),
                Err(error) => error.into_value(py).into_bound(py).into_any(),
            };
            let error = slf.call_method1(intern!(py, "_failed_message"), (&topic, refused))?;
            item.message.set_item(intern!(py, "_error"), error)?;
        }
        taken.into_py_any(py)
    }
}

pub struct Poll;

impl FastMethod for Poll {
    type Class = MessageSender;
    const NAME: &'static CStr = c"poll";
    const DOCUMENTATION: &'static CStr = c"poll($self, timeout=-1)\n--\n\n\
        Calls the callbacks that are due: delivery reports, error_cb, stats_cb and the like.\n\
        \n\
        timeout: how many seconds to wait for the first of them; a negative one waits without end. Returns the number of\n\
        events, where the reports of one batch are one. What a callback raises comes out of here; the others are left\n\
        for the next call.";

    fn call(slf: &Bound<'_, MessageSender>, arguments: &Arguments<'_, '_>) -> PyResult<Py<PyAny>> {
        let arguments = ByParameter::sort(&["timeout"], arguments)?;
        let timeout = arguments.given[0].seconds()?;
        arguments.check_names()?;
        let events = &slf.get().open_outlet()?.events;
        events.serve(slf.py(), timeout)?.into_py_any(slf.py())
    }
}

/// One message of a batch, checked.
struct BatchItem<'py> {
    message: Bound<'py, PyDict>,
    value: Option<Bound<'py, PyAny>>,
    key: Option<Bound<'py, PyAny>>,
    callback: Option<Bound<'py, PyAny>>,
}

impl<'py> BatchItem<'py> {
    fn new(index: usize, message: Bound<'py, PyAny>) -> PyResult<Self> {
        let py = message.py();
        let refuse = |what: &str| PyTypeError::new_err(what.replace("INDEX", &index.to_string()));
        let message =
            message.cast_into::<PyDict>().map_err(|_| refuse("Message at index INDEX must be a dict"))?;
        let part = |name: &Bound<'py, PyString>| -> PyResult<Option<Bound<'py, PyAny>>> {
            Ok(message.get_item(name)?.filter(|part| !part.is_none()))
        };
        let is_text_or_bytes = |part: &Option<Bound<'py, PyAny>>| {
            part.as_ref()
                .is_none_or(|part| part.is_instance_of::<PyBytes>() || part.is_instance_of::<PyString>())
        };
        let value = part(intern!(py, "value"))?;
        if !is_text_or_bytes(&value) {
            return Err(refuse("Message value at index INDEX must be bytes or str"));
        }
        let key = part(intern!(py, "key"))?;
        if !is_text_or_bytes(&key) {
            return Err(refuse("Message key at index INDEX must be bytes or str"));
        }
        if part(intern!(py, "partition"))?.is_some_and(|partition| !partition.is_instance_of::<PyInt>()) {
            return Err(refuse("Message partition at index INDEX must be int"));
        }
        if part(intern!(py, "timestamp"))?.is_some() {
            let text = "Message timestamps are not currently supported in batch mode";
            return Err(PyNotImplementedError::new_err(text));
        }
        let callback = part(intern!(py, "callback"))?;
        Ok(Self { message, value, key, callback })
    }

    fn payload<'a>(&self, part: &'a Option<Bound<'py, PyAny>>) -> Payload<'a, 'py> {
        match part {
            None => Payload::None,
            Some(part) => match part.cast::<PyBytes>() {
                Ok(bytes) => Payload::Bytes(bytes.as_borrowed()),
                Err(_) => {
                    part.cast::<PyString>().map_or(Payload::None, |text| Payload::Text(text.as_borrowed()))
                }
            },
        }
    }
}

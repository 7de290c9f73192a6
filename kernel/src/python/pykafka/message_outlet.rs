//! `MessageOutlet`: what runs in pykafka's Producer for each message, in the caller's thread.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyString, PyTuple, PyType};

use crate::clock::now_ms;
use crate::producing::Refused;
use crate::python::objects::input::BorrowedInput;
use crate::python::produce::accumulator::{Accumulator, refusal};
use crate::python::produce::delivery::{BatchOutcome, Delivery, Resolution};
use crate::python::pykafka::message_class::{MessageClass, SlotValues};
use crate::python::pykafka::outgoing::{OutgoingMessage, OutgoingMessages, OutgoingRules, Outstanding};
use crate::python::pykafka::report_queue::ReportQueue;
use crate::records::{NO_HEADERS, NewRecord};

/// Of a message in the formats of old, beside key and value.
const MESSAGE_BYTES: usize = 14;
const TIMESTAMP_BYTES: usize = 8;
const NO_OFFSET: i64 = -1;

/// Between two looks for a signal such as Ctrl-C, which does not end a wait by itself.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// What a started producer has.
struct Outlet {
    accumulator: Py<Accumulator>,
    topic: Py<PyString>,
    rules: Arc<OutgoingRules>,
    has_timestamps: bool,
    /// The topic's own, which the program's cluster keeps up to date.
    partitions: Py<PyDict>,
    /// Their numbers, in the order of `partitions`.
    numbers: Mutex<Vec<(i32, Py<PyAny>)>>,
    /// Of the partition that was chosen last.
    turn: AtomicUsize,
    max_request_size: usize,
    max_queued_messages: usize,
    min_queued_messages: usize,
    /// Appended since the last flush.
    unflushed: AtomicUsize,
    /// Of `produce` until its message is delivered, in seconds; None for one that does not wait.
    sync_timeout: Option<Option<f64>>,
    /// Has an attribute `queue`, which differs from thread to thread.
    reports: Option<Py<PyAny>>,
}

/// Where a message was appended.
struct Place {
    batch: Arc<BatchOutcome>,
    index: u32,
    partition: u32,
    timestamp: i64,
    wake: bool,
}

impl Outlet {
    fn next_partition(&self, py: Python<'_>) -> PyResult<Option<(i32, Py<PyAny>)>> {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let partitions = self.partitions.bind(py);
        if numbers.len() != partitions.len() {
            let new = partitions.keys().iter().map(|id| Ok((id.extract()?, id.unbind())));
            *numbers = new.collect::<PyResult<_>>()?;
        }
        if numbers.is_empty() {
            return Ok(None);
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed).wrapping_add(1) % numbers.len();
        let (number, id) = &numbers[turn];
        Ok(Some((*number, id.clone_ref(py))))
    }

    fn queue<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.reports.as_ref().map(|local| local.bind(py).getattr(intern!(py, "queue"))).transpose()
    }

    /// Appends a record; the inner error is why it was not taken. `told`: whoever is to hear what becomes of it.
    fn append(
        &self,
        py: Python<'_>,
        partition: i32,
        record: &NewRecord<'_>,
        told: Option<OutgoingMessage>,
    ) -> PyResult<Result<Place, Refused>> {
        let accumulator = self.accumulator.get();
        let topic = self.topic.bind(py);
        let name = topic.to_str()?;
        let appended = {
            let mut queues = accumulator.queues.lock();
            let topic_index = queues.index_of_object(topic, name);
            queues
                .append_at(&accumulator.settings, name, topic_index, Some(partition), record)
                .map(|place| place.to_appended())
        };
        let appended = match appended {
            Ok(appended) => appended,
            Err(refused) => return Ok(Err(refused)),
        };
        if let Some(mut message) = told {
            message.index = appended.index;
            self.rules.outstanding.add();
            OutgoingMessages::keep(&self.rules, py, &appended.outcome, message);
        }
        let place = Place {
            index: appended.index,
            partition: appended.partition,
            wake: appended.wake,
            batch: appended.outcome,
            timestamp: record.timestamp,
        };
        Ok(Ok(place))
    }

    /// Whether so many messages were appended that they do not linger any more.
    fn is_flush_due(&self) -> bool {
        if self.min_queued_messages <= 1 {
            return false;
        }
        let count = self.unflushed.fetch_add(1, Ordering::Relaxed) + 1;
        let is_due = count >= self.min_queued_messages;
        if is_due {
            self.unflushed.store(0, Ordering::Relaxed);
        }
        is_due
    }

    fn wake(&self, py: Python<'_>, place: &Place) -> PyResult<()> {
        let accumulator = self.accumulator.get();
        if place.wake && !accumulator.send_directly(self.topic.bind(py).to_str()?, place.partition) {
            accumulator.wake_sender(py);
        }
        Ok(())
    }
}

/// Base of pykafka's Producer. That has methods `_produce(message, partition_key, timestamp)` for all that is not plain
/// appending, `_flush_soon()` where min_queued_messages wait, `_raise_failure(error)`, which raises what a waiting
/// `produce` is to raise, and `_after_late_append()` for a message that came while appending was stopped.
#[pyclass(frozen, subclass, module = "barnabas._kernel")]
pub struct MessageOutlet {
    outlet: Mutex<Option<Arc<Outlet>>>,
    is_open: AtomicBool,
    is_plain: AtomicBool,
}

fn is_plain(part: Option<&Bound<'_, PyAny>>) -> bool {
    part.is_none_or(|part| part.is_exact_instance_of::<PyBytes>())
}

impl MessageOutlet {
    fn outlet(&self) -> Option<Arc<Outlet>> {
        self.outlet.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for what becomes of a message, and notes its offset.
    fn await_delivery(
        slf: &Bound<'_, Self>,
        outlet: &Outlet,
        message: &Py<PyAny>,
        place: Place,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let py = slf.py();
        let deciding_thread = outlet.accumulator.get().deciding_thread();
        let batch = Arc::clone(&place.batch);
        let delivery = Delivery::new(place.batch, place.index, place.index, place.timestamp, deciding_thread);
        let error = match delivery.wait(py, timeout) {
            Ok(Ok(_)) => {
                if let Resolution::Delivered { offset, .. } = batch.resolve(place.index, place.index)
                    && offset >= 0
                {
                    outlet.rules.class.set_offset(py, message, offset)?;
                }
                return Ok(());
            }
            Ok(Err(error)) => error,
            Err(error) => error.into_value(py).into_any(),
        };
        slf.call_method1(intern!(py, "_raise_failure"), (error,)).map(drop)
    }

    /// None where more has to be looked at first, and nothing was done.
    fn produce_plainly(
        slf: &Bound<'_, Self>,
        value: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let (py, this) = (slf.py(), slf.get());
        if !this.is_plain.load(Ordering::Acquire) || !is_plain(value) || !is_plain(key) {
            return Ok(None);
        }
        let Some(outlet) = this.outlet() else { return Ok(None) };
        let (value_bytes, key_bytes) =
            (value.map(BorrowedInput::of).transpose()?, key.map(BorrowedInput::of).transpose()?);
        let size = |part: &Option<BorrowedInput<'_>>| part.as_ref().map_or(0, |part| part.as_ref().len());
        let fixed = MESSAGE_BYTES + if outlet.has_timestamps { TIMESTAMP_BYTES } else { 0 };
        if fixed + size(&value_bytes) + size(&key_bytes) > outlet.max_request_size
            || outlet.rules.outstanding.count() >= outlet.max_queued_messages
        {
            return Ok(None);
        }
        let Some((number, id)) = outlet.next_partition(py)? else { return Ok(None) };
        let none = py.None().into_bound(py);
        let queue = outlet.queue(py)?;
        let now = now_ms();
        let timestamp = if outlet.has_timestamps { PyInt::new(py, now).into_any() } else { none.clone() };
        let parts = SlotValues {
            value: value.unwrap_or(&none),
            key: key.unwrap_or(&none),
            offset: NO_OFFSET,
            timestamp: &timestamp,
            partition_id: &id,
            partition: none.as_unbound(),
            reports: queue.as_ref().unwrap_or(&none),
        };
        let message = outlet.rules.class.object(py, &parts, queue.is_some())?;
        let record = NewRecord::new(
            now,
            key_bytes.as_ref().map(AsRef::as_ref),
            value_bytes.as_ref().map(AsRef::as_ref),
            NO_HEADERS,
        );
        Self::hand_over(slf, &outlet, &message, number, &record, queue.as_ref())?
            .map_or_else(|_| Ok(None), |()| Ok(Some(message)))
    }

    /// Appends the record of a message, and waits for its delivery where the producer does that.
    fn hand_over(
        slf: &Bound<'_, Self>,
        outlet: &Outlet,
        message: &Py<PyAny>,
        partition: i32,
        record: &NewRecord<'_>,
        queue: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Result<(), Refused>> {
        let py = slf.py();
        let told = match outlet.sync_timeout {
            Some(_) => None,
            None => {
                let queue = queue.and_then(|queue| queue.cast::<ReportQueue>().ok());
                let reports = queue.map(|queue| Arc::clone(&queue.get().waiting));
                Some(OutgoingMessage { index: 0, message: message.clone_ref(py), reports })
            }
        };
        let place = match outlet.append(py, partition, record, told)? {
            Ok(place) => place,
            Err(refused) => return Ok(Err(refused)),
        };
        outlet.wake(py, &place)?;
        if !slf.get().is_open.load(Ordering::Acquire) {
            slf.call_method0(intern!(py, "_after_late_append"))?;
        }
        if let Some(timeout) = outlet.sync_timeout {
            Self::await_delivery(slf, outlet, message, place, timeout)?;
        } else if outlet.is_flush_due() {
            slf.call_method0(intern!(py, "_flush_soon"))?;
        }
        Ok(Ok(()))
    }
}

#[pymethods]
impl MessageOutlet {
    #[new]
    #[pyo3(signature = (*_arguments, **_settings), text_signature = None)]
    fn new(_arguments: &Bound<'_, PyTuple>, _settings: Option<&Bound<'_, PyDict>>) -> Self {
        Self { outlet: Mutex::new(None), is_open: AtomicBool::new(false), is_plain: AtomicBool::new(false) }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(outlet) = self.outlet.try_lock() else { return Ok(()) };
        match outlet.as_ref() {
            // Where a call uses it at present, all it leads to is alive.
            Some(outlet) if Arc::strong_count(outlet) == 1 => visit.call(&outlet.reports),
            _ => Ok(()),
        }
    }

    /// Starts the producer, anew where it was shut. `chooses_in_turn`: partitions take turns; else, as where anything
    /// else is not plain, `_produce` chooses. `sync_timeout`: of a producer that waits, in seconds, negative for
    /// without end. `reports` has an attribute `queue` for each thread.
    #[pyo3(signature = (accumulator, topic, *, message_class, protocol_version, partitions, max_request_size,
        max_queued_messages, min_queued_messages, error_of, is_plain, sync_timeout=None, reports=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn _open(
        &self,
        py: Python<'_>,
        accumulator: Py<Accumulator>,
        topic: Py<PyString>,
        message_class: &Bound<'_, PyType>,
        protocol_version: i64,
        partitions: Py<PyDict>,
        max_request_size: usize,
        max_queued_messages: usize,
        min_queued_messages: usize,
        error_of: Py<PyAny>,
        is_plain: bool,
        sync_timeout: Option<f64>,
        reports: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let class = MessageClass::new(message_class, protocol_version)?;
        let outlet = Outlet {
            accumulator,
            topic,
            rules: Arc::new(OutgoingRules { class, error_of, outstanding: Outstanding::default() }),
            has_timestamps: protocol_version > 0,
            partitions: partitions.clone_ref(py),
            numbers: Mutex::default(),
            turn: AtomicUsize::new(0),
            max_request_size,
            max_queued_messages,
            min_queued_messages,
            unflushed: AtomicUsize::new(0),
            sync_timeout: sync_timeout.map(|seconds| (seconds >= 0.0).then_some(seconds)),
            reports,
        };
        *self.outlet.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(outlet));
        self.is_open.store(true, Ordering::Release);
        self.is_plain.store(is_plain, Ordering::Release);
        Ok(())
    }

    /// Whether `produce` may append by itself, of a producer for which `_open` said so. Any thread.
    fn _set_plain(&self, is_plain: bool) {
        self.is_plain.store(is_plain, Ordering::Release);
    }

    /// From now on `produce` goes to `_produce`, and what is appended nevertheless is late. Any thread.
    fn _stop_appending(&self) {
        self.is_plain.store(false, Ordering::Release);
        self.is_open.store(false, Ordering::Release);
    }

    /// Hands a message over that `_produce` made; false where it takes waiting. Raises: RecordTooLargeError,
    /// NoSuchPartitionError, and what `_raise_failure` raises.
    #[pyo3(signature = (message, value, key, partition, timestamp_ms=None))]
    fn _append_message(
        slf: &Bound<'_, Self>,
        message: &Bound<'_, PyAny>,
        value: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        partition: i32,
        timestamp_ms: Option<i64>,
    ) -> PyResult<bool> {
        let py = slf.py();
        let Some(outlet) = slf.get().outlet() else {
            return Err(PyTypeError::new_err("the producer was never started"));
        };
        let (value, key) =
            (value.map(BorrowedInput::of).transpose()?, key.map(BorrowedInput::of).transpose()?);
        let record = NewRecord::new(
            timestamp_ms.unwrap_or_else(now_ms),
            key.as_ref().map(AsRef::as_ref),
            value.as_ref().map(AsRef::as_ref),
            NO_HEADERS,
        );
        let queue = outlet.queue(py)?;
        match Self::hand_over(slf, &outlet, &message.clone().unbind(), partition, &record, queue.as_ref())? {
            Ok(()) => Ok(true),
            Err(refused) => refusal(py, refused).map(|()| false),
        }
    }

    /// How many messages are appended and neither delivered nor failed.
    #[getter]
    fn _outstanding(&self) -> usize {
        self.outlet().map_or(0, |outlet| outlet.rules.outstanding.count())
    }

    /// Waits until fewer than `limit` messages are outstanding, at most `timeout` seconds; whether they are.
    fn _wait_below(&self, py: Python<'_>, limit: usize, timeout: f64) -> PyResult<bool> {
        let Some(outlet) = self.outlet() else { return Ok(true) };
        let time = Duration::try_from_secs_f64(timeout.max(0.0)).unwrap_or(Duration::MAX);
        let deadline = Instant::now().checked_add(time);
        loop {
            if outlet.rules.outstanding.count() < limit {
                return Ok(true);
            }
            let left = deadline.map_or(SIGNAL_CHECK, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(false);
            }
            py.detach(|| outlet.rules.outstanding.wait_below(limit, left.min(SIGNAL_CHECK)));
            py.check_signals()?;
        }
    }

    /// Hands a message over, which is sent when min_queued_messages of them wait, or linger_ms have passed.
    ///
    /// `message`: bytes, or None; with a serializer, what that takes. `partition_key`: for the partitioner. `timestamp`: a
    /// datetime in UTC, for brokers from 0.10 on. Gives the Message, which knows its offset when it is delivered.
    ///
    /// Raises: TypeError, ProducerStoppedException, ProducerQueueFullError; with sync=True what the message failed with.
    #[pyo3(signature = (message, partition_key=None, timestamp=None))]
    fn produce<'py>(
        slf: &Bound<'py, Self>,
        message: Option<&Bound<'py, PyAny>>,
        partition_key: Option<&Bound<'py, PyAny>>,
        timestamp: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if timestamp.is_none() {
            if let Some(made) = Self::produce_plainly(slf, message, partition_key)? {
                return Ok(made.into_bound(py));
            }
        }
        slf.call_method1(intern!(py, "_produce"), (message, partition_key, timestamp))
    }
}

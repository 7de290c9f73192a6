//! `ParkedMessages`: messages of topics whose partitions are not known yet. They wait here, in order, since produce()
//! does not.
//!
//! A message is parked behind those of its topic that are, and appended to a batch only if there are none: so the order
//! in which one thread produces is kept. The lock is taken before that of the queues, and held for moments only, never
//! while Python code runs.

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::locks::lock;
use crate::python::librdkafka::message_report::{Fate, KeptMessages, MessageReport, Reporter};
use crate::python::produce::accumulator::Accumulator;
use crate::python::produce::delivery::TopicName;
use crate::records::NewRecord;

/// librdkafka's code of the error `_UNKNOWN_PARTITION`.
const UNKNOWN_PARTITION: i32 = -190;

/// A copy of a message. The interpreter lock is not held where it is appended.
pub struct ParkedMessage {
    partition: Option<i32>,
    timestamp: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<u8>,
    /// None for a message without a callback.
    report: Option<MessageReport>,
    /// By the monotonic clock: its time-out began then.
    produced_at_ms: f64,
}

impl ParkedMessage {
    pub fn new(
        partition: Option<i32>,
        record: &NewRecord<'_>,
        report: Option<MessageReport>,
        produced_at_ms: f64,
    ) -> Self {
        Self {
            partition,
            timestamp: record.timestamp,
            key: record.key.map(<[u8]>::to_vec),
            value: record.value.map(<[u8]>::to_vec),
            headers: record.headers.to_vec(),
            report,
            produced_at_ms,
        }
    }

    fn record(&self) -> NewRecord<'_> {
        NewRecord::new(self.timestamp, self.key.as_deref(), self.value.as_deref(), &self.headers)
    }

    fn value_bytes(&self) -> usize {
        self.value.as_ref().map_or(0, Vec::len)
    }

    fn keep_in(self, kept: &mut KeptMessages) {
        let bytes = self.value_bytes();
        match self.report {
            Some(report) => kept.reports.push(report),
            None => kept.add_silent(1, bytes),
        }
    }
}

type ParkedByTopic = HashMap<String, Vec<ParkedMessage>>;

/// Those of one producer.
#[pyclass(frozen, module = "barnabas._kernel")]
pub struct ParkedMessages {
    accumulator: Py<Accumulator>,
    reporter: Arc<Reporter>,
    by_topic: Mutex<ParkedByTopic>,
    /// Changed under the lock. Whoever has parked a message sees this, or finds that message appended.
    has_any: AtomicBool,
}

impl ParkedMessages {
    pub fn new(accumulator: Py<Accumulator>, reporter: Arc<Reporter>) -> Self {
        Self { accumulator, reporter, by_topic: Mutex::default(), has_any: AtomicBool::new(false) }
    }

    /// Whether messages for the topic are to go behind others.
    #[inline]
    pub fn has(&self, topic: &str) -> bool {
        self.has_any.load(Ordering::Acquire) && self.finds(topic)
    }

    #[cold]
    fn finds(&self, topic: &str) -> bool {
        self.lock().contains_key(topic)
    }

    pub fn lock(&self) -> MutexGuard<'_, ParkedByTopic> {
        lock(&self.by_topic)
    }

    pub fn park(&self, by_topic: &mut ParkedByTopic, topic: &str, message: ParkedMessage) {
        by_topic.entry(topic.to_owned()).or_default().push(message);
        self.has_any.store(true, Ordering::Release);
    }

    fn report(&self, py: Python<'_>, topic: &str, messages: Vec<ParkedMessage>, error: &Py<PyAny>) {
        let object = PyString::new(py, topic).unbind();
        let name = Arc::new(TopicName::new(topic.to_owned(), object));
        let mut messages = messages.into_iter().peekable();
        while let Some(first) = messages.next() {
            let partition = first.partition;
            let mut kept = KeptMessages::default();
            first.keep_in(&mut kept);
            while let Some(message) = messages.next_if(|message| message.partition == partition) {
                message.keep_in(&mut kept);
            }
            let fate = Fate::Failed {
                topic: Arc::clone(&name),
                partition: partition.unwrap_or(-1),
                error: error.clone_ref(py),
            };
            self.reporter.report(py, fate, kept);
        }
    }
}

#[pymethods]
impl ParkedMessages {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.accumulator)
    }

    /// Topics that messages wait for.
    fn topics(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// Appends what waits for a topic, before anything else of it can be, if its partitions are known.
    fn unpark(&self, py: Python<'_>, topic: &str) {
        let accumulator = self.accumulator.get();
        let mut refused = Vec::new();
        let mut wake = false;
        {
            let mut by_topic = self.lock();
            let mut queues = accumulator.queues.lock();
            let index = queues.index_of(topic);
            if index.is_none_or(|index| queues.topics[index].partition_count == 0) {
                return;
            }
            let Some(parked) = by_topic.remove(topic) else { return };
            // The transaction that they belong to may be on its way to its end.
            let was_shut = mem::replace(&mut queues.is_shut, false);
            for message in parked {
                let record = message.record();
                match queues.append_at(&accumulator.settings, topic, index, message.partition, &record) {
                    Ok(place) => {
                        wake |= place.wake;
                        let partition = place.partition as usize;
                        let bytes = message.value_bytes();
                        // While the queues are locked the batch cannot be decided.
                        match message.report {
                            Some(mut report) => {
                                report.index = place.index;
                                self.reporter.keep(py, place.outcome, report);
                            }
                            None => self.reporter.keep_silent(py, place.outcome, 1, bytes),
                        }
                        queues.backdate(topic, partition, message.produced_at_ms);
                    }
                    // Its size was checked when it was produced, so that only the partition may be wrong.
                    Err(_) => refused.push(message),
                }
            }
            queues.is_shut = was_shut;
            self.has_any.store(!by_topic.is_empty(), Ordering::Release);
        }
        if wake {
            accumulator.wake_sender(py);
        }
        if !refused.is_empty() {
            let Ok(error) = UNKNOWN_PARTITION.into_pyobject(py);
            self.report(py, topic, refused, &error.into_any().unbind());
        }
    }

    /// Fails what waits for a topic, or for any, and was produced at `until_ms` of the monotonic clock
    /// or before; and says how much that was.
    #[pyo3(signature = (topic, error, *, until_ms=f64::INFINITY))]
    fn fail(&self, py: Python<'_>, topic: Option<&str>, error: Py<PyAny>, until_ms: f64) -> usize {
        let mut failed: Vec<(String, Vec<ParkedMessage>)> = Vec::new();
        {
            let mut by_topic = self.lock();
            for (name, parked) in &mut *by_topic {
                if topic.is_none_or(|topic| topic == name) {
                    let count = parked.partition_point(|message| message.produced_at_ms <= until_ms);
                    failed.push((name.clone(), parked.drain(..count).collect()));
                }
            }
            by_topic.retain(|_, parked| !parked.is_empty());
            self.has_any.store(!by_topic.is_empty(), Ordering::Release);
        }
        let count = failed.iter().map(|(_, messages)| messages.len()).sum();
        for (name, messages) in failed {
            self.report(py, &name, messages, &error);
        }
        count
    }
}

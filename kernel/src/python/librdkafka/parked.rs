//! Messages for topics whose partitions are not known yet: they wait here, in order, since produce() does not.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::python::librdkafka::message_report::{Fate, KeptMessages, MessageReport, ReportedMessages};
use crate::python::produce::accumulator::Accumulator;
use crate::python::produce::delivery::TopicName;
use crate::python::produce::queues::Appended;
use crate::records::NewRecord;

/// librdkafka's code of the error `_UNKNOWN_PARTITION`.
const UNKNOWN_PARTITION: i32 = -190;

/// A copy of a message. The interpreter lock is not held where it is appended.
pub struct ParkedMessage {
    pub partition: Option<i32>,
    timestamp: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<u8>,
    /// None for a message without a callback.
    report: Option<MessageReport>,
    produced_at_ms: i64,
}

impl ParkedMessage {
    pub fn new(
        partition: Option<i32>,
        record: &NewRecord<'_>,
        report: Option<MessageReport>,
        produced_at_ms: i64,
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
}

impl KeptMessages {
    fn add(&mut self, message: ParkedMessage) {
        let bytes = message.value_bytes();
        match message.report {
            Some(report) => self.reports.push(report),
            None => self.add_silent(bytes),
        }
    }
}

impl Accumulator {
    /// Appends what was parked for a topic, now that its partitions are known, before anything else can be.
    pub fn unpark(&self, py: Python<'_>, name: TopicName, partition_count: u32) {
        let topic = name.name.clone();
        let mut appended: Vec<(Appended, ParkedMessage)> = Vec::new();
        let mut refused: Vec<ParkedMessage> = Vec::new();
        {
            let mut queues = self.queues.lock();
            queues.set_partition_count(name, partition_count);
            if partition_count == 0 {
                return;
            }
            let Some(parked) = queues.parked.remove(&topic) else { return };
            // The transaction that they belong to may be on its way to its end.
            let was_shut = std::mem::replace(&mut queues.is_shut, false);
            for message in parked {
                match queues.append(&self.settings, &topic, message.partition, &message.record()) {
                    Ok(place) => appended.push((place, message)),
                    // Its size was checked when it was produced, so that only the partition may be wrong.
                    Err(_) => refused.push(message),
                }
            }
            queues.is_shut = was_shut;
        }
        let mut wake = false;
        for (place, message) in appended {
            wake |= place.wake;
            let bytes = message.value_bytes();
            match message.report {
                Some(mut report) => {
                    report.index = place.index;
                    place.outcome.keep_message(py, report);
                }
                None => place.outcome.keep_silent(py, 1, bytes),
            }
        }
        if wake {
            self.wake_sender(py);
        }
        if !refused.is_empty() {
            let Ok(error) = UNKNOWN_PARTITION.into_pyobject(py);
            self.report_parked(py, &topic, refused, &error.into_any().unbind());
        }
    }

    /// Fails what is parked for a topic, or for all of them, and was produced at `until_ms` or before.
    pub fn fail_parked_until(
        &self,
        py: Python<'_>,
        topic: Option<&str>,
        error: &Py<PyAny>,
        until_ms: i64,
    ) -> usize {
        let mut failed: Vec<(String, Vec<ParkedMessage>)> = Vec::new();
        {
            let mut queues = self.queues.lock();
            for (name, parked) in &mut queues.parked {
                if topic.is_none_or(|topic| topic == name) {
                    let count = parked.partition_point(|message| message.produced_at_ms <= until_ms);
                    failed.push((name.clone(), parked.drain(..count).collect()));
                }
            }
            queues.parked.retain(|_, parked| !parked.is_empty());
        }
        let count = failed.iter().map(|(_, messages)| messages.len()).sum();
        for (name, messages) in failed {
            self.report_parked(py, &name, messages, error);
        }
        count
    }

    fn report_parked(&self, py: Python<'_>, topic: &str, messages: Vec<ParkedMessage>, error: &Py<PyAny>) {
        let Some(events) = self.settings.events.get() else { return };
        let object = pyo3::types::PyString::new(py, topic).unbind();
        let name = Arc::new(TopicName { name: topic.to_owned(), object });
        let mut messages = messages.into_iter().peekable();
        while let Some(first) = messages.next() {
            let partition = first.partition;
            let mut kept = KeptMessages::default();
            kept.add(first);
            while let Some(message) = messages.next_if(|message| message.partition == partition) {
                kept.add(message);
            }
            let fate = Fate::Failed {
                topic: Arc::clone(&name),
                partition: partition.unwrap_or(-1),
                error: error.clone_ref(py),
            };
            events.push_reports(py, ReportedMessages::new(fate, kept));
        }
    }
}

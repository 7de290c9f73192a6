//! What a producing program is told of its messages: a Message for each that has a callback, a count for the others.
//! Owns how that is kept while a batch is under way, and how it is told. Knows nothing of who waits for it.

use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::python::librdkafka::event_queue::{Events, Reports};
use crate::python::librdkafka::message::{
    DeliveredBatch, DeliveredRecord, Message, MessageParts, NO_DELIVERY_COUNT, NO_LEADER_EPOCH, NO_OFFSET,
    as_bytes,
};
use crate::python::objects::calls::call_with_two;
use crate::python::objects::locked_rc::LockedRc;
use crate::python::produce::delivery::{AllDelivered, BatchOutcome, Resolution, SplitBatch, Told, TopicName};

const CREATE_TIME: i32 = 1;
const LOG_APPEND_TIME: i32 = 2;

/// How messages are reported.
pub struct ReportRules {
    /// Makes the error of a report out of an exception, or out of librdkafka's code of an error.
    pub error_of: Py<PyAny>,
    /// Callbacks are not called for messages that were delivered.
    pub only_errors: bool,
    /// What the program calls a topic of Kafka's, where that is another name.
    pub shown_name: Option<Py<PyAny>>,
}

/// A message with a callback, until it is reported.
pub struct MessageReport {
    pub index: u32,
    pub size: u32,
    pub timestamp: i64,
    pub produced_at: Instant,
    pub callback: Py<PyAny>,
    /// As they were given: `bytes`, or `str` that is made bytes when it is reported.
    pub key: Option<Py<PyAny>>,
    pub value: Option<Py<PyAny>>,
}

impl MessageReport {
    /// Whether key and value can lead to no other object.
    #[inline]
    fn is_plain(&self, py: Python<'_>) -> bool {
        [&self.key, &self.value].into_iter().flatten().all(|part| {
            let part = part.bind(py);
            part.is_exact_instance_of::<PyBytes>() || part.is_exact_instance_of::<PyString>()
        })
    }
}

/// The messages of one batch that are to be told of when it is decided.
#[derive(Default)]
pub struct KeptMessages {
    pub reports: Vec<MessageReport>,
    /// Those without a callback are counted only.
    pub silent_messages: usize,
    pub silent_bytes: usize,
}

impl KeptMessages {
    pub fn is_empty(&self) -> bool {
        self.silent_messages == 0 && self.reports.is_empty()
    }

    pub fn add_silent(&mut self, messages: usize, bytes: usize) {
        self.silent_messages += messages;
        self.silent_bytes += bytes;
    }
}

/// How a producer reports its messages, and where.
pub struct Reporter {
    pub events: Arc<Events>,
    pub rules: Arc<ReportRules>,
}

impl Reporter {
    /// Leaves messages to be reported in the user's thread.
    pub fn report(&self, py: Python<'_>, fate: Fate, kept: KeptMessages) {
        if !kept.is_empty() {
            let reports = ReportedMessages::new(fate, kept, Arc::clone(&self.rules));
            self.events.push_reports(py, Box::new(reports));
        }
    }
}

/// The messages in one batch, until that is decided.
struct MessagesOfBatch {
    reporter: Arc<Reporter>,
    kept: KeptMessages,
}

impl Reporter {
    /// Has a message reported when its record, which stands at `report.index`, is decided.
    #[inline(never)]
    pub fn keep(self: &Arc<Self>, py: Python<'_>, batch: &Arc<BatchOutcome>, report: MessageReport) {
        self.note(py, batch, |kept| kept.reports.push(report));
    }

    /// The same for messages without a callback.
    #[inline(never)]
    pub fn keep_silent(
        self: &Arc<Self>,
        py: Python<'_>,
        batch: &Arc<BatchOutcome>,
        messages: usize,
        bytes: usize,
    ) {
        self.note(py, batch, |kept| kept.add_silent(messages, bytes));
    }

    #[inline]
    fn note(
        self: &Arc<Self>,
        py: Python<'_>,
        batch: &Arc<BatchOutcome>,
        note: impl FnOnce(&mut KeptMessages),
    ) {
        let new = || MessagesOfBatch { reporter: Arc::clone(self), kept: KeptMessages::default() };
        batch.keep_to_tell(py, new, |messages: &mut MessagesOfBatch| note(&mut messages.kept));
    }
}

impl Told for MessagesOfBatch {
    fn decided(self: Box<Self>, py: Python<'_>, batch: &Arc<BatchOutcome>) {
        self.reporter.report(py, Fate::Batch(Arc::clone(batch)), self.kept);
    }

    fn needs_python(&self) -> bool {
        self.reporter.events.has_listener()
    }

    fn delivered_without_python(self: Box<Self>, batch: &Arc<BatchOutcome>) -> Result<(), Box<dyn Told>> {
        let events = Arc::clone(&self.reporter.events);
        let Some(unheard) = events.unheard() else { return Err(self) };
        let Self { reporter, kept } = *self;
        let fate = Fate::Batch(Arc::clone(batch));
        unheard.push_reports(Box::new(ReportedMessages::new(fate, kept, Arc::clone(&reporter.rules))));
        Ok(())
    }

    fn split(self: Box<Self>, py: Python<'_>, batch: &Arc<BatchOutcome>, split: &SplitBatch) {
        let Self { reporter, kept } = *self;
        let mut failed = KeptMessages::default();
        for mut report in kept.reports {
            if batch.has_failed(report.index) {
                failed.reports.push(report);
                continue;
            }
            let (part, index) = split.places[report.index as usize];
            report.index = index;
            reporter.keep(py, &split.parts[part as usize], report);
        }
        let (messages, bytes) = (kept.silent_messages, kept.silent_bytes);
        match split.parts.last() {
            _ if messages == 0 => {}
            Some(last) => reporter.keep_silent(py, last, messages, bytes),
            None => failed.add_silent(messages, bytes),
        }
        reporter.report(py, Fate::Batch(Arc::clone(batch)), failed);
    }
}

/// What became of the messages.
pub enum Fate {
    Batch(Arc<BatchOutcome>),
    /// They never got as far as a batch; `error` is an exception or a code. The partition is negative where it was
    /// not chosen.
    Failed {
        topic: Arc<TopicName>,
        partition: i32,
        error: Py<PyAny>,
    },
}

/// Messages that became delivered or failed together, to be reported in the user's thread.
struct ReportedMessages {
    fate: Fate,
    rules: Arc<ReportRules>,
    decided_at: Instant,
    reports: std::vec::IntoIter<MessageReport>,
    silent: (usize, usize),
    /// The error made last, and the address of what it was made of.
    last_error: Option<(usize, Py<PyAny>)>,
    /// What the program calls their topic, once that is known.
    topic: Option<Py<PyAny>>,
}

/// What the reports of a batch that was delivered are made with, while they are told.
struct Telling {
    batch: LockedRc<DeliveredBatch>,
    /// The message told of last.
    message: Option<Py<Message>>,
}

impl ReportedMessages {
    fn new(fate: Fate, kept: KeptMessages, rules: Arc<ReportRules>) -> Self {
        Self {
            fate,
            rules,
            decided_at: Instant::now(),
            reports: kept.reports.into_iter(),
            silent: (kept.silent_messages, kept.silent_bytes),
            last_error: None,
            topic: None,
        }
    }

    #[inline]
    fn latency_us(&self, report: &MessageReport) -> i64 {
        let latency = self.decided_at.saturating_duration_since(report.produced_at);
        latency.as_secs().saturating_mul(1_000_000).saturating_add(latency.subsec_micros().into()) as i64
    }

    /// Tells of a message with plain parts, all of whose batch is delivered: what nearly all reports are.
    #[inline]
    fn report_delivered(
        &mut self,
        py: Python<'_>,
        report: MessageReport,
        delivered: AllDelivered,
        telling: &mut Option<Telling>,
    ) -> PyResult<()> {
        let log_append_time = delivered.log_append_time;
        let is_log_append = log_append_time >= 0;
        let telling = match telling {
            Some(telling) => telling,
            none => none.insert(Telling {
                batch: LockedRc::new(
                    py,
                    DeliveredBatch {
                        topic: self.shown_topic(py)?,
                        partition: self.partition(),
                        timestamp_type: if is_log_append { LOG_APPEND_TIME } else { CREATE_TIME },
                    },
                ),
                message: None,
            }),
        };
        let offset = delivered.offset_of(report.index);
        let record = DeliveredRecord {
            batch: telling.batch.clone_ref(py),
            offset: if offset >= 0 { offset } else { NO_OFFSET },
            timestamp: if is_log_append { log_append_time } else { report.timestamp },
            latency_us: self.latency_us(&report),
            key: report.key,
            value: report.value,
        };
        let message = Message::of_delivered(py, record, telling.message.take())?;
        let called = call_with_two(py, &report.callback, &py.None(), message.as_any());
        telling.message = Some(message);
        called.map(drop)
    }

    fn report(&mut self, py: Python<'_>, report: MessageReport) -> PyResult<()> {
        let (mut offset, mut timestamp) = (NO_OFFSET, (0, -1));
        let (partition, cause) = match &self.fate {
            Fate::Failed { partition, error, .. } => {
                (*partition, Some((std::ptr::from_ref(error).addr(), error.clone_ref(py))))
            }
            Fate::Batch(outcome) => {
                let cause = match outcome.resolve(report.index, report.index) {
                    Resolution::Delivered { offset: known, log_append_time } => {
                        timestamp = if log_append_time >= 0 {
                            (LOG_APPEND_TIME, log_append_time)
                        } else {
                            (CREATE_TIME, report.timestamp)
                        };
                        if known >= 0 {
                            offset = known;
                        }
                        None
                    }
                    Resolution::Failed(error) => Some((Arc::as_ptr(&error).addr(), error.clone_ref(py))),
                    unknown @ (Resolution::Abandoned | Resolution::Pending { .. }) => {
                        let error = unknown.into_result(py, outcome, report.timestamp)?;
                        error.err().map(|error| (0, error))
                    }
                };
                (outcome.partition, cause)
            }
        };
        let error = match cause {
            Some((identity, cause)) => self.error_of(py, identity, &cause)?,
            None if self.rules.only_errors => return Ok(()),
            None => py.None(),
        };
        let latency_us = self.latency_us(&report);
        let parts = MessageParts {
            topic: self.shown_topic(py)?,
            partition,
            offset,
            key: as_bytes(py, report.key)?,
            value: as_bytes(py, report.value)?,
            headers: py.None(),
            error: error.clone_ref(py),
            timestamp,
            latency_us,
            leader_epoch: NO_LEADER_EPOCH,
            delivery_count: NO_DELIVERY_COUNT,
        };
        let message = Message::of_parts(py, parts)?;
        call_with_two(py, &report.callback, &error, message.as_any()).map(drop)
    }

    fn partition(&self) -> i32 {
        match &self.fate {
            Fate::Failed { partition, .. } => *partition,
            Fate::Batch(outcome) => outcome.partition,
        }
    }

    /// Found once for all of them, which are of one topic.
    fn shown_topic(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if let Some(topic) = &self.topic {
            return Ok(topic.clone_ref(py));
        }
        let name = match &self.fate {
            Fate::Failed { topic, .. } => &topic.object,
            Fate::Batch(outcome) => &outcome.topic.object,
        };
        let shown = match &self.rules.shown_name {
            Some(shown_name) => shown_name.call1(py, (name,))?,
            None => name.clone_ref(py).into_any(),
        };
        self.topic = Some(shown.clone_ref(py));
        Ok(shown)
    }

    /// Made once for all messages that failed for the same reason.
    fn error_of(&mut self, py: Python<'_>, identity: usize, cause: &Py<PyAny>) -> PyResult<Py<PyAny>> {
        if let Some((known, error)) = &self.last_error {
            if *known == identity {
                return Ok(error.clone_ref(py));
            }
        }
        let error = self.rules.error_of.call1(py, (cause,))?;
        self.last_error = Some((identity, error.clone_ref(py)));
        Ok(error)
    }
}

impl Reports for ReportedMessages {
    fn serve(&mut self, py: Python<'_>, events: &Events) -> PyResult<()> {
        let (messages, bytes) = std::mem::take(&mut self.silent);
        if messages > 0 {
            events.reported(py, messages, bytes);
        }
        let delivered = match &self.fate {
            Fate::Batch(outcome) => outcome.all_delivered(),
            Fate::Failed { .. } => None,
        };
        let mut telling = None;
        while let Some(report) = self.reports.next() {
            let size = report.size as usize;
            let called = match delivered {
                Some(_) if self.rules.only_errors => Ok(()),
                Some(delivered) if report.is_plain(py) => {
                    self.report_delivered(py, report, delivered, &mut telling)
                }
                _ => self.report(py, report),
            };
            events.reported(py, 1, size);
            called?;
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.reports.as_slice().is_empty()
    }
}

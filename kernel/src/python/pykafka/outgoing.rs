//! Messages on their way: what becomes of pykafka's messages when the batch is decided that they are in.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;

use crate::python::produce::delivery::{BatchOutcome, Resolution, SplitBatch, Told};
use crate::python::pykafka::message_class::MessageClass;
use crate::python::pykafka::report_queue::WaitingReports;

/// How many messages of a producer are appended and not decided.
#[derive(Default)]
pub struct Outstanding {
    count: AtomicUsize,
    lock: Mutex<usize>,
    fewer: Condvar,
}

impl Outstanding {
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    pub fn add(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    fn remove(&self, messages: usize) {
        if messages > 0 {
            self.count.fetch_sub(messages, Ordering::AcqRel);
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.fewer.notify_all();
        }
    }

    /// Waits until there are fewer than so many, or `time` has passed.
    pub fn wait_below(&self, limit: usize, time: Duration) {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if self.count() >= limit {
            drop(self.fewer.wait_timeout(guard, time));
        }
    }
}

/// What all messages of one producer have in common until they are decided.
pub struct OutgoingRules {
    pub class: MessageClass,
    /// Makes a program's exception of the core's.
    pub error_of: Py<PyAny>,
    pub outstanding: Outstanding,
}

/// A message that stands at `index` in its batch.
pub struct OutgoingMessage {
    pub index: u32,
    pub message: Py<PyAny>,
    pub reports: Option<Arc<WaitingReports>>,
}

/// The messages in one batch, until that is decided.
pub struct OutgoingMessages {
    rules: Arc<OutgoingRules>,
    kept: Vec<OutgoingMessage>,
}

impl OutgoingMessages {
    pub fn keep(
        rules: &Arc<OutgoingRules>,
        py: Python<'_>,
        batch: &Arc<BatchOutcome>,
        message: OutgoingMessage,
    ) {
        let new = || Self { rules: Arc::clone(rules), kept: Vec::new() };
        batch.keep_to_tell(py, new, |messages: &mut Self| messages.kept.push(message));
    }

    fn tell(self, py: Python<'_>, batch: &Arc<BatchOutcome>) -> PyResult<()> {
        let Self { rules, kept } = self;
        // Whatever the program's classes raise, these messages are outstanding no more.
        let count = kept.len();
        let told = Self::tell_each(&rules, kept, py, batch);
        rules.outstanding.remove(count);
        told
    }

    fn tell_each(
        rules: &OutgoingRules,
        kept: Vec<OutgoingMessage>,
        py: Python<'_>,
        batch: &Arc<BatchOutcome>,
    ) -> PyResult<()> {
        // The error made last, and the address of what it was made of.
        let mut last_error: Option<(usize, Py<PyAny>)> = None;
        for OutgoingMessage { index, message, reports } in kept {
            let (identity, cause) = match batch.resolve(index, index) {
                Resolution::Delivered { offset, .. } => {
                    if offset >= 0 {
                        rules.class.set_offset(py, &message, offset)?;
                    }
                    if let Some(reports) = reports {
                        reports.push((message, None));
                    }
                    continue;
                }
                Resolution::Failed(error) => (Arc::as_ptr(&error).addr(), error.clone_ref(py)),
                unknown @ (Resolution::Abandoned | Resolution::Pending { .. }) => {
                    match unknown.into_result(py, batch, 0)? {
                        Ok(error) | Err(error) => (0, error),
                    }
                }
            };
            let error = match &last_error {
                Some((known, error)) if *known == identity => error.clone_ref(py),
                _ => {
                    let error = rules.error_of.call1(py, (cause,))?;
                    last_error = Some((identity, error.clone_ref(py)));
                    error
                }
            };
            if let Some(reports) = reports {
                reports.push((message, Some(error)));
            }
        }
        Ok(())
    }
}

impl Told for OutgoingMessages {
    fn decided(self: Box<Self>, py: Python<'_>, batch: &Arc<BatchOutcome>) {
        if let Err(error) = self.tell(py, batch) {
            error.write_unraisable(py, None);
        }
    }

    fn needs_python(&self) -> bool {
        true
    }

    /// Messages are objects of Python, which are told their offsets.
    fn delivered_without_python(self: Box<Self>, _batch: &Arc<BatchOutcome>) -> Result<(), Box<dyn Told>> {
        Err(self)
    }

    fn split(self: Box<Self>, py: Python<'_>, batch: &Arc<BatchOutcome>, split: &SplitBatch) {
        let Self { rules, kept } = *self;
        let mut failed = Self { rules: Arc::clone(&rules), kept: Vec::new() };
        for mut message in kept {
            if batch.has_failed(message.index) {
                failed.kept.push(message);
                continue;
            }
            let (part, index) = split.places[message.index as usize];
            message.index = index;
            Self::keep(&rules, py, &split.parts[part as usize], message);
        }
        Box::new(failed).decided(py, batch);
    }
}

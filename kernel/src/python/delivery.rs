//! `Delivery`, and what the deliveries of one batch have in common.
//!
//! There is one lock for each batch, not for each record. It is never held while Python code runs or while a
//! thread waits for the interpreter lock, so the two locks cannot block each other.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyType};

use super::errors::error_with_message;

/// A topic's name, for Rust and for Python.
pub struct TopicName {
    pub name: String,
    pub object: Py<PyString>,
}

/// Where the records of a batch went that was made into smaller ones.
pub struct SplitBatch {
    pub parts: Vec<Arc<BatchOutcome>>,
    /// For each record of the old batch its part, and its index there.
    pub places: Vec<(u32, u32)>,
}

#[derive(Clone)]
enum Outcome {
    Pending,
    Delivered {
        base_offset: i64,
        log_append_time: i64,
    },
    Failed(Arc<Py<PyAny>>),
    /// The batch was dropped before anything became of it.
    Abandoned,
    Split(Arc<SplitBatch>),
}

struct State {
    outcome: Outcome,
    failed_records: HashMap<u32, Arc<Py<PyAny>>>,
    waiting: Vec<(Py<Delivery>, Py<PyAny>)>,
}

/// What becomes of the records of one batch.
pub struct BatchOutcome {
    pub topic: Arc<TopicName>,
    pub partition: i32,
    state: Mutex<State>,
    changed: Condvar,
}

/// What a delivery has come to.
enum Resolution {
    /// Nothing yet; this batch is waited for.
    Pending(Arc<BatchOutcome>),
    Delivered {
        offset: i64,
        log_append_time: i64,
    },
    Failed(Arc<Py<PyAny>>),
    Abandoned,
}

impl BatchOutcome {
    pub fn new(topic: Arc<TopicName>, partition: i32) -> Arc<Self> {
        let state = State { outcome: Outcome::Pending, failed_records: HashMap::new(), waiting: Vec::new() };
        Arc::new(Self { topic, partition, state: Mutex::new(state), changed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides the batch, once; later decisions change nothing.
    fn settle(&self, py: Python<'_>, outcome: Outcome) {
        let waiting = {
            let mut state = self.lock();
            if !matches!(state.outcome, Outcome::Pending) {
                return;
            }
            state.outcome = outcome;
            self.changed.notify_all();
            std::mem::take(&mut state.waiting)
        };
        notify(py, waiting);
    }

    pub fn deliver(&self, py: Python<'_>, base_offset: i64, log_append_time: i64) {
        self.settle(py, Outcome::Delivered { base_offset, log_append_time });
    }

    pub fn fail(&self, py: Python<'_>, error: Py<PyAny>) {
        self.settle(py, Outcome::Failed(Arc::new(error)));
    }

    pub fn split(&self, py: Python<'_>, split: SplitBatch) {
        self.settle(py, Outcome::Split(Arc::new(split)));
    }

    pub fn fail_record(&self, py: Python<'_>, index: u32, error: Py<PyAny>) {
        let waiting = {
            let mut state = self.lock();
            if !matches!(state.outcome, Outcome::Pending) {
                return;
            }
            state.failed_records.entry(index).or_insert_with(|| Arc::new(error));
            self.changed.notify_all();
            let concerned = |(delivery, _): &(Py<Delivery>, _)| delivery.get().covers(index);
            let (waiting, others) = std::mem::take(&mut state.waiting).into_iter().partition(concerned);
            state.waiting = others;
            waiting
        };
        notify(py, waiting);
    }

    /// Whether this record has failed on its own.
    pub fn has_failed(&self, index: u32) -> bool {
        self.lock().failed_records.contains_key(&index)
    }

    /// For a batch that is dropped: whoever still waits is told that nothing will come.
    pub fn abandon(&self) {
        let waiting = {
            let mut state = self.lock();
            if matches!(state.outcome, Outcome::Pending) {
                state.outcome = Outcome::Abandoned;
                self.changed.notify_all();
            }
            std::mem::take(&mut state.waiting)
        };
        drop(waiting);
    }

    fn resolve(self: &Arc<Self>, first: u32, last: u32) -> Resolution {
        let split = {
            let state = self.lock();
            if !state.failed_records.is_empty() {
                if let Some(error) = (first..=last).find_map(|index| state.failed_records.get(&index)) {
                    return Resolution::Failed(Arc::clone(error));
                }
            }
            match &state.outcome {
                Outcome::Pending => return Resolution::Pending(Arc::clone(self)),
                Outcome::Delivered { base_offset, log_append_time } => {
                    let offset = if *base_offset < 0 { -1 } else { base_offset + i64::from(last) };
                    return Resolution::Delivered { offset, log_append_time: *log_append_time };
                }
                Outcome::Failed(error) => return Resolution::Failed(Arc::clone(error)),
                Outcome::Abandoned => return Resolution::Abandoned,
                Outcome::Split(split) => Arc::clone(split),
            }
        };
        let places = &split.places[first as usize..=last as usize];
        let mut resolution = None;
        for run in places.chunk_by(|one, next| one.0 == next.0) {
            let part = &split.parts[run[0].0 as usize];
            match part.resolve(run[0].1, run[run.len() - 1].1) {
                delivered @ Resolution::Delivered { .. } => resolution = Some(delivered),
                other => return other,
            }
        }
        resolution.unwrap_or(Resolution::Abandoned)
    }

    /// Waits until the batch is decided or one of its records is, or `time` has passed.
    fn wait_for_change(&self, time: Duration) {
        let state = self.lock();
        if matches!(state.outcome, Outcome::Pending) {
            drop(self.changed.wait_timeout(state, time));
        }
    }
}

/// Calls back those that are done; the others wait on for what their records became part of.
fn notify(py: Python<'_>, waiting: Vec<(Py<Delivery>, Py<PyAny>)>) {
    for (delivery, callback) in waiting {
        call_when_done(py, delivery, callback);
    }
}

pub fn call_when_done(py: Python<'_>, delivery: Py<Delivery>, callback: Py<PyAny>) {
    while let Resolution::Pending(outcome) = delivery.get().resolve() {
        let mut state = outcome.lock();
        if matches!(state.outcome, Outcome::Pending) {
            state.waiting.push((delivery, callback));
            return;
        }
    }
    if let Err(error) = callback.call1(py, (delivery,)) {
        error.write_unraisable(py, Some(callback.bind(py)));
    }
}

/// What becomes of one record, or of a run of rows in one batch: the last one's metadata, or the first error.
#[pyclass(frozen, module = "barnabas._kernel")]
pub struct Delivery {
    outcome: Arc<BatchOutcome>,
    first_index: u32,
    last_index: u32,
    timestamp: i64,
}

/// Between two looks for a signal such as Ctrl-C, which does not end a wait by itself.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

impl Delivery {
    pub fn new(outcome: Arc<BatchOutcome>, first_index: u32, last_index: u32, timestamp: i64) -> Self {
        Self { outcome, first_index, last_index, timestamp }
    }

    fn covers(&self, index: u32) -> bool {
        (self.first_index..=self.last_index).contains(&index)
    }

    fn resolve(&self) -> Resolution {
        self.outcome.resolve(self.first_index, self.last_index)
    }

    fn place(&self) -> String {
        format!("{}-{}", self.outcome.topic.name, self.outcome.partition)
    }

    /// Metadata or the error; None while there is neither.
    fn settled(&self, py: Python<'_>) -> PyResult<Option<Result<Py<PyAny>, Py<PyAny>>>> {
        static METADATA: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        static CLOSED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        Ok(match self.resolve() {
            Resolution::Pending(_) => None,
            Resolution::Failed(error) => Some(Err(error.clone_ref(py))),
            Resolution::Delivered { offset, log_append_time } => {
                let timestamp = if log_append_time >= 0 { log_append_time } else { self.timestamp };
                let class = METADATA.import(py, "barnabas.types", "RecordMetadata")?;
                let topic = &self.outcome.topic.object;
                Some(Ok(class.call1((topic, self.outcome.partition, offset, timestamp))?.unbind()))
            }
            Resolution::Abandoned => {
                let message = format!("a record for {} was given up with its producer", self.place());
                let error = error_with_message(py, &CLOSED, "ClosedError", message);
                Some(Err(error.into_value(py).into_any()))
            }
        })
    }

    /// Waits without the interpreter lock until something is known; KafkaTimeoutError after `timeout`.
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Result<Py<PyAny>, Py<PyAny>>> {
        static TIMEOUT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        if timeout.is_some_and(f64::is_nan) {
            return Err(PyValueError::new_err("timeout is not a number"));
        }
        let started = Instant::now();
        // A timeout beyond what a Duration holds is as good as none.
        let limit = timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).ok());
        loop {
            if let Some(settled) = self.settled(py)? {
                return Ok(settled);
            }
            let left = limit.map_or(Duration::MAX, |limit| limit.saturating_sub(started.elapsed()));
            if left.is_zero() {
                let message = format!(
                    "a record for {} was not delivered within {} s",
                    self.place(),
                    timeout.unwrap_or_default()
                );
                return Err(error_with_message(py, &TIMEOUT, "KafkaTimeoutError", message));
            }
            if let Resolution::Pending(outcome) = self.resolve() {
                py.detach(|| outcome.wait_for_change(left.min(SIGNAL_CHECK)));
            }
            py.check_signals()?;
        }
    }
}

#[pymethods]
impl Delivery {
    fn done(&self) -> bool {
        !matches!(self.resolve(), Resolution::Pending(_))
    }

    #[pyo3(signature = (timeout=None))]
    fn result(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        self.wait(py, timeout)?.map_err(|error| {
            let error = PyErr::from_value(error.into_bound(py));
            // Raised for every record of a batch: each time with a traceback of its own.
            error.set_traceback(py, None);
            error
        })
    }

    #[pyo3(signature = (timeout=None))]
    fn exception(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Py<PyAny>>> {
        Ok(self.wait(py, timeout)?.err())
    }

    fn add_done_callback(slf: Bound<'_, Self>, callback: Py<PyAny>) {
        let py = slf.py();
        call_when_done(py, slf.unbind(), callback);
    }

    fn __await__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let event_loop = running_loop(py, "get_running_loop")?;
        let future = event_loop.call_method0(intern!(py, "create_future"))?;
        let waker = WakeFuture { event_loop: event_loop.unbind(), future: future.clone().unbind() };
        call_when_done(py, slf.unbind(), Py::new(py, waker)?.into_any());
        future.call_method0(intern!(py, "__await__"))
    }

    fn __repr__(&self) -> String {
        let state = match self.resolve() {
            Resolution::Pending(_) => "pending".to_owned(),
            Resolution::Delivered { offset, .. } => format!("at offset {offset}"),
            Resolution::Failed(_) | Resolution::Abandoned => "failed".to_owned(),
        };
        format!("<Delivery to {} {state}>", self.place())
    }
}

fn running_loop<'py>(py: Python<'py>, function: &str) -> PyResult<Bound<'py, PyAny>> {
    static ASYNCIO: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let asyncio =
        ASYNCIO.get_or_try_init(py, || py.import("asyncio").map(|module| module.into_any().unbind()))?;
    asyncio.bind(py).call_method0(function)
}

/// Called on the completing thread: carries the outcome over to the loop of whoever awaits it.
#[pyclass(frozen)]
struct WakeFuture {
    event_loop: Py<PyAny>,
    future: Py<PyAny>,
}

#[pymethods]
impl WakeFuture {
    fn __call__(&self, py: Python<'_>, delivery: Py<Delivery>) -> PyResult<()> {
        if running_loop(py, "_get_running_loop")?.is(&self.event_loop) {
            return settle_future(self.future.bind(py), delivery.get());
        }
        let event_loop = self.event_loop.bind(py);
        if event_loop.call_method0(intern!(py, "is_closed"))?.is_truthy()? {
            return Ok(());
        }
        let settle = SettleFuture { future: self.future.clone_ref(py), delivery };
        event_loop.call_method1(intern!(py, "call_soon_threadsafe"), (Py::new(py, settle)?,))?;
        Ok(())
    }
}

/// Called by the loop that the future belongs to.
#[pyclass(frozen)]
struct SettleFuture {
    future: Py<PyAny>,
    delivery: Py<Delivery>,
}

#[pymethods]
impl SettleFuture {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        settle_future(self.future.bind(py), self.delivery.get())
    }
}

fn settle_future(future: &Bound<'_, PyAny>, delivery: &Delivery) -> PyResult<()> {
    let py = future.py();
    if future.call_method0(intern!(py, "done"))?.is_truthy()? {
        return Ok(());
    }
    match delivery.settled(py)? {
        Some(Ok(metadata)) => future.call_method1(intern!(py, "set_result"), (metadata,))?,
        Some(Err(error)) => future.call_method1(intern!(py, "set_exception"), (error,))?,
        None => return Ok(()),
    };
    Ok(())
}

//! `Delivery`, what the deliveries of one batch have in common, and `Told`: who else is told of a decided batch.
//!
//! There is one lock for each batch, not for each record. It is never held while Python code runs or while a
//! thread waits for the interpreter lock, so the two locks cannot block each other.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyType};

use crate::python::objects::calls::call_with_two;
use crate::python::objects::errors::error_with_message;
use crate::python::produce::record_metadata::RecordMetadata;
use crate::still_held::StillHeld;

/// Those of a producer, from their first record on.
pub type Batches = StillHeld<BatchOutcome>;

/// A topic's name, for Rust and for Python.
pub struct TopicName {
    pub name: String,
    pub object: Py<PyString>,
    /// What notes the topic's batches, where it has any.
    batches: Option<Arc<Batches>>,
}

impl TopicName {
    pub fn new(name: String, object: Py<PyString>) -> Self {
        Self { name, object, batches: None }
    }

    /// Of a producer whose batches are noted.
    pub fn of_producer(name: String, object: Py<PyString>, batches: &Arc<Batches>) -> Self {
        Self { name, object, batches: Some(Arc::clone(batches)) }
    }
}

impl AsRef<str> for TopicName {
    fn as_ref(&self) -> &str {
        &self.name
    }
}

/// Is told of a batch once that is decided, and keeps what it needs of each of its records until then: for whoever
/// reports to a program in a way of its own. Dropped untold where the batch is given up with its producer.
pub trait Told: Any + Send {
    /// All records were delivered or have failed, as `batch.resolve` says of each. No lock is held.
    fn decided(self: Box<Self>, py: Python<'_>, batch: &Arc<BatchOutcome>);

    /// The records went on in smaller batches, which are not decided yet, but for those that have failed on their own.
    /// No lock is held.
    fn split(self: Box<Self>, py: Python<'_>, batch: &Arc<BatchOutcome>, split: &SplitBatch);

    /// Whether it takes the interpreter lock to tell it of a batch, all of which is delivered.
    fn needs_python(&self) -> bool;

    /// As `decided`, of a batch all of which is delivered, by a thread without the interpreter lock; itself where it
    /// needs that. The batch's lock is held: whoever is told by another thread waits for the outcome.
    fn delivered_without_python(self: Box<Self>, batch: &Arc<BatchOutcome>) -> Result<(), Box<dyn Told>>;
}

/// A `Told` whose type is known without a call through it, which for each record would cost more than all else here.
struct SomeTold {
    told: Box<dyn Told>,
    kind: TypeId,
}

impl SomeTold {
    fn new<T: Told>(told: T) -> Self {
        Self { told: Box::new(told), kind: TypeId::of::<T>() }
    }

    #[inline(always)]
    fn downcast_mut<T: Told>(&mut self) -> Option<&mut T> {
        if self.kind != TypeId::of::<T>() {
            return None;
        }
        // SAFETY: `told` was made of a `T` when this became its kind, and neither is changed.
        #[allow(unsafe_code)]
        unsafe {
            Some(&mut *std::ptr::from_mut(self.told.as_mut()).cast::<T>())
        }
    }
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

/// All of a batch's records are told of.
pub const ALL_TOLD: u32 = u32::MAX;

struct State {
    outcome: Outcome,
    /// How many of the decided batch's records whoever is told of it has come past.
    told_records: u32,
    failed_records: HashMap<u32, Arc<Py<PyAny>>>,
    waiting: Vec<Waiter>,
    told: Option<SomeTold>,
}

impl State {
    fn needs_python(&self) -> bool {
        !self.waiting.is_empty() || self.told.as_ref().is_some_and(|some| some.told.needs_python())
    }
}

/// Who is to be told when records are delivered or have failed.
enum Waiter {
    /// Is called with the delivery.
    Callback {
        delivery: Py<Delivery>,
        callback: Py<PyAny>,
    },
    Report(Report),
}

/// A function that is called with the error and the metadata of one record, one of them None. Does without a
/// delivery, since a producer may have one for each of millions of records.
struct Report {
    index: u32,
    timestamp: i64,
    on_delivery: Py<PyAny>,
}

impl Waiter {
    fn covers(&self, index: u32) -> bool {
        match self {
            Self::Callback { delivery, .. } => delivery.get().covers(index),
            Self::Report(report) => report.index == index,
        }
    }
}

/// What becomes of the records of one batch.
pub struct BatchOutcome {
    pub topic: Arc<TopicName>,
    pub partition: i32,
    state: Mutex<State>,
    changed: Condvar,
}

/// What a delivery has come to.
pub enum Resolution {
    /// Nothing yet; this batch is waited for, in which the last of the records stands at `last`.
    Pending {
        outcome: Arc<BatchOutcome>,
        last: u32,
    },
    Delivered {
        offset: i64,
        log_append_time: i64,
    },
    Failed(Arc<Py<PyAny>>),
    Abandoned,
}

impl Resolution {
    /// Metadata or the error. Not for what is pending.
    pub fn into_result(
        self,
        py: Python<'_>,
        outcome: &BatchOutcome,
        timestamp: i64,
    ) -> PyResult<Result<Py<PyAny>, Py<PyAny>>> {
        static CLOSED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        match self {
            Self::Delivered { offset, log_append_time } => {
                let timestamp = if log_append_time >= 0 { log_append_time } else { timestamp };
                let topic = outcome.topic.object.clone_ref(py);
                let metadata = RecordMetadata { topic, partition: outcome.partition, offset, timestamp };
                Ok(Ok(Py::new(py, metadata)?.into_any()))
            }
            Self::Failed(error) => Ok(Err(error.clone_ref(py))),
            Self::Abandoned | Self::Pending { .. } => {
                let message = format!("a record for {} was given up with its producer", outcome.place());
                let error = error_with_message(py, &CLOSED, "ClosedError", message);
                Ok(Err(error.into_value(py).into_any()))
            }
        }
    }
}

/// All records of a batch are delivered.
#[derive(Clone, Copy)]
pub struct AllDelivered {
    base_offset: i64,
    pub log_append_time: i64,
}

impl AllDelivered {
    /// Of the record with this index; negative where it is not known.
    #[inline]
    pub fn offset_of(self, index: u32) -> i64 {
        offset_of(self.base_offset, index)
    }

    /// What became of the record with this index.
    pub fn resolve(self, index: u32) -> Resolution {
        let offset = self.offset_of(index);
        Resolution::Delivered { offset, log_append_time: self.log_append_time }
    }
}

/// The offset of a batch's record, which with acks=0 nobody knows.
fn offset_of(base_offset: i64, index: u32) -> i64 {
    if base_offset < 0 { -1 } else { base_offset + i64::from(index) }
}

impl BatchOutcome {
    pub fn new(topic: Arc<TopicName>, partition: i32) -> Arc<Self> {
        let state = State {
            outcome: Outcome::Pending,
            told_records: 0,
            failed_records: HashMap::new(),
            waiting: Vec::new(),
            told: None,
        };
        let outcome = Self { topic, partition, state: Mutex::new(state), changed: Condvar::new() };
        let outcome = Arc::new(outcome);
        if let Some(batches) = &outcome.topic.batches {
            batches.add(&outcome);
        }
        outcome
    }

    pub fn is_pending(&self) -> bool {
        matches!(self.lock().outcome, Outcome::Pending)
    }

    /// For the batches that this one is split into.
    pub fn part(&self) -> Arc<Self> {
        Self::new(Arc::clone(&self.topic), self.partition)
    }

    fn place(&self) -> String {
        format!("{}-{}", self.topic.name, self.partition)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides the batch, once; later decisions change nothing.
    fn settle(self: &Arc<Self>, py: Python<'_>, outcome: Outcome) {
        let split = if let Outcome::Split(split) = &outcome { Some(Arc::clone(split)) } else { None };
        let (waiting, told) = {
            let mut state = self.lock();
            if !matches!(state.outcome, Outcome::Pending) {
                return;
            }
            state.outcome = outcome;
            let told = state.told.take();
            if told.is_none() {
                state.told_records = ALL_TOLD;
            }
            self.changed.notify_all();
            (std::mem::take(&mut state.waiting), told)
        };
        self.notify(py, waiting);
        match (told, split) {
            (None, _) => {}
            (Some(some), None) => some.told.decided(py, self),
            (Some(some), Some(split)) => some.told.split(py, self, &split),
        }
    }

    /// Has `note` keep something of a record with whoever is told of the batch, whom `new` makes for the first record.
    /// All who are told of one producer's batches are of one kind.
    #[inline]
    pub fn keep_to_tell<T: Told>(
        self: &Arc<Self>,
        py: Python<'_>,
        new: impl FnOnce() -> T,
        note: impl FnOnce(&mut T),
    ) {
        {
            let mut state = self.lock();
            if matches!(state.outcome, Outcome::Pending) {
                let told = match &mut state.told {
                    Some(told) => told,
                    none => none.insert(SomeTold::new(new())),
                };
                note(told.downcast_mut().expect("a producer has one kind of those who are told"));
                return;
            }
        }
        let mut told = Box::new(new());
        note(&mut told);
        self.tell_late(py, told);
    }

    /// For what is kept of records whose batch was decided between their append and now.
    #[cold]
    fn tell_late(self: &Arc<Self>, py: Python<'_>, told: Box<dyn Told>) {
        let outcome = self.lock().outcome.clone();
        match outcome {
            Outcome::Split(split) => told.split(py, self, &split),
            _ => told.decided(py, self),
        }
    }

    pub fn deliver(self: &Arc<Self>, py: Python<'_>, base_offset: i64, log_append_time: i64) {
        self.settle(py, Outcome::Delivered { base_offset, log_append_time });
    }

    /// Whether somebody has to be told in Python of what becomes of the batch.
    pub fn needs_python(&self) -> bool {
        self.lock().needs_python()
    }

    /// As `deliver` where nobody has to be told in Python; false, and nothing has changed, where somebody has.
    pub fn deliver_without_python(self: &Arc<Self>, base_offset: i64, log_append_time: i64) -> bool {
        let mut state = self.lock();
        let is_whole = matches!(state.outcome, Outcome::Pending) && state.failed_records.is_empty();
        if !is_whole || !state.waiting.is_empty() {
            return false;
        }
        match state.told.take() {
            None => state.told_records = ALL_TOLD,
            Some(SomeTold { told, kind }) => {
                if let Err(told) = told.delivered_without_python(self) {
                    state.told = Some(SomeTold { told, kind });
                    return false;
                }
            }
        }
        state.outcome = Outcome::Delivered { base_offset, log_append_time };
        self.changed.notify_all();
        true
    }

    pub fn fail(self: &Arc<Self>, py: Python<'_>, error: Py<PyAny>) {
        self.settle(py, Outcome::Failed(Arc::new(error)));
    }

    pub fn split(self: &Arc<Self>, py: Python<'_>, split: SplitBatch) {
        self.settle(py, Outcome::Split(Arc::new(split)));
    }

    pub fn fail_record(self: &Arc<Self>, py: Python<'_>, index: u32, error: Py<PyAny>) {
        let waiting = {
            let mut state = self.lock();
            if !matches!(state.outcome, Outcome::Pending) {
                return;
            }
            state.failed_records.entry(index).or_insert_with(|| Arc::new(error));
            self.changed.notify_all();
            let waiting = std::mem::take(&mut state.waiting);
            let (waiting, others) = waiting.into_iter().partition(|waiter| waiter.covers(index));
            state.waiting = others;
            waiting
        };
        self.notify(py, waiting);
    }

    /// Whether this record has failed on its own.
    pub fn has_failed(&self, index: u32) -> bool {
        self.lock().failed_records.contains_key(&index)
    }

    /// For a batch that is dropped: whoever still waits is told that nothing will come.
    pub fn abandon(&self) {
        let forgotten = {
            let mut state = self.lock();
            if matches!(state.outcome, Outcome::Pending) {
                state.outcome = Outcome::Abandoned;
                state.told_records = ALL_TOLD;
                self.changed.notify_all();
            }
            (std::mem::take(&mut state.waiting), state.told.take())
        };
        drop(forgotten);
    }

    pub fn resolve(self: &Arc<Self>, first: u32, last: u32) -> Resolution {
        let split = {
            let state = self.lock();
            if !state.failed_records.is_empty() {
                if let Some(error) = (first..=last).find_map(|index| state.failed_records.get(&index)) {
                    return Resolution::Failed(Arc::clone(error));
                }
            }
            match &state.outcome {
                Outcome::Pending => return Resolution::Pending { outcome: Arc::clone(self), last },
                Outcome::Delivered { base_offset, log_append_time } => {
                    let offset = offset_of(*base_offset, last);
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

    /// Calls back those that are done; the others wait on for what their records became part of.
    fn notify(self: &Arc<Self>, py: Python<'_>, waiting: Vec<Waiter>) {
        let all_delivered = self.all_delivered();
        for waiter in waiting {
            match (waiter, all_delivered) {
                (Waiter::Callback { delivery, callback }, _) => call_when_done(py, delivery, callback),
                // What nearly all reports are, without looking at the batch for each.
                (Waiter::Report(report), Some(delivered)) => {
                    let resolution = delivered.resolve(report.index);
                    self.call_back(py, resolution, report.timestamp, &report.on_delivery);
                }
                (Waiter::Report(Report { index, timestamp, on_delivery }), None) => {
                    self.report_when_done(py, index, timestamp, on_delivery);
                }
            }
        }
    }

    /// Once every record of the batch is delivered: then it stays so.
    pub fn all_delivered(&self) -> Option<AllDelivered> {
        let state = self.lock();
        match state.outcome {
            Outcome::Delivered { base_offset, log_append_time } if state.failed_records.is_empty() => {
                Some(AllDelivered { base_offset, log_append_time })
            }
            _ => None,
        }
    }

    fn call_back(&self, py: Python<'_>, resolution: Resolution, timestamp: i64, on_delivery: &Py<PyAny>) {
        let called = resolution.into_result(py, self, timestamp).and_then(|result| match result {
            Ok(metadata) => call_with_two(py, on_delivery, &py.None(), &metadata),
            Err(error) => call_with_two(py, on_delivery, &error, &py.None()),
        });
        if let Err(error) = called {
            error.write_unraisable(py, Some(on_delivery.bind(py)));
        }
    }

    /// Calls `on_delivery(error, metadata)` when the record is delivered or has failed.
    pub fn report_when_done(
        self: &Arc<Self>,
        py: Python<'_>,
        index: u32,
        timestamp: i64,
        on_delivery: Py<PyAny>,
    ) {
        let mut report = Report { index, timestamp, on_delivery };
        let mut resolution = Resolution::Pending { outcome: Arc::clone(self), last: index };
        while let Resolution::Pending { outcome, last } = resolution {
            report.index = last;
            match outcome.keep(report) {
                None => return,
                Some(decided) => report = decided,
            }
            resolution = outcome.resolve(last, last);
        }
        self.call_back(py, resolution, timestamp, &report.on_delivery);
    }

    /// Keeps a report until its record is decided; gives it back if that has happened.
    fn keep(&self, report: Report) -> Option<Report> {
        let mut state = self.lock();
        let is_pending = matches!(state.outcome, Outcome::Pending)
            && (state.failed_records.is_empty() || !state.failed_records.contains_key(&report.index));
        if !is_pending {
            return Some(report);
        }
        state.waiting.push(Waiter::Report(report));
        None
    }

    /// Notes that whoever is told of the decided batch has come past so many of its records.
    pub fn tell_up_to(&self, record_count: u32) {
        let mut state = self.lock();
        state.told_records = state.told_records.max(record_count);
        if record_count == ALL_TOLD {
            self.changed.notify_all();
        }
    }

    /// Whether the batch is decided, and whoever is told of it has come past this record.
    pub fn is_told(&self, index: u32) -> bool {
        self.lock().told_records > index
    }

    /// Waits until the batch is decided and all of it is told, it was split, or `time` has passed.
    pub fn wait_until_told(&self, time: Duration) {
        let state = self.lock();
        if state.told_records != ALL_TOLD && !matches!(state.outcome, Outcome::Split(_)) {
            drop(self.changed.wait_timeout(state, time));
        }
    }

    /// Where a record stands after all splits so far.
    pub fn final_place(self: &Arc<Self>, index: u32) -> (Arc<Self>, u32) {
        let (mut batch, mut index) = (Arc::clone(self), index);
        loop {
            let next = {
                let state = batch.lock();
                match &state.outcome {
                    Outcome::Split(split) if !state.failed_records.contains_key(&index) => {
                        let (part, index) = split.places[index as usize];
                        (Arc::clone(&split.parts[part as usize]), index)
                    }
                    _ => break,
                }
            };
            (batch, index) = next;
        }
        (batch, index)
    }

    /// Waits until the batch is decided or one of its records is, or `time` has passed.
    fn wait_for_change(&self, time: Duration) {
        let state = self.lock();
        if matches!(state.outcome, Outcome::Pending) {
            drop(self.changed.wait_timeout(state, time));
        }
    }
}

pub fn call_when_done(py: Python<'_>, delivery: Py<Delivery>, callback: Py<PyAny>) {
    while let Resolution::Pending { outcome, .. } = delivery.get().resolve() {
        let mut state = outcome.lock();
        if matches!(state.outcome, Outcome::Pending) {
            state.waiting.push(Waiter::Callback { delivery, callback });
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
    /// That of the producer's event loop.
    deciding_thread: ThreadId,
}

/// Between two looks for a signal such as Ctrl-C, which does not end a wait by itself.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

impl Delivery {
    pub fn new(
        outcome: Arc<BatchOutcome>,
        first_index: u32,
        last_index: u32,
        timestamp: i64,
        deciding_thread: ThreadId,
    ) -> Self {
        Self { outcome, first_index, last_index, timestamp, deciding_thread }
    }

    fn covers(&self, index: u32) -> bool {
        (self.first_index..=self.last_index).contains(&index)
    }

    fn resolve(&self) -> Resolution {
        self.outcome.resolve(self.first_index, self.last_index)
    }

    fn place(&self) -> String {
        self.outcome.place()
    }

    /// Metadata or the error; None while there is neither.
    fn settled(&self, py: Python<'_>) -> PyResult<Option<Result<Py<PyAny>, Py<PyAny>>>> {
        match self.resolve() {
            Resolution::Pending { .. } => Ok(None),
            resolution => resolution.into_result(py, &self.outcome, self.timestamp).map(Some),
        }
    }

    /// MisuseError where the wait would keep the event loop from what is waited for. The loop may have ended, and
    /// another thread deliver what it left.
    fn check_may_wait(&self, py: Python<'_>) -> PyResult<()> {
        static MISUSE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        if thread::current().id() != self.deciding_thread || running_loop(py, "_get_running_loop")?.is_none()
        {
            return Ok(());
        }
        let message = format!(
            "the delivery of a record for {} would be waited for on the thread that delivers it, which would wait for \
             itself: callbacks and coroutines run on that thread; hand the Delivery over to a thread of your own, or \
             `await` it",
            self.place()
        );
        Err(error_with_message(py, &MISUSE, "MisuseError", message))
    }

    /// Waits without the interpreter lock until something is known; KafkaTimeoutError after `timeout`.
    pub fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Result<Py<PyAny>, Py<PyAny>>> {
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
            self.check_may_wait(py)?;
            if let Resolution::Pending { outcome, .. } = self.resolve() {
                py.detach(|| outcome.wait_for_change(left.min(SIGNAL_CHECK)));
            }
            py.check_signals()?;
        }
    }
}

#[pymethods]
impl Delivery {
    fn done(&self) -> bool {
        !matches!(self.resolve(), Resolution::Pending { .. })
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
            Resolution::Pending { .. } => "pending".to_owned(),
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

//! `SentRecord`, the future of a record that was sent, and `RecordTeller`, who calls what waits for it.
//!
//! A record costs nothing but its future until somebody asks or adds a callback. Callbacks are kept with the batch;
//! once that is decided it goes to the teller as a whole, whose thread calls them in the order of the records, and
//! within a record in that in which they were added. A record is done when the teller has come to it, and whoever waits
//! for one of a batch is let go when all of the batch is told: the originals' order.
//!
//! The locks of batches and of the teller are never held while Python code runs.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use crate::python::kafka_python::named_tuples::NamedTupleClass;
use crate::python::objects::allocation::{new_untracked, track};
use crate::python::objects::calls::call_with_one;
use crate::python::produce::delivery::{ALL_TOLD, BatchOutcome, Resolution, SplitBatch, Told};

/// Between two looks for a signal such as Ctrl-C, which does not end a wait by itself.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// No record stands behind this: all of a batch is told when it is.
const LAST_INDEX: u32 = ALL_TOLD - 1;

/// How a generation's futures give metadata and errors.
struct SentRules {
    record_metadata: NamedTupleClass,
    topic_partition: NamedTupleClass,
    /// Whether metadata have a checksum and sizes, and a timestamp of the record's own.
    has_sizes: bool,
    /// Makes a program's exception of the core's.
    error_of: Py<PyAny>,
    /// Says of an exception whether what failed with it may be tried again.
    is_retriable: Py<PyAny>,
    /// Makes the exception of a wait that took too long, of its seconds.
    timed_out: Py<PyAny>,
    /// Logs what a callback raised: "callback" or "errback", and the exception.
    log_failure: Py<PyAny>,
    /// `functools.partial`.
    partial: Py<PyAny>,
    /// Makes the iterator that awaits a future.
    awaited: Py<PyAny>,
    /// Whether programs may set attributes of their own.
    has_attributes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallKind {
    Callback,
    Errback,
}

impl CallKind {
    fn name(self) -> &'static str {
        match self {
            Self::Callback => "callback",
            Self::Errback => "errback",
        }
    }
}

/// A function that waits for a record, which stands at `index` in its batch.
struct Call {
    index: u32,
    kind: CallKind,
    function: Py<PyAny>,
    record: Py<SentRecord>,
}

impl Call {
    fn make(&self, py: Python<'_>, rules: &SentRules) -> PyResult<()> {
        let function = &self.function;
        let called = match (self.record.bind(py).get().settled(self.record.bind(py))?, self.kind) {
            (Settled::Value(value), CallKind::Callback) => call_with_one(py, function, value.bind(py)),
            (Settled::Error(error), CallKind::Errback) => call_with_one(py, function, error.bind(py)),
            _ => return Ok(()),
        };
        if let Err(error) = called {
            rules.log_failure.call1(py, (self.kind.name(), error.into_value(py)))?;
        }
        Ok(())
    }
}

/// The calls that wait for one batch.
struct CallsOfBatch {
    teller: Arc<TellerQueue>,
    calls: Vec<Call>,
}

impl Told for CallsOfBatch {
    fn decided(self: Box<Self>, _py: Python<'_>, batch: &Arc<BatchOutcome>) {
        let Self { teller, calls } = *self;
        teller.push(ToldBatch { batch: Arc::clone(batch), calls });
    }

    fn needs_python(&self) -> bool {
        false
    }

    fn delivered_without_python(self: Box<Self>, batch: &Arc<BatchOutcome>) -> Result<(), Box<dyn Told>> {
        let Self { teller, calls } = *self;
        teller.push(ToldBatch { batch: Arc::clone(batch), calls });
        Ok(())
    }

    fn split(self: Box<Self>, py: Python<'_>, batch: &Arc<BatchOutcome>, split: &SplitBatch) {
        let Self { teller, calls } = *self;
        let mut failed = Vec::new();
        for mut call in calls {
            if batch.has_failed(call.index) {
                failed.push(call);
                continue;
            }
            let (part, index) = split.places[call.index as usize];
            call.index = index;
            teller.keep(py, &split.parts[part as usize], call);
        }
        teller.push(ToldBatch { batch: Arc::clone(batch), calls: failed });
    }
}

/// A decided batch whose calls are to be made.
struct ToldBatch {
    batch: Arc<BatchOutcome>,
    calls: Vec<Call>,
}

impl ToldBatch {
    fn tell(mut self, py: Python<'_>, rules: &SentRules) {
        if !self.calls.is_sorted_by_key(|call| call.index) {
            self.calls.sort_by_key(|call| call.index);
        }
        let mut told = None;
        for call in self.calls {
            if told != Some(call.index) {
                self.batch.tell_up_to(call.index + 1);
                told = Some(call.index);
            }
            if let Err(error) = call.make(py, rules) {
                error.write_unraisable(py, Some(call.function.bind(py)));
            }
        }
        self.batch.tell_up_to(ALL_TOLD);
    }
}

#[derive(Default)]
struct TellerState {
    waiting: VecDeque<ToldBatch>,
    /// How many batches came, and how many of them are told.
    pushed: u64,
    told: u64,
    is_ending: bool,
}

/// Decided batches on their way to the teller's thread.
#[derive(Default)]
struct TellerQueue {
    state: Mutex<TellerState>,
    arrived: Condvar,
    told: Condvar,
}

impl TellerQueue {
    fn lock(&self) -> MutexGuard<'_, TellerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, batch: ToldBatch) {
        let mut state = self.lock();
        state.waiting.push_back(batch);
        state.pushed += 1;
        self.arrived.notify_one();
    }

    fn keep(self: &Arc<Self>, py: Python<'_>, batch: &Arc<BatchOutcome>, call: Call) {
        let new = || CallsOfBatch { teller: Arc::clone(self), calls: Vec::new() };
        batch.keep_to_tell(py, new, |kept: &mut CallsOfBatch| kept.calls.push(call));
    }

    /// The next batch; None when the teller ends and there is no more.
    fn next(&self) -> Option<ToldBatch> {
        let mut state = self.lock();
        loop {
            if let Some(batch) = state.waiting.pop_front() {
                return Some(batch);
            }
            if state.is_ending {
                return None;
            }
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Calls the callbacks of one producer's records, in the thread that is in `run`.
#[pyclass(frozen, module = "barnabas._kernel")]
pub struct RecordTeller {
    queue: Arc<TellerQueue>,
    rules: Arc<SentRules>,
}

#[pymethods]
impl RecordTeller {
    #[new]
    #[pyo3(signature = (*, record_metadata, topic_partition, has_sizes, error_of, is_retriable, timed_out, log_failure, partial, awaited, has_attributes))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of the constructor")]
    fn new(
        record_metadata: &Bound<'_, PyType>,
        topic_partition: &Bound<'_, PyType>,
        has_sizes: bool,
        error_of: Py<PyAny>,
        is_retriable: Py<PyAny>,
        timed_out: Py<PyAny>,
        log_failure: Py<PyAny>,
        partial: Py<PyAny>,
        awaited: Py<PyAny>,
        has_attributes: bool,
    ) -> PyResult<Self> {
        let rules = SentRules {
            record_metadata: NamedTupleClass::of(record_metadata)?,
            topic_partition: NamedTupleClass::of(topic_partition)?,
            has_sizes,
            error_of,
            is_retriable,
            timed_out,
            log_failure,
            partial,
            awaited,
            has_attributes,
        };
        Ok(Self { queue: Arc::default(), rules: Arc::new(rules) })
    }

    /// Calls what waits for decided batches, until `end`.
    fn run(&self, py: Python<'_>) {
        while let Some(batch) = py.detach(|| self.queue.next()) {
            batch.tell(py, &self.rules);
            let mut state = self.queue.lock();
            state.told += 1;
            self.queue.told.notify_all();
        }
    }

    /// `run` returns when it has told what came before.
    fn end(&self) {
        self.queue.lock().is_ending = true;
        self.queue.arrived.notify_all();
    }

    /// Waits until all that is decided now is told, at most `timeout` seconds (None: without end); whether it is.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let deadline = Deadline::after(timeout);
        let pushed = self.queue.lock().pushed;
        loop {
            if self.queue.lock().told >= pushed {
                return Ok(true);
            }
            let Some(left) = deadline.left() else { return Ok(false) };
            py.detach(|| {
                let state = self.queue.lock();
                if state.told < pushed {
                    drop(self.queue.told.wait_timeout(state, left));
                }
            });
            py.check_signals()?;
        }
    }
}

/// The end of a wait, if it has one.
struct Deadline(Option<Instant>);

impl Deadline {
    fn after(seconds: Option<f64>) -> Self {
        // A time beyond what a Duration holds is as good as none.
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).ok());
        Self(time.and_then(|time| Instant::now().checked_add(time)))
    }

    /// How long to wait before looking for signals again; None when the time is up.
    fn left(&self) -> Option<Duration> {
        let left = self.0.map_or(SIGNAL_CHECK, |end| end.saturating_duration_since(Instant::now()));
        (!left.is_zero()).then(|| left.min(SIGNAL_CHECK))
    }
}

/// What a record came to, as its program sees it.
enum Settled {
    Value(Py<PyAny>),
    Error(Py<PyAny>),
}

/// What a future tells besides where its record went. A size that there is not is -1.
pub struct RecordSizes {
    pub timestamp: i64,
    pub key: i32,
    pub value: i32,
    pub headers: i32,
}

/// The future of a record that was appended.
#[pyclass(frozen, name = "FutureRecordMetadata", module = "kafka.producer.future")]
pub struct SentRecord {
    batch: Arc<BatchOutcome>,
    teller: Arc<TellerQueue>,
    rules: Arc<SentRules>,
    index: u32,
    sizes: RecordSizes,
    settled: OnceLock<Settled>,
    /// What the program set.
    attributes: OnceLock<Box<Py<PyDict>>>,
}

impl RecordTeller {
    /// The future of a record that stands at `index` of a batch.
    #[inline]
    pub fn future(
        &self,
        py: Python<'_>,
        batch: Arc<BatchOutcome>,
        index: u32,
        sizes: RecordSizes,
    ) -> PyResult<Py<SentRecord>> {
        let (teller, rules) = (Arc::clone(&self.queue), Arc::clone(&self.rules));
        let (settled, attributes) = (OnceLock::new(), OnceLock::new());
        new_untracked(py, SentRecord { batch, teller, rules, index, sizes, settled, attributes })
    }
}

impl SentRecord {
    fn place(&self) -> (Arc<BatchOutcome>, u32) {
        self.batch.final_place(self.index)
    }

    fn is_settled(&self) -> bool {
        if self.settled.get().is_some() {
            return true;
        }
        let (batch, index) = self.place();
        batch.is_told(index)
    }

    /// What a decided record came to, always the same objects.
    fn settled<'a>(&'a self, slf: &Bound<'_, Self>) -> PyResult<&'a Settled> {
        let py = slf.py();
        if let Some(settled) = self.settled.get() {
            return Ok(settled);
        }
        let settled = self.resolved(py)?;
        let leads_on = matches!(settled, Settled::Error(_));
        let settled = self.settled.get_or_init(|| settled);
        if leads_on {
            // An exception that is raised leads to frames, and these may lead back here.
            track(slf);
        }
        Ok(settled)
    }

    /// None while there is nothing to tell.
    fn outcome<'a>(&'a self, slf: &Bound<'_, Self>) -> PyResult<Option<&'a Settled>> {
        if self.is_settled() { self.settled(slf).map(Some) } else { Ok(None) }
    }

    fn resolved(&self, py: Python<'_>) -> PyResult<Settled> {
        let (batch, index) = self.place();
        let resolution = batch.resolve(index, index);
        let (offset, append_time) = match resolution {
            Resolution::Delivered { offset, log_append_time } => (offset, log_append_time),
            other => {
                let error = match other.into_result(py, &batch, self.sizes.timestamp)? {
                    Ok(metadata) => metadata,
                    Err(error) => error,
                };
                return Ok(Settled::Error(self.rules.error_of.call1(py, (error,))?));
            }
        };
        // kafka-python 1 tells what the broker answers: -1, unless the topic stamps records itself.
        let has_own = self.rules.has_sizes || offset < 0;
        let timestamp = if append_time < 0 && has_own { self.sizes.timestamp } else { append_time };
        let number = |number: i64| number.into_pyobject(py).map(Bound::into_any);
        let topic = batch.topic.object.bind(py).clone().into_any();
        let Ok(partition) = number(batch.partition.into());
        let Ok(offset) = number(offset);
        let Ok(timestamp) = number(timestamp);
        let rules = &self.rules;
        let place = rules.topic_partition.make(py, [topic.clone(), partition.clone()])?;
        let metadata = if rules.has_sizes {
            let (Ok(key), Ok(value), Ok(headers)) = (
                number(self.sizes.key.into()),
                number(self.sizes.value.into()),
                number(self.sizes.headers.into()),
            );
            let checksum = py.None().into_bound(py);
            let fields = [topic, partition, place, offset, timestamp, checksum, key, value, headers];
            rules.record_metadata.make(py, fields)
        } else {
            rules.record_metadata.make(py, [topic, partition, place, offset, timestamp])
        };
        Ok(Settled::Value(metadata?.unbind()))
    }

    /// Calls at once, where the record is done, or has the teller call.
    fn add(slf: &Bound<'_, Self>, kind: CallKind, function: Py<PyAny>) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        let (batch, index) = this.place();
        let call = Call { index, kind, function, record: slf.clone().unbind() };
        if this.settled.get().is_some() || batch.is_told(index) {
            return call.make(py, &this.rules);
        }
        this.teller.keep(py, &batch, call);
        Ok(())
    }

    /// The function, with arguments that come before what it is called with.
    fn function(
        slf: &Bound<'_, Self>,
        function: &Bound<'_, PyAny>,
        arguments: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        if arguments.is_empty() && named.is_none() {
            return Ok(function.clone().unbind());
        }
        let py = slf.py();
        let mut all = vec![function.clone()];
        all.extend(arguments.iter());
        slf.get().rules.partial.call(py, PyTuple::new(py, all)?, named)
    }
}

fn no_attribute(name: &Bound<'_, PyString>) -> PyErr {
    PyAttributeError::new_err(format!(
        "'FutureRecordMetadata' object has no such attribute to set or get: {name}"
    ))
}

#[pymethods]
impl SentRecord {
    #[classattr]
    #[allow(non_upper_case_globals)]
    const error_on_callbacks: bool = false;

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(attributes) = self.attributes.get() {
            visit.call(attributes.as_ref())?;
        }
        match self.settled.get() {
            Some(Settled::Value(object) | Settled::Error(object)) => visit.call(object),
            None => Ok(()),
        }
    }

    /// Asked where the class has no such attribute.
    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(attributes) = slf.get().attributes.get() {
            if let Some(value) = attributes.bind(slf.py()).get_item(name)? {
                return Ok(value);
            }
        }
        Err(no_attribute(name))
    }

    fn __setattr__(
        slf: &Bound<'_, Self>,
        name: &Bound<'_, PyString>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        if !this.rules.has_attributes || slf.get_type().hasattr(name)? {
            return Err(no_attribute(name));
        }
        let attributes = this.attributes.get_or_init(|| Box::new(PyDict::new(py).unbind()));
        // They may lead back here.
        track(slf);
        attributes.bind(py).set_item(name, value)
    }

    fn __delattr__(slf: &Bound<'_, Self>, name: &Bound<'_, PyString>) -> PyResult<()> {
        match slf.get().attributes.get() {
            Some(attributes) if attributes.bind(slf.py()).contains(name)? => {
                attributes.bind(slf.py()).del_item(name)
            }
            _ => Err(no_attribute(name)),
        }
    }

    fn __await__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        call_with_one(slf.py(), &slf.get().rules.awaited, slf.as_any())
    }

    #[getter]
    fn is_done(&self) -> bool {
        self.is_settled()
    }

    #[getter]
    fn value(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        Ok(match slf.get().outcome(slf)? {
            Some(Settled::Value(value)) => Some(value.clone_ref(slf.py())),
            _ => None,
        })
    }

    #[getter]
    fn exception(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        Ok(match slf.get().outcome(slf)? {
            Some(Settled::Error(error)) => Some(error.clone_ref(slf.py())),
            _ => None,
        })
    }

    fn succeeded(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(matches!(slf.get().outcome(slf)?, Some(Settled::Value(_))))
    }

    fn failed(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(matches!(slf.get().outcome(slf)?, Some(Settled::Error(_))))
    }

    fn retriable<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        match slf.get().outcome(slf)? {
            Some(Settled::Error(error)) => call_with_one(py, &slf.get().rules.is_retriable, error.bind(py)),
            _ => Ok(false.into_pyobject(py)?.to_owned().into_any()),
        }
    }

    /// The RecordMetadata, waited for for at most `timeout` seconds. Raises what the record failed with.
    #[pyo3(signature = (timeout=None))]
    fn get(slf: &Bound<'_, Self>, timeout: Option<Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        if !this.is_settled() {
            let deadline = Deadline::after(timeout.as_ref().map(|timeout| timeout.extract()).transpose()?);
            loop {
                let (batch, _) = this.place();
                if batch.is_told(LAST_INDEX) {
                    break;
                }
                let Some(left) = deadline.left() else {
                    let error = this.rules.timed_out.call1(py, (timeout,))?;
                    return Err(PyErr::from_value(error.into_bound(py)));
                };
                py.detach(|| batch.wait_until_told(left));
                py.check_signals()?;
            }
        }
        match this.settled(slf)? {
            Settled::Value(value) => Ok(value.clone_ref(py)),
            Settled::Error(error) => Err(PyErr::from_value(error.clone_ref(py).into_bound(py))),
        }
    }

    /// Has `f` called with the metadata after `args`, in the producer's thread, if the record is delivered.
    #[pyo3(signature = (f, *args, **kwargs))]
    fn add_callback<'py>(
        slf: &Bound<'py, Self>,
        f: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Self>> {
        Self::add(slf, CallKind::Callback, Self::function(slf, f, args, kwargs)?)?;
        Ok(slf.clone())
    }

    /// Has `f` called with the exception after `args`, in the producer's thread, if the record fails.
    #[pyo3(signature = (f, *args, **kwargs))]
    fn add_errback<'py>(
        slf: &Bound<'py, Self>,
        f: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Self>> {
        Self::add(slf, CallKind::Errback, Self::function(slf, f, args, kwargs)?)?;
        Ok(slf.clone())
    }

    /// Both of them.
    #[pyo3(signature = (f, *args, **kwargs))]
    fn add_both<'py>(
        slf: &Bound<'py, Self>,
        f: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Self>> {
        let function = Self::function(slf, f, args, kwargs)?;
        Self::add(slf, CallKind::Callback, function.clone_ref(slf.py()))?;
        Self::add(slf, CallKind::Errback, function)?;
        Ok(slf.clone())
    }

    /// Completes another future with this one.
    fn chain<'py>(slf: &Bound<'py, Self>, future: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        Self::add(slf, CallKind::Callback, future.getattr(intern!(py, "success"))?.unbind())?;
        Self::add(slf, CallKind::Errback, future.getattr(intern!(py, "failure"))?.unbind())?;
        Ok(slf.clone())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("cannot pickle the future of a record"))
    }
}

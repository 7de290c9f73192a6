//! `EventQueue`: what a client has to tell its user, who hears of it when polling: in the thread that polls, in order.
//!
//! Any thread may add to it. Its lock is never held while Python code runs or while a thread waits for the
//! interpreter lock.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

/// Between two looks for a signal such as Ctrl-C, which does not end a wait by itself.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// Something that the user is told of bit by bit.
pub trait Reports: Send {
    /// Tells the rest of it, up to what raises.
    fn serve(&mut self, py: Python<'_>, events: &Events) -> PyResult<()>;

    fn is_done(&self) -> bool;
}

enum Event {
    Call(Py<PyAny>),
    Reports(Box<dyn Reports>),
}

/// The queue, as all that add to it share it, and the messages that the user has not heard of yet.
#[derive(Default)]
pub struct Events {
    waiting: Mutex<VecDeque<Event>>,
    arrived: Condvar,
    messages: AtomicUsize,
    bytes: AtomicUsize,
    listener: OnceLock<Py<PyAny>>,
}

/// The queue, locked, while nobody wants to be called of what is added.
pub struct Unheard<'a> {
    waiting: MutexGuard<'a, VecDeque<Event>>,
    arrived: &'a Condvar,
}

impl Unheard<'_> {
    pub fn push_reports(mut self, reports: Box<dyn Reports>) {
        self.waiting.push_back(Event::Reports(reports));
        self.arrived.notify_one();
    }
}

impl Events {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, py: Python<'_>, event: Event) {
        self.lock().push_back(event);
        self.arrived.notify_one();
        if let Some(listener) = self.listener.get() {
            if let Err(error) = listener.call0(py) {
                error.write_unraisable(py, Some(listener.bind(py)));
            }
        }
    }

    pub fn push_reports(&self, py: Python<'_>, reports: Box<dyn Reports>) {
        self.push(py, Event::Reports(reports));
    }

    pub fn has_listener(&self) -> bool {
        self.listener.get().is_some()
    }

    /// To add without the interpreter lock; None where a listener has to be called.
    pub fn unheard(&self) -> Option<Unheard<'_>> {
        let waiting = self.lock();
        (!self.has_listener()).then_some(Unheard { waiting, arrived: &self.arrived })
    }

    /// Messages that were produced and not yet reported, and the bytes of their values.
    pub fn outstanding(&self) -> (usize, usize) {
        (self.messages.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    // The two are changed under the interpreter lock only, so without the price of atomic additions.

    pub fn produced(&self, _py: Python<'_>, messages: usize, bytes: usize) {
        let (outstanding_messages, outstanding_bytes) = self.outstanding();
        self.messages.store(outstanding_messages + messages, Ordering::Relaxed);
        self.bytes.store(outstanding_bytes + bytes, Ordering::Relaxed);
    }

    pub fn reported(&self, _py: Python<'_>, messages: usize, bytes: usize) {
        let (outstanding_messages, outstanding_bytes) = self.outstanding();
        self.messages.store(outstanding_messages - messages, Ordering::Relaxed);
        self.bytes.store(outstanding_bytes - bytes, Ordering::Relaxed);
        if outstanding_messages == messages {
            // Another thread may be waiting for the last one.
            self.arrived.notify_all();
        }
    }

    /// Waits without the interpreter lock until there is an event, the messages are all reported (`until_none`),
    /// or `deadline` has passed; None waits on.
    fn wait(&self, py: Python<'_>, deadline: Option<Instant>, until_none: bool) -> PyResult<bool> {
        loop {
            if !self.lock().is_empty() {
                return Ok(true);
            }
            if until_none && self.outstanding().0 == 0 {
                return Ok(false);
            }
            let left = deadline.map_or(SIGNAL_CHECK, |deadline| {
                deadline.saturating_duration_since(Instant::now()).min(SIGNAL_CHECK)
            });
            if left.is_zero() {
                return Ok(false);
            }
            py.detach(|| {
                let waiting = self.lock();
                if waiting.is_empty() && !(until_none && self.outstanding().0 == 0) {
                    drop(self.arrived.wait_timeout(waiting, left));
                }
            });
            py.check_signals()?;
        }
    }

    /// Waits for something to serve, and serves all that is there.
    pub fn serve(&self, py: Python<'_>, timeout: f64) -> PyResult<usize> {
        if timeout != 0.0 {
            self.wait(py, deadline_after(timeout), false)?;
        }
        self.serve_waiting(py)
    }

    /// How many events wait.
    pub fn waiting(&self) -> usize {
        self.lock().len()
    }

    /// Serves what is there now; what is added meanwhile is left for the next time.
    fn serve_waiting(&self, py: Python<'_>) -> PyResult<usize> {
        let count = self.lock().len();
        for _ in 0..count {
            // Another thread may serve as well.
            let Some(event) = self.lock().pop_front() else { break };
            match event {
                Event::Call(call) => drop(call.call0(py)?),
                Event::Reports(mut reports) => {
                    if let Err(error) = reports.serve(py, self) {
                        if !reports.is_done() {
                            self.lock().push_front(Event::Reports(reports));
                        }
                        return Err(error);
                    }
                }
            }
        }
        Ok(count)
    }
}

/// The end of a wait of `timeout` seconds; None where that is without end, as for all negative ones.
fn deadline_after(timeout: f64) -> Option<Instant> {
    let timeout = if timeout < 0.0 { None } else { Duration::try_from_secs_f64(timeout).ok() };
    timeout.and_then(|timeout| Instant::now().checked_add(timeout))
}

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct EventQueue {
    pub events: Arc<Events>,
}

#[pymethods]
impl EventQueue {
    #[new]
    fn new() -> Self {
        Self { events: Arc::default() }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(self.events.listener.get())
    }

    /// Adds a function without arguments, to be called by a later `serve`. On any thread.
    fn put(&self, py: Python<'_>, call: Py<PyAny>) {
        self.events.push(py, Event::Call(call));
    }

    /// `listener()` is called after each addition, in the thread that adds. Once.
    fn notify(&self, listener: Py<PyAny>) -> PyResult<()> {
        // From here on nobody adds `unheard`.
        let _waiting = self.events.lock();
        self.events.listener.set(listener).map_err(|_| PyTypeError::new_err("there is a listener already"))
    }

    /// Waits up to `timeout` seconds for something to serve (negative: without end), serves all that is there, and
    /// says how much that was. What a call raises ends it; the rest is left for the next time.
    #[pyo3(signature = (timeout=0.0))]
    fn serve(&self, py: Python<'_>, timeout: f64) -> PyResult<usize> {
        self.events.serve(py, timeout)
    }

    /// Serves until no message is outstanding and nothing is left to serve, for at most `timeout` seconds
    /// (negative: without end), and until `failures` calls have raised. What they raise is raised at the end, the last
    /// of it.
    #[pyo3(signature = (timeout, failures=usize::MAX))]
    fn serve_all(&self, py: Python<'_>, timeout: f64, failures: usize) -> PyResult<()> {
        let deadline = deadline_after(timeout);
        let (mut raised, mut left) = (None, failures);
        while left > 0 && self.events.wait(py, deadline, true)? {
            if let Err(error) = self.events.serve_waiting(py) {
                raised = Some(error);
                left -= 1;
            }
        }
        raised.map_or(Ok(()), Err)
    }

    /// Messages that were produced and not yet reported.
    #[getter]
    fn outstanding_messages(&self) -> usize {
        self.events.outstanding().0
    }

    /// The bytes of their values.
    #[getter]
    fn outstanding_bytes(&self) -> usize {
        self.events.outstanding().1
    }

    /// How much there is to serve. The reports of one batch count as one.
    fn __len__(&self) -> usize {
        self.events.lock().len()
    }
}

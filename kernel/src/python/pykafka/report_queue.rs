//! `ReportQueue`: delivery reports of one thread's messages, in the order in which these were decided.
//!
//! Its lock is never held while Python code runs or while a thread waits for the interpreter lock.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

/// Between two looks for a signal such as Ctrl-C, which does not end a wait by itself.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// A message, and the exception that it failed with.
pub type Report = (Py<PyAny>, Option<Py<PyAny>>);

#[derive(Default)]
pub struct WaitingReports {
    reports: Mutex<VecDeque<Report>>,
    arrived: Condvar,
    waiting_threads: AtomicUsize,
}

impl WaitingReports {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Report>> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, report: Report) {
        let mut reports = self.lock();
        reports.push_back(report);
        // Changed under the lock; waking costs a call of the system even where nobody waits.
        if self.waiting_threads.load(Ordering::Relaxed) > 0 {
            self.arrived.notify_one();
        }
    }

    fn wait(&self, time: Duration) {
        let reports = self.lock();
        if !reports.is_empty() {
            return;
        }
        self.waiting_threads.fetch_add(1, Ordering::Relaxed);
        let reports = self.arrived.wait_timeout(reports, time);
        self.waiting_threads.fetch_sub(1, Ordering::Relaxed);
        drop(reports);
    }
}

#[pyclass(frozen, module = "barnabas._kernel")]
#[derive(Default)]
pub struct ReportQueue {
    pub waiting: Arc<WaitingReports>,
}

fn empty(py: Python<'_>) -> PyErr {
    match py.import("queue").and_then(|queue| queue.getattr("Empty")).and_then(|class| class.call0()) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

#[pymethods]
impl ReportQueue {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(reports) = self.waiting.reports.try_lock() else { return Ok(()) };
        for (message, error) in reports.iter() {
            visit.call(message)?;
            visit.call(error)?;
        }
        Ok(())
    }

    fn __clear__(&self) {
        let reports = std::mem::take(&mut *self.waiting.lock());
        drop(reports);
    }

    /// Adds a pair of a message and None or an exception.
    #[pyo3(signature = (item, block=true, timeout=None))]
    fn put(&self, item: Report, block: bool, timeout: Option<f64>) {
        let _ = (block, timeout);
        self.waiting.push(item);
    }

    /// The oldest report. `timeout` in seconds, None waits on. Raises: queue.Empty.
    #[pyo3(signature = (block=true, timeout=None))]
    fn get(&self, py: Python<'_>, block: bool, timeout: Option<f64>) -> PyResult<Report> {
        let deadline = match timeout {
            _ if !block => Some(Instant::now()),
            None => None,
            Some(seconds) if seconds < 0.0 => {
                return Err(PyValueError::new_err("'timeout' must be a non-negative number"));
            }
            Some(seconds) => {
                Duration::try_from_secs_f64(seconds).ok().and_then(|time| Instant::now().checked_add(time))
            }
        };
        loop {
            if let Some(report) = self.waiting.lock().pop_front() {
                return Ok(report);
            }
            let left = deadline.map_or(SIGNAL_CHECK, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Err(empty(py));
            }
            py.detach(|| self.waiting.wait(left.min(SIGNAL_CHECK)));
            py.check_signals()?;
        }
    }

    fn get_nowait(&self, py: Python<'_>) -> PyResult<Report> {
        self.get(py, false, None)
    }

    fn qsize(&self) -> usize {
        self.waiting.lock().len()
    }

    fn empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }
}

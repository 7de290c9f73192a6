//! `Poller`: base of the classes that an application's thread takes records from one by one, where they are at hand. It
//! holds one reader at a time, lent by whoever keeps the order of partitions (`Lending`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::PyClass;
use pyo3::prelude::*;

use crate::handed_out::Progress;
use crate::lending::Lending;
use crate::python::consume::reader::RecordReader;
use crate::python::consume::record::RecordMaker;

/// How long a thread waits for another that reads before it looks again.
const READING_WAIT: Duration = Duration::from_micros(50);

/// The number of a loan, its reader, how many records were handed out of it, the offset behind the last of them, and its
/// leader epoch (both -1 if there was none).
type Returned = (u64, Py<RecordReader>, u64, i64, i32);

#[pyclass(frozen, subclass, module = "barnabas._kernel")]
#[derive(Default)]
pub struct Poller {
    needs_attention: AtomicBool,
    lending: Lending<Py<RecordReader>>,
}

/// Whoever reads may have given up the interpreter lock, and needs it again to finish: so nobody waits with it.
fn waiting(py: Python<'_>) -> impl Fn() {
    move || py.detach(|| std::thread::sleep(READING_WAIT))
}

impl Poller {
    /// An object of a class that descends from this one.
    pub fn subclassed<S: PyClass<BaseType = Self>>(subclass: S) -> PyClassInitializer<S> {
        PyClassInitializer::from(Self::default()).add_subclass(subclass)
    }

    /// What `maker` makes of the next record that is lent, if there is any. Raises: CorruptBatchError.
    #[inline]
    pub fn next<M: RecordMaker>(&self, py: Python<'_>, maker: &M) -> PyResult<Option<M::Made>> {
        self.lending.next(waiting(py), |reader| {
            let mut reader = reader.bind(py).try_borrow_mut()?;
            let next = reader.next(py, maker)?;
            Ok(next.map(|(made, offset)| (made, offset, reader.leader_epoch())))
        })
    }

    /// Whether there is something else to be seen to before the next record. Any thread.
    pub fn needs_attention(&self) -> bool {
        self.needs_attention.load(Ordering::Relaxed)
    }
}

#[pymethods]
impl Poller {
    /// Has the next record that is asked for go to the subclass. Any thread.
    fn _attend(&self) {
        self.needs_attention.store(true, Ordering::Relaxed);
    }

    /// The subclass has seen to it.
    fn _attended(&self) {
        self.needs_attention.store(false, Ordering::Relaxed);
    }

    /// How many records were handed out one by one so far, of all readers.
    #[getter]
    fn _handed_out(&self) -> u64 {
        self.lending.handed_out()
    }

    /// Records are handed out of `reader` from here on, until `_take_back`. The number of this loan, counted from 1.
    fn _lend(&self, py: Python<'_>, reader: Py<RecordReader>) -> u64 {
        self.lending.lend(reader, waiting(py))
    }

    /// How far the present loan has come: its number, the records handed out of it (at least one), the offset behind
    /// the last of them and its leader epoch (-1 if not known). None where there is nothing of that kind, or it is just
    /// changing. Any thread; waits for nobody.
    #[getter]
    fn _progress(&self) -> Option<(u64, u64, i64, i32)> {
        let Progress { loan, count, next_offset, leader_epoch } = self.lending.progress()?;
        Some((loan, count, next_offset, leader_epoch))
    }

    /// Ends `_lend`: the number of the loan, its reader, how many records were handed out of it, the offset behind the
    /// last of them, and its leader epoch (both -1 if there was none).
    fn _take_back(&self, py: Python<'_>) -> Option<Returned> {
        let (reader, progress) = self.lending.take_back(waiting(py))?;
        Some((progress.loan, reader, progress.count, progress.next_offset, progress.leader_epoch))
    }
}

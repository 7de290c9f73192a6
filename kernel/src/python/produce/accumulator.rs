//! `Accumulator`: records waiting to be sent, for many threads that append and one that sends.

use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::Instant;

use pyo3::exceptions::{PyBaseException, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::clock::now_ms;
use crate::compression::Compression;
use crate::partitioner::Partitioner;
use crate::producing::{Appended, Front, Refused, Settings, Waiting};
use crate::python::objects::errors::{codec_and_level, invalid_record, no_such_partition, record_too_large};
use crate::python::objects::input::{InputBytes, InputHeaders};
#[cfg(unix)]
use crate::python::os::sockets::duplicate;
#[cfg(unix)]
use crate::python::os::waker::{Signal, Waker};
use crate::python::produce::arrow_in::RowBatches;
use crate::python::produce::arrow_rows::RowsToAppend;
use crate::python::produce::builder::MAX_RECORD_BYTES;
use crate::python::produce::delivery::{Batches, Delivery, TopicName};
#[cfg(unix)]
use crate::python::produce::direct_answers::{DirectReturn, DirectSend};
#[cfg(unix)]
use crate::python::produce::direct_send::{DirectTarget, Seat, Terms};
#[cfg(unix)]
use crate::python::produce::leader_courier::Exchanges;
use crate::python::produce::producer_batch::{ClosedBatch, ProducerBatch};
use crate::python::produce::shared_queues::SharedQueues;
#[cfg(unix)]
use crate::records::ProducerState;
use crate::records::{NewRecord, Sealer};

/// How the sender learns that there is something new for it to do.
enum Wake {
    Call(Py<PyAny>),
    #[cfg(unix)]
    Signal(Arc<Signal>),
}

impl Wake {
    #[cfg(unix)]
    fn signal(&self) -> Option<Arc<Signal>> {
        match self {
            Self::Signal(signal) => Some(Arc::clone(signal)),
            Self::Call(_) => None,
        }
    }
}

#[pyclass(frozen, module = "barnabas._kernel")]
pub struct Accumulator {
    pub settings: Settings,
    pub queues: Arc<SharedQueues>,
    batches: Arc<Batches>,
    wake: Wake,
    /// That of the event loop, which decides what becomes of records.
    deciding_thread: ThreadId,
    #[cfg(unix)]
    direct: DirectSend,
}

impl Drop for Accumulator {
    fn drop(&mut self) {
        #[cfg(unix)]
        self.direct.end();
        if let Some(sealer) = &self.settings.sealer {
            sealer.close();
        }
        // Told without the lock: what hears of it may be Python's.
        let left: Vec<_> = {
            let queues = self.queues.lock();
            let partitions = queues.topics.iter().flat_map(|topic| &topic.partitions);
            let waiting = partitions.flat_map(|queue| &queue.batches);
            waiting
                .filter_map(|waiting| match waiting {
                    Waiting::Open(batch) => Some(Arc::clone(&batch.outcome)),
                    Waiting::Closed(batch) => Some(Arc::clone(&batch.outcome)),
                    Waiting::Returned(_) => None,
                })
                .collect()
        };
        for outcome in left {
            outcome.abandon();
        }
    }
}

impl Accumulator {
    /// The record is in the buffer already, so a failure here is not the caller's.
    pub fn wake_sender(&self, py: Python<'_>) {
        match &self.wake {
            #[cfg(unix)]
            Wake::Signal(signal) => signal.wake(),
            Wake::Call(function) => {
                if let Err(error) = function.call0(py) {
                    error.write_unraisable(py, Some(function.bind(py)));
                }
            }
        }
    }

    /// Wakes the sender where that takes no interpreter lock; whether it did.
    pub fn signal_sender(&self) -> bool {
        match &self.wake {
            #[cfg(unix)]
            Wake::Signal(signal) => {
                signal.wake();
                true
            }
            Wake::Call(_) => false,
        }
    }

    /// Appends a record, to be reported to `on_delivery`. None where it takes waiting.
    pub fn append_record(
        &self,
        py: Python<'_>,
        topic: &Bound<'_, PyString>,
        partition: Option<i32>,
        record: &NewRecord<'_>,
        on_delivery: Option<Py<PyAny>>,
    ) -> PyResult<Option<Py<Delivery>>> {
        let timestamp = record.timestamp;
        if timestamp < 0 {
            return Err(invalid_record(py, format!("timestamp {timestamp} ms is before 1970")));
        }
        if let Some(given) = on_delivery.as_ref().map(|given| given.bind(py))
            && !given.is_callable()
        {
            return Err(PyTypeError::new_err(format!("on_delivery must be callable, not {}", given.repr()?)));
        }
        let name = topic.to_str()?;
        let appended = {
            let mut queues = self.queues.lock();
            let topic_index = queues.index_of_object(topic, name);
            queues
                .append_at(&self.settings, name, topic_index, partition, record)
                .map(|place| place.to_appended())
        };
        let Appended { outcome, index: record_index, partition, wake } = match appended {
            Ok(appended) => appended,
            Err(refused) => return refusal(py, refused).map(|()| None),
        };
        if let Some(on_delivery) = on_delivery {
            outcome.report_when_done(py, record_index, timestamp, on_delivery);
        }
        let delivery = Delivery::new(outcome, record_index, record_index, timestamp, self.deciding_thread);
        if wake && !self.send_directly(name, partition) {
            self.wake_sender(py);
        }
        Py::new(py, delivery).map(Some)
    }

    pub fn deciding_thread(&self) -> ThreadId {
        self.deciding_thread
    }

    /// Sees to it that what was just appended to an idle partition is sent, where its connection is lent; whether it
    /// was. What lingers there stays, for `send_lingering`, or for the loop, which looks after it while it lends.
    #[cfg(unix)]
    pub fn send_directly(&self, topic: &str, partition: u32) -> bool {
        if self.settings.lingers && self.queues.lock().is_lingering(topic, partition as usize) {
            return self.direct.holds(topic, partition);
        }
        self.direct.send(topic, partition)
    }

    #[cfg(not(unix))]
    pub fn send_directly(&self, _topic: &str, _partition: u32) -> bool {
        false
    }
}

/// How to wake the sender, and who compresses for it: threads that can only wake it without Python.
fn waking(wake: &Bound<'_, PyAny>, codec: Compression) -> (Wake, Option<Arc<Sealer>>) {
    #[cfg(unix)]
    if let Ok(waker) = wake.cast::<Waker>() {
        let signal = Arc::clone(&waker.get().0);
        let sealed = Arc::clone(&signal);
        let sealer = (codec != Compression::None).then(|| Sealer::new(move || sealed.wake()));
        return (Wake::Signal(signal), sealer);
    }
    (Wake::Call(wake.clone().unbind()), None)
}

/// Raises why a record was refused; not where it only takes waiting.
pub fn refusal(py: Python<'_>, refused: Refused) -> PyResult<()> {
    match refused {
        Refused::NotNow => Ok(()),
        Refused::TooLarge(message) => Err(record_too_large(py, message)),
        Refused::NoSuchPartition(message) => Err(no_such_partition(py, message)),
        Refused::Invalid(message) => Err(invalid_record(py, message)),
    }
}

#[pymethods]
impl Accumulator {
    #[new]
    #[pyo3(signature = (*, batch_size, buffer_memory, max_record_bytes, compression, compression_level, partitioner, wake, ignore_keys=false, is_adaptive=true, sticky_linger_ms=None, max_batch_records=u32::MAX, lingers=false, seed=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of the constructor")]
    fn new(
        py: Python<'_>,
        batch_size: usize,
        buffer_memory: usize,
        max_record_bytes: usize,
        compression: &str,
        compression_level: Option<i32>,
        partitioner: &str,
        wake: Py<PyAny>,
        ignore_keys: bool,
        is_adaptive: bool,
        sticky_linger_ms: Option<f64>,
        max_batch_records: u32,
        lingers: bool,
        seed: Option<u64>,
    ) -> PyResult<Self> {
        let partitioner = Partitioner::from_name(partitioner).ok_or_else(|| {
            let names = Partitioner::NAMES;
            PyValueError::new_err(format!("unknown partitioner {partitioner:?}; there are {names}"))
        })?;
        let monotonic_s: f64 = py.import("time")?.call_method0("monotonic")?.extract()?;
        let codec = codec_and_level(compression, compression_level)?;
        let (wake, sealer) = waking(wake.bind(py), codec.0);
        let settings = Settings {
            batch_size: batch_size.min(MAX_RECORD_BYTES),
            buffer_memory,
            max_record_bytes: max_record_bytes.min(MAX_RECORD_BYTES),
            codec,
            partitioner,
            ignore_keys,
            is_adaptive,
            sticky_linger_ms,
            max_batch_records,
            lingers,
            clock: (Instant::now(), monotonic_s * 1000.0),
            sealer,
        };
        let queues = Arc::new(SharedQueues::default());
        if let Some(seed) = seed {
            queues.lock().seed = seed;
        }
        Ok(Self {
            settings,
            #[cfg(unix)]
            direct: DirectSend::new(&queues, codec, wake.signal()),
            queues,
            batches: Arc::default(),
            wake,
            deciding_thread: thread::current().id(),
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.wake {
            Wake::Call(function) => visit.call(function),
            #[cfg(unix)]
            Wake::Signal(_) => Ok(()),
        }
    }

    fn set_partition_count(&self, topic: Bound<'_, PyString>, partition_count: u32) -> PyResult<()> {
        let name = topic.to_str()?.to_owned();
        let name = TopicName::of_producer(name, topic.unbind(), &self.batches);
        let forgotten = self.queues.lock().set_partition_count(name, partition_count);
        drop(forgotten);
        Ok(())
    }

    fn forget_topic(&self, topic: &str) -> bool {
        self.queues.lock().forget(topic)
    }

    #[getter]
    fn is_shut(&self) -> bool {
        self.queues.lock().is_shut
    }

    fn set_unavailable(&self, topic: &str, partitions: Vec<usize>) {
        self.queues.lock().set_unavailable(topic, &partitions);
    }

    fn set_shut(&self, is_shut: bool) {
        self.queues.lock().is_shut = is_shut;
    }

    #[pyo3(signature = (topic, partition, key, value, headers, timestamp, on_delivery=None))]
    #[expect(clippy::too_many_arguments, reason = "the parts of a record")]
    fn append(
        &self,
        py: Python<'_>,
        topic: &Bound<'_, PyString>,
        partition: Option<i32>,
        key: Option<InputBytes>,
        value: Option<InputBytes>,
        headers: InputHeaders,
        timestamp: Option<i64>,
        on_delivery: Option<Py<PyAny>>,
    ) -> PyResult<Option<Py<Delivery>>> {
        let record = NewRecord::new(
            timestamp.unwrap_or_else(now_ms),
            key.as_ref().map(AsRef::as_ref),
            value.as_ref().map(AsRef::as_ref),
            headers.as_ref(),
        );
        self.append_record(py, topic, partition, &record, on_delivery)
    }

    #[pyo3(signature = (topic, data, *, row_offset=0, timestamp=None))]
    fn append_arrow(
        &self,
        py: Python<'_>,
        topic: &str,
        data: &Bound<'_, PyAny>,
        row_offset: usize,
        timestamp: Option<i64>,
    ) -> PyResult<(usize, Vec<Delivery>)> {
        let mut rows = RowsToAppend { topic, timestamp, taken: 0, runs: Vec::new(), wake: false };
        let mut batches = RowBatches::new(data)?;
        let mut skip = row_offset;
        let mut refused = None;
        while let Some(batch) = batches.next(py)? {
            let first_row = skip.min(batch.len());
            skip -= first_row;
            let appended = py.detach(|| {
                rows.append_batch(&self.settings, &self.queues, || self.signal_sender(), &batch, first_row)
            });
            drop(batch);
            if let Err(reason) = appended {
                refused = Some(reason);
                break;
            }
        }
        if rows.wake {
            self.wake_sender(py);
        }
        match refused {
            // Rows before the one that is refused are taken; the next call begins with it.
            Some(reason) if rows.taken == 0 => {
                refusal(py, reason.in_row(row_offset))?;
            }
            _ => {}
        }
        let deliveries = rows.runs.into_iter().map(|run| run.into_delivery(self.deciding_thread)).collect();
        Ok((rows.taken, deliveries))
    }

    fn needs_metadata(&self, topic: &str) -> bool {
        let queues = self.queues.lock();
        queues.index_of(topic).is_none_or(|index| queues.topics[index].partition_count == 0)
    }

    fn partitions(&self, py: Python<'_>) -> Vec<(Py<PyString>, usize)> {
        let queues = self.queues.lock();
        let mut found = Vec::new();
        for topic in &queues.topics {
            for (partition, queue) in topic.partitions.iter().enumerate() {
                if !queue.batches.is_empty() {
                    found.push((topic.name.object.clone_ref(py), partition));
                }
            }
        }
        found
    }

    fn ready_in_ms(&self, topic: &str, partition: usize, now_ms: f64, linger_ms: f64) -> f64 {
        let mut queues = self.queues.lock();
        let Some(queue) = queues.partition(topic, partition) else { return f64::INFINITY };
        match queue.front() {
            Front::Empty => f64::INFINITY,
            Front::Lingers { since_ms } => (since_ms + linger_ms - now_ms).max(0.0),
            Front::Due => 0.0,
        }
    }

    fn due(&self, py: Python<'_>, now_ms: f64, linger_ms: f64) -> (Vec<(Py<PyString>, usize)>, f64) {
        let mut queues = self.queues.lock();
        let (due, next_ms) = queues.due(now_ms, linger_ms);
        (due.map(|(topic, partition)| (topic.object.clone_ref(py), partition)).collect(), next_ms)
    }

    fn drain(&self, py: Python<'_>, topic: &str, partition: usize) -> PyResult<Option<Py<ProducerBatch>>> {
        let taken =
            self.queues.lock().partition(topic, partition).and_then(|queue| queue.batches.pop_front());
        let batch = match taken {
            None => return Ok(None),
            Some(Waiting::Returned(batch)) => return Ok(Some(batch)),
            Some(Waiting::Closed(batch)) => batch,
            Some(Waiting::Open(batch)) => {
                let is_small = batch.is_small();
                let closed = ClosedBatch::from(batch);
                match &self.settings.sealer {
                    Some(sealer) if !is_small => sealer.seal_soon(Arc::clone(&closed.body)),
                    None if !is_small && self.settings.codec.0 != Compression::None => {}
                    _ => closed.body.seal(),
                }
                closed
            }
        };
        Py::new(py, ProducerBatch::new(batch, self.settings.codec)).map(Some)
    }

    fn put_back(&self, py: Python<'_>, batch: Py<ProducerBatch>) -> PyResult<()> {
        let partition = batch.get().partition_number() as usize;
        let topic = batch.clone_ref(py);
        let is_ours =
            self.queues.lock().put_back(topic.get().topic_name(), partition, Waiting::Returned(batch));
        if is_ours { Ok(()) } else { Err(PyValueError::new_err("the batch is of another accumulator")) }
    }

    fn fail_rest(&self, py: Python<'_>, error: Py<PyBaseException>) -> usize {
        let mut failed = 0;
        for outcome in self.batches.take().into_iter().filter(|outcome| outcome.is_pending()) {
            outcome.fail(py, error.clone_ref(py).into_any());
            failed += 1;
        }
        failed
    }

    fn release(&self, batch: &Bound<'_, ProducerBatch>) {
        self.queues.release(batch.get());
    }

    #[cfg(unix)]
    #[pyo3(signature = (leader_id, descriptor, seats, correlation_id, *, max_in_flight=1, reads_answers=false))]
    fn lend(
        &self,
        leader_id: i32,
        descriptor: i32,
        seats: Vec<(Bound<'_, DirectTarget>, (i64, i16, i32))>,
        correlation_id: i32,
        max_in_flight: usize,
        reads_answers: bool,
    ) -> PyResult<()> {
        let seats = seats.into_iter().map(|(target, place)| {
            let (producer_id, producer_epoch, base_sequence) = place;
            let producer =
                ProducerState { producer_id, producer_epoch, base_sequence, is_transactional: false };
            Seat { target: Arc::clone(&target.get().0), producer }
        });
        let (socket, seats) = (Arc::new(duplicate(descriptor)?), seats.collect());
        Ok(self
            .direct
            .lend(leader_id, Terms { socket, seats, correlation_id, max_in_flight, reads_answers })?)
    }

    #[cfg(unix)]
    fn take_back(&self, py: Python<'_>, leader_id: i32) -> PyResult<Option<DirectReturn>> {
        self.direct.take_back(py, leader_id)
    }

    /// Has all that waits sent at once. False where any of it is for the loop.
    fn send_lingering(&self) -> bool {
        #[cfg(unix)]
        return self.direct.send_all();
        #[cfg(not(unix))]
        false
    }

    #[cfg(unix)]
    fn end_direct(&self) {
        self.direct.end();
    }

    #[cfg(unix)]
    fn direct_figures(&self, leader_id: i32) -> (f64, Vec<(usize, Exchanges)>) {
        self.direct.figures(leader_id)
    }

    #[cfg(unix)]
    #[getter]
    fn has_sent_directly(&self) -> bool {
        self.direct.has_sent()
    }

    #[getter]
    fn buffered_bytes(&self) -> usize {
        self.queues.lock().buffered_bytes
    }

    #[getter]
    fn buffered_records(&self) -> usize {
        self.queues.lock().buffered_records
    }
}

//! Opening batches ahead of who reads them: checksums and decompression, on threads of their own.
//!
//! Owns those threads, which also do other work that somebody is about to ask for. Whoever reaches a batch first opens
//! it, a thread or its reader, so a batch that the threads did not get to costs what it would cost without them. Knows
//! nothing of records or partitions.

use std::collections::VecDeque;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, Weak};
use std::thread;

use super::batch::open_payload;
use super::header::BatchHeader;
use super::limits::Limits;
use crate::compression::Compression;
use crate::error::CorruptBatch;
use crate::locks::{lock, lock_unless_forked};
use crate::shared_bytes::SharedBytes;
use crate::spare_memory::SpareBytes;
use crate::sync::{Condvar, Mutex, MutexGuard};

/// A smaller batch is opened in less time than it takes to hand it over.
const LEAST_BATCH_BYTES: usize = 4096;
const MAX_THREADS: usize = 4;

/// A batch's records, decompressed; None where they lie open in the batch itself.
pub type Opened = Result<Option<SpareBytes>, CorruptBatch>;

/// Something that whoever gets there first makes, out of `Input`, once, for one who takes it.
pub struct Ahead<Input, Made> {
    progress: Mutex<Progress<Input, Made>>,
    changed: Condvar,
}

enum Progress<Input, Made> {
    Waiting(Input),
    Making,
    Made(Made),
    /// Taken, or not to be made.
    Over,
}

impl<Input, Made> Ahead<Input, Made> {
    pub fn new(input: Input) -> Self {
        Self { progress: Mutex::new(Progress::Waiting(input)), changed: Condvar::new() }
    }

    pub fn is_waiting(&self) -> bool {
        matches!(*lock(&self.progress), Progress::Waiting(_))
    }

    /// Whether a thread has begun and is not done.
    pub fn is_being_made(&self) -> bool {
        matches!(*lock(&self.progress), Progress::Making)
    }

    /// False where that has begun already. What `make` gives nothing for, or panics at, is left to who takes it.
    pub fn make(&self, make: impl FnOnce(Input) -> Option<Made>) -> bool {
        let input = {
            let mut progress = lock(&self.progress);
            match std::mem::replace(&mut *progress, Progress::Making) {
                Progress::Waiting(input) => input,
                other => {
                    *progress = other;
                    return false;
                }
            }
        };
        let made = catch_unwind(AssertUnwindSafe(|| make(input))).ok().flatten();
        *lock(&self.progress) = made.map_or(Progress::Over, Progress::Made);
        self.changed.notify_all();
        true
    }

    /// What was made, if a thread has begun with that; waits for its end. Nobody begins afterwards.
    pub fn take(&self) -> Option<Made> {
        let mut progress = lock(&self.progress);
        while matches!(*progress, Progress::Making) {
            progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
        match std::mem::replace(&mut *progress, Progress::Over) {
            Progress::Made(made) => Some(made),
            _ => None,
        }
    }
}

/// A batch of magic 2 that may be opened before its reader gets there.
pub struct BatchAhead {
    /// Where it begins in the bytes that its reader reads.
    pub start: usize,
    bytes: SharedBytes,
    limits: Limits,
    /// With what it counts for, unless its reader opened it.
    opened: Ahead<(), (Opened, Option<Credit>)>,
}

impl BatchAhead {
    /// None for a batch that is not worth it.
    pub fn new(data: &SharedBytes, start: usize, end: usize, limits: Limits) -> Option<Arc<Self>> {
        let header = BatchHeader::read(&data.as_ref()[start..end]).ok()?;
        let is_compressed = header.compression().is_ok_and(|compression| compression != Compression::None);
        let is_worth_it = is_compressed && !header.is_control() && end - start >= LEAST_BATCH_BYTES;
        is_worth_it
            .then(|| Arc::new(Self { start, bytes: data.slice(start, end), limits, opened: Ahead::new(()) }))
    }

    /// For its reader: what opening it gave, if a thread has begun with that. No thread begins afterwards.
    pub fn take(&self) -> Option<Opened> {
        self.opened.take().map(|(opened, _)| opened)
    }

    /// Whether a thread has begun to open it and is not done.
    pub fn is_being_opened(&self) -> bool {
        self.opened.is_being_made()
    }

    /// For its reader, which would only wait for the batch before: opens it for a later `take`. False where
    /// that has begun already.
    pub fn open_early(&self) -> bool {
        self.opened.make(|()| Some((self.open(), None)))
    }

    fn open(&self) -> Opened {
        let bytes = self.bytes.as_ref();
        let header = BatchHeader::read(bytes)?;
        if self.limits.check_crcs {
            BatchHeader::check_crc(bytes).map_err(|reason| CorruptBatch::new(header.base_offset, reason))?;
        }
        open_payload(&header, bytes, self.limits.max_decompressed_bytes)
    }

    fn open_on_thread(&self, shared: &Arc<Shared>) {
        self.opened.make(|()| {
            let opened = self.open();
            let payload = opened.as_ref().ok().and_then(Option::as_ref);
            let credit = Credit::new(shared, payload.map_or(0, |payload| payload.len()));
            Some((opened, Some(credit)))
        });
    }
}

/// What an opened batch that nobody has taken yet counts for.
struct Credit {
    shared: Arc<Shared>,
    bytes: usize,
}

impl Credit {
    fn new(shared: &Arc<Shared>, bytes: usize) -> Self {
        lock(&shared.state).opened_bytes += bytes;
        Self { shared: Arc::clone(shared), bytes }
    }
}

impl Drop for Credit {
    fn drop(&mut self) {
        if let Some(mut state) = lock_unless_forked(&self.shared.state) {
            state.opened_bytes -= self.bytes;
            drop(state);
            self.shared.changed.notify_one();
        }
    }
}

/// Something that a thread may do before it is asked for.
pub trait Work: Send + Sync {
    /// Does it, unless that has begun.
    fn work(&self);
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Weak<BatchAhead>>,
    /// Comes before opening batches.
    work: VecDeque<Weak<dyn Work>>,
    opened_bytes: usize,
    threads: usize,
    idle_threads: usize,
    is_closed: bool,
}

struct Shared {
    max_opened_bytes: usize,
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn work(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        while !state.is_closed {
            if let Some(work) = state.work.pop_front() {
                drop(state);
                // What nobody asks for any more is passed over.
                if let Some(work) = work.upgrade() {
                    work.work();
                }
                state = lock(&self.state);
                continue;
            }
            let next =
                if state.opened_bytes < self.max_opened_bytes { state.waiting.pop_front() } else { None };
            if let Some(batch) = next {
                drop(state);
                // What its reader has reached, or nobody reads any more, is passed over.
                if let Some(batch) = batch.upgrade() {
                    batch.open_on_thread(self);
                }
                state = lock(&self.state);
            } else {
                state.idle_threads += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle_threads -= 1;
            }
        }
    }
}

/// The threads of one client. They start when there is work for them, and end when this is dropped.
pub struct BatchOpeners {
    shared: Arc<Shared>,
    max_threads: usize,
    record_bytes: AtomicUsize,
}

impl BatchOpeners {
    /// Batches are opened ahead until those not taken come to `max_opened_bytes`.
    pub fn new(max_opened_bytes: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            shared: Arc::new(Shared { max_opened_bytes, state: Mutex::default(), changed: Condvar::new() }),
            // The readers' own threads are busy as well.
            max_threads: (cores - 1).min(MAX_THREADS),
            record_bytes: AtomicUsize::new(0),
        }
    }

    pub fn max_threads(&self) -> usize {
        self.max_threads
    }

    /// What the client's records come to of late, decompressed; 0 where that is not known.
    pub fn record_bytes(&self) -> usize {
        self.record_bytes.load(Ordering::Relaxed)
    }

    pub fn note_record_bytes(&self, bytes: usize) {
        self.record_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Has batches opened, in about this order, behind all others.
    pub fn add<'a>(&self, batches: impl ExactSizeIterator<Item = &'a Arc<BatchAhead>>) {
        if batches.len() == 0 || self.max_threads == 0 {
            return;
        }
        let mut state = lock(&self.shared.state);
        state.waiting.extend(batches.map(Arc::downgrade));
        self.start(state);
    }

    /// Has something done, before batches are opened.
    pub fn add_work(&self, work: Weak<dyn Work>) {
        if self.max_threads > 0 {
            let mut state = lock(&self.shared.state);
            state.work.push_back(work);
            self.start(state);
        }
    }

    fn start(&self, mut state: MutexGuard<'_, State>) {
        let waiting = state.waiting.len() + state.work.len();
        let wanted = waiting.saturating_sub(state.idle_threads).min(self.max_threads - state.threads);
        for _ in 0..wanted {
            let shared = Arc::clone(&self.shared);
            let spawned =
                thread::Builder::new().name("barnabas-open".to_owned()).spawn(move || shared.work());
            // Where there can be no more threads, readers open their batches themselves.
            state.threads += usize::from(spawned.is_ok());
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}

impl Drop for BatchOpeners {
    fn drop(&mut self) {
        if let Some(mut state) = lock_unless_forked(&self.shared.state) {
            state.is_closed = true;
            drop(state);
            self.shared.changed.notify_all();
        }
    }
}

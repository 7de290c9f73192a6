//! Closing batches for good: their compression, as soon as they are full, on threads that need no interpreter lock.
//! Knows nothing of partitions, nor of who sends the batches.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::builder::{BatchBuilder, ProducerState, SealedBatch};

/// What a batch holds.
enum Contents {
    Open(BatchBuilder),
    /// A thread is at it.
    Sealing,
    Sealed(Arc<SealedBatch>),
    /// Split into smaller batches.
    UsedUp,
    /// Compressing it failed, which takes an error of ours: its records are gone.
    Broken(String),
}

/// Why a batch has no bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum NoBytes {
    UsedUp,
    Broken(String),
}

/// The records of a batch that takes no more, compressed or about to be. Shared with the thread that does it.
pub struct BatchBody {
    contents: Mutex<Contents>,
    changed: Condvar,
    is_sealed: AtomicBool,
}

impl BatchBody {
    pub fn new(builder: BatchBuilder) -> Arc<Self> {
        let contents = Mutex::new(Contents::Open(builder));
        Arc::new(Self { contents, changed: Condvar::new(), is_sealed: AtomicBool::new(false) })
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether compression, which may take long, is behind us; it may have failed.
    pub fn is_sealed(&self) -> bool {
        self.is_sealed.load(Ordering::Acquire)
    }

    /// Why the batch can never be sent; None if it can, or is not sealed yet.
    pub fn broken_because(&self) -> Option<String> {
        match &*self.lock() {
            Contents::Broken(reason) => Some(reason.clone()),
            _ => None,
        }
    }

    /// Compresses the records, or waits until another thread has.
    pub fn seal(&self) {
        self.seal_with(BatchBuilder::seal);
    }

    fn seal_with(&self, seal: impl FnOnce(BatchBuilder) -> SealedBatch) {
        let mut contents = self.lock();
        while matches!(*contents, Contents::Sealing) {
            contents = self.changed.wait(contents).unwrap_or_else(PoisonError::into_inner);
        }
        match std::mem::replace(&mut *contents, Contents::Sealing) {
            Contents::Open(builder) => {
                drop(contents);
                // Whoever waits for the batch would do so for ever, had the thread just ended.
                let outcome = match catch_unwind(AssertUnwindSafe(|| seal(builder))) {
                    Ok(sealed) => Contents::Sealed(Arc::new(sealed)),
                    Err(panic) => Contents::Broken(message_of(panic.as_ref())),
                };
                *self.lock() = outcome;
                self.is_sealed.store(true, Ordering::Release);
                self.changed.notify_all();
            }
            settled => *contents = settled,
        }
    }

    /// The batch as this producer writes it. Must be sealed, or this takes long.
    pub fn encode(&self, producer: &ProducerState) -> Result<Arc<SealedBatch>, NoBytes> {
        self.seal();
        match &mut *self.lock() {
            Contents::Sealed(sealed) => {
                // Whoever still writes it to a socket that failed keeps what it was.
                Arc::make_mut(sealed).encode(producer, 0, -1, false);
                Ok(Arc::clone(sealed))
            }
            Contents::Broken(reason) => Err(NoBytes::Broken(reason.clone())),
            _ => Err(NoBytes::UsedUp),
        }
    }

    /// Ends the batch, which becomes smaller ones.
    pub fn use_up(&self) -> Result<Arc<SealedBatch>, NoBytes> {
        self.seal();
        match std::mem::replace(&mut *self.lock(), Contents::UsedUp) {
            Contents::Sealed(sealed) => Ok(sealed),
            Contents::Broken(reason) => Err(NoBytes::Broken(reason)),
            _ => Err(NoBytes::UsedUp),
        }
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "for a reason unknown".to_owned())
}

#[derive(Default)]
struct Work {
    waiting: VecDeque<Arc<BatchBody>>,
    threads: usize,
    idle: usize,
    is_over: bool,
}

/// The threads of one producer.
pub struct Sealer {
    work: Mutex<Work>,
    arrived: Condvar,
    most_threads: usize,
    /// Called after each batch, without the interpreter lock.
    on_sealed: Box<dyn Fn() + Send + Sync>,
}

const MOST_THREADS: usize = 4;
/// The lock is held for moments only.
const CLOSING_TRIES: usize = 10_000;

impl Sealer {
    pub fn new(on_sealed: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        let most_threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        Arc::new(Self {
            work: Mutex::default(),
            arrived: Condvar::new(),
            most_threads,
            on_sealed: Box::new(on_sealed),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a thread seal the batch; the first come first.
    pub fn seal_soon(self: &Arc<Self>, body: Arc<BatchBody>) {
        let mut work = self.lock();
        work.waiting.push_back(body);
        if work.waiting.len() > work.idle && work.threads < self.most_threads {
            let sealer = Arc::clone(self);
            let thread = thread::Builder::new().name("barnabas-compress".to_owned());
            // Without it the others do the work, or whoever needs the batch.
            if thread.spawn(move || sealer.serve()).is_ok() {
                work.threads += 1;
            }
        }
        drop(work);
        self.arrived.notify_one();
    }

    fn serve(&self) {
        let mut work = self.lock();
        while !work.is_over {
            if let Some(body) = work.waiting.pop_front() {
                drop(work);
                body.seal();
                (self.on_sealed)();
                work = self.lock();
                continue;
            }
            work.idle += 1;
            work = self.arrived.wait(work).unwrap_or_else(PoisonError::into_inner);
            work.idle -= 1;
        }
    }

    /// Ends the threads. In the child of a fork there are none, and their lock may be held for ever.
    pub fn close(&self) {
        for _ in 0..CLOSING_TRIES {
            if let Ok(mut work) = self.work.try_lock() {
                work.is_over = true;
                drop(work);
                self.arrived.notify_all();
                return;
            }
            thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::{NO_HEADERS, NewRecord};
    use super::*;
    use crate::compression::Compression;

    fn body() -> Arc<BatchBody> {
        let mut builder = BatchBuilder::new(Compression::Lz4, None, 1000);
        let record = NewRecord::new(0, None, Some(b"value"), NO_HEADERS);
        assert!(builder.append(&record));
        BatchBody::new(builder)
    }

    #[test]
    fn a_batch_whose_compression_panics_says_so_to_all_who_want_it() {
        let body = body();
        let other = Arc::clone(&body);
        let waiting = thread::spawn(move || other.encode(&ProducerState::NONE).map(|_| ()));
        body.seal_with(|_| panic!("the codec is broken"));
        assert!(body.is_sealed());
        // Whichever of the two sealed it first.
        let reason = body.broken_because();
        let seen = waiting.join().unwrap();
        match reason {
            Some(reason) => assert_eq!(seen, Err(NoBytes::Broken(reason))),
            None => assert_eq!(seen, Ok(())),
        }
    }

    #[test]
    fn a_broken_batch_is_not_waited_for_by_later_ones() {
        let body = body();
        body.seal_with(|_| panic!("{} is broken", "the codec"));
        assert_eq!(body.broken_because().as_deref(), Some("the codec is broken"));
        let broken = NoBytes::Broken("the codec is broken".to_owned());
        assert_eq!(body.encode(&ProducerState::NONE).map(|_| ()), Err(broken));
        assert!(body.use_up().is_err());
    }
}

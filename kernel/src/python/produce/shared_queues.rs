//! The queues of a producer behind their lock, for many threads that append and one that sends.
//!
//! The lock is held for moments, never while Python code runs or while a thread waits for the interpreter lock:
//! threads that hold the interpreter lock may wait for it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

use crate::python::produce::producer_batch::ProducerBatch;
use crate::python::produce::queues::Queues;

#[derive(Default)]
pub struct SharedQueues {
    queues: Mutex<Queues>,
    /// Threads that wait for the lock.
    waiting: AtomicUsize,
}

impl SharedQueues {
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, Queues> {
        match self.queues.try_lock() {
            Ok(queues) => queues,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => {
                self.waiting.fetch_add(1, Ordering::Relaxed);
                let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                queues
            }
        }
    }

    /// Lets those go first that wait for the queues: who locks them again and again otherwise takes them before
    /// another thread has even been woken.
    pub fn give_way(&self) {
        /// Who waits may not get a processor any sooner.
        const MOST_TURNS: usize = 100;
        for _ in 0..MOST_TURNS {
            if self.waiting.load(Ordering::Relaxed) == 0 {
                return;
            }
            thread::yield_now();
        }
    }

    /// Gives the memory of a finished batch back to the buffer; a second time changes nothing.
    pub fn release(&self, batch: &ProducerBatch) {
        let (bytes, records) = batch.take_buffered();
        let mut queues = self.lock();
        queues.buffered_bytes = queues.buffered_bytes.saturating_sub(bytes);
        queues.buffered_records = queues.buffered_records.saturating_sub(records);
    }
}

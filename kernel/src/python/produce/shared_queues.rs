//! The queues of a producer behind their lock, for many threads that append and one that sends.
//!
//! The lock is held for moments, never while Python code runs or while a thread waits for the interpreter lock:
//! threads that hold the interpreter lock may wait for it.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::producing;
use crate::python::produce::producer_batch::{ProducerBatch, ProducerBatches};

pub type Queues = producing::Queues<ProducerBatches>;

/// The queues, with topics found by the objects of their names.
#[derive(Default)]
pub struct NamedQueues {
    queues: Queues,
    /// The name that was last looked for, as its caller has it, and the topic's place: it is mostly the same again.
    last_found: Option<(Py<PyString>, usize)>,
}

impl Deref for NamedQueues {
    type Target = Queues;

    #[inline(always)]
    fn deref(&self) -> &Queues {
        &self.queues
    }
}

impl DerefMut for NamedQueues {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Queues {
        &mut self.queues
    }
}

impl NamedQueues {
    /// As `index_of`, for a name whose text, `topic`, is only read if it is not the last one again.
    #[inline]
    pub fn index_of_object(&mut self, name: &Bound<'_, PyString>, topic: &str) -> Option<usize> {
        match &self.last_found {
            Some((last, index)) if last.is(name) => Some(*index),
            _ => self.find_object(name, topic),
        }
    }

    /// Forgets a topic's queues, if nothing waits there; whether nothing did.
    pub fn forget(&mut self, topic: &str) -> bool {
        self.last_found = None;
        self.queues.forget(topic)
    }

    #[cold]
    fn find_object(&mut self, name: &Bound<'_, PyString>, topic: &str) -> Option<usize> {
        let index = self.index_of(topic)?;
        // The end of a subclass's object may run Python code, and this lock is held then.
        if name.is_exact_instance_of::<PyString>() {
            self.last_found = Some((name.clone().unbind(), index));
        }
        Some(index)
    }
}

#[derive(Default)]
pub struct SharedQueues {
    queues: Mutex<NamedQueues>,
    /// Threads that wait for the lock.
    waiting: AtomicUsize,
}

impl SharedQueues {
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, NamedQueues> {
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

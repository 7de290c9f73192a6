//! The batches of a producer that are neither delivered nor failed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::python::produce::delivery::BatchOutcome;

/// So many may be noted in vain before those that nobody holds any more are looked for.
const MOST_DROPPED: usize = 64;

/// Notes each batch from its first record on, whoever holds it meanwhile: what has lost its way can be failed all the
/// same.
#[derive(Default)]
pub struct Undecided(Mutex<Noted>);

#[derive(Default)]
struct Noted {
    outcomes: Vec<Weak<BatchOutcome>>,
    /// Those that somebody held when this was looked at last.
    held: usize,
}

impl Undecided {
    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, outcome: &Arc<BatchOutcome>) {
        let mut noted = self.lock();
        if noted.outcomes.len() >= 2 * noted.held + MOST_DROPPED {
            // Without holding one of them: its end may run Python code, and the queues are locked.
            noted.outcomes.retain(|each| each.strong_count() > 0);
            noted.held = noted.outcomes.len();
        }
        noted.outcomes.push(Arc::downgrade(outcome));
    }

    /// Those that are undecided now, in the order in which they were begun.
    pub fn take(&self) -> Vec<Arc<BatchOutcome>> {
        let noted = std::mem::take(&mut *self.lock());
        noted.outcomes.iter().filter_map(Weak::upgrade).filter(|outcome| outcome.is_pending()).collect()
    }
}

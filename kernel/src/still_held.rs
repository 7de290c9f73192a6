//! Which of the things that were made somebody still holds.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// So many may be noted in vain before those that nobody holds any more are looked for.
const MOST_DROPPED: usize = 64;

/// Notes things from their making on, without holding them: what has lost its way is found all the same.
pub struct StillHeld<T>(Mutex<Noted<T>>);

struct Noted<T> {
    things: Vec<Weak<T>>,
    /// Those that somebody held when this was looked at last.
    held: usize,
}

impl<T> Default for StillHeld<T> {
    fn default() -> Self {
        Self(Mutex::new(Noted { things: Vec::new(), held: 0 }))
    }
}

impl<T> StillHeld<T> {
    fn lock(&self) -> MutexGuard<'_, Noted<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, thing: &Arc<T>) {
        let mut noted = self.lock();
        if noted.things.len() >= 2 * noted.held + MOST_DROPPED {
            // Without holding one of them: its end may run code that must not run under locks.
            noted.things.retain(|each| each.strong_count() > 0);
            noted.held = noted.things.len();
        }
        noted.things.push(Arc::downgrade(thing));
    }

    /// Forgets all, and gives those that somebody holds, in the order in which they were made.
    pub fn take(&self) -> Vec<Arc<T>> {
        let things = {
            let mut noted = self.lock();
            noted.held = 0;
            mem::take(&mut noted.things)
        };
        things.iter().filter_map(Weak::upgrade).collect()
    }
}

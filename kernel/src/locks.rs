//! Locks that a panic elsewhere does not spoil, and that need not be free after a fork.

use std::sync::{PoisonError, TryLockError};

use crate::sync::{Mutex, MutexGuard, thread};

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// For what happens when objects are dropped, also in the child of a fork: there are no threads there, and their
/// lock may be held for ever. It is to be one that is held for moments only.
pub fn lock_unless_forked<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    const TRIES: usize = 10_000;
    for _ in 0..TRIES {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(error)) => return Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => thread::yield_now(),
        }
    }
    None
}

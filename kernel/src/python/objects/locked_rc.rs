//! `LockedRc`: shared ownership that is counted under the interpreter lock. The atomic count of an `Arc` costs a
//! record as much as all of its fields.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::ops::Deref;
use std::ptr::NonNull;

use pyo3::Python;

struct Counted<T> {
    owners: Cell<usize>,
    value: T,
}

/// For what objects of Python share. It belongs into such objects only, which the interpreter frees under its lock, and
/// onto the stack of a thread that has that lock when it leaves: nothing else may drop it.
pub struct LockedRc<T>(NonNull<Counted<T>>);

// SAFETY: the count is only looked at and changed under the interpreter lock, which `new` and `clone_ref` ask for and
// `drop` has by the rule above; of the value there are shared references only, on any thread.
unsafe impl<T: Send + Sync> Send for LockedRc<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for LockedRc<T> {}

impl<T> LockedRc<T> {
    pub fn new(_py: Python<'_>, value: T) -> Self {
        Self(NonNull::from(Box::leak(Box::new(Counted { owners: Cell::new(1), value }))))
    }

    #[inline(always)]
    pub fn clone_ref(&self, _py: Python<'_>) -> Self {
        // SAFETY: it lives as long as it has an owner, which `self` is.
        let owners = unsafe { &self.0.as_ref().owners };
        owners.set(owners.get() + 1);
        Self(self.0)
    }
}

impl<T> Deref for LockedRc<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: as above.
        unsafe { &self.0.as_ref().value }
    }
}

impl<T> Drop for LockedRc<T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: as above.
        let owners = unsafe { &self.0.as_ref().owners };
        let left = owners.get() - 1;
        owners.set(left);
        if left == 0 {
            // SAFETY: this was the last owner, and it came out of a box.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

//! What threads share things by: the standard library's, or loom's where a model checker runs them.

#[cfg(not(feature = "models"))]
use std::any::Any;

#[cfg(feature = "models")]
pub use loom::sync::{Arc, Condvar, Mutex, MutexGuard, atomic};
#[cfg(feature = "models")]
pub use loom::thread;
#[cfg(not(feature = "models"))]
pub use std::sync::{Arc, Condvar, Mutex, MutexGuard, atomic};
#[cfg(not(feature = "models"))]
pub use std::thread;

/// Faults that a model is given on purpose, to see that its checker finds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Of an owner, who looks for what lingers before it has taken the loan back.
    #[cfg(feature = "models")]
    LooksTooSoon,
    /// The borrower goes on with what it has left to the owner.
    UsesWhatItLeft,
    /// A thread that ended counts as running.
    ThreadIsForgotten,
    /// What the borrower was to send is forgotten when the loan is taken back.
    OrderIsForgotten,
    /// What may not leave yet is left to nobody.
    RestIsForgotten,
    /// What came in bytes when the loan was taken back is dropped.
    BytesAreDropped,
    /// A thread that ends by a panic says nothing.
    PanicIsSilent,
    /// A signal is taken for seen before it is.
    SignalIsClearedFirst,
    /// Somebody is told of what came before it is there.
    ToldTooEarly,
    /// Who makes room does not look whether somebody waits for it.
    RoomIsNotTold,
    /// An item counts after the loan was let go, which it is of.
    CountsTooLate,
    /// Parts of what is published are read one after the other.
    SnapshotIsTorn,
}

#[cfg(not(feature = "models"))]
#[inline(always)]
pub const fn has(_fault: Fault) -> bool {
    false
}

/// To be called with what ended a thread, where that is no fault.
#[cfg(not(feature = "models"))]
pub fn caught(_panic: Box<dyn Any + Send>) {}

#[cfg(feature = "models")]
mod faults {
    use std::any::Any;
    use std::cell::Cell;
    use std::panic::resume_unwind;

    use super::Fault;

    /// What a model has a thread panic with.
    pub struct Planned;

    /// Only what was planned is no fault.
    pub fn caught(panic: Box<dyn Any + Send>) {
        if !panic.is::<Planned>() {
            resume_unwind(panic);
        }
    }

    thread_local! {
        /// All threads of a model are of one thread of the system.
        static PRESENT: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    pub fn has(fault: Fault) -> bool {
        PRESENT.get() == Some(fault)
    }

    pub fn give(fault: Fault) {
        PRESENT.set(Some(fault));
    }
}

#[cfg(feature = "models")]
pub use faults::{Planned, caught, give, has};

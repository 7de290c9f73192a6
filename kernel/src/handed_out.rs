//! `HandedOut`: how far one thread has come in handing out what it was lent, for other threads to read at any moment.
//!
//! The thread that holds the loan writes after each item, and may hold whatever locks it likes meanwhile; a reader
//! takes none. What is read is what one write wrote: never the offset of one loan under the number of another. A reader
//! that comes across a writer in the midst of its five stores tries again, a bounded number of times.

use crate::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, Ordering, fence};
use crate::sync::{Fault, has};

/// A write takes nanoseconds. A writer that was stopped within one is not waited for.
const READ_ATTEMPTS: usize = if cfg!(feature = "models") { 2 } else { 64 };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Which loan this is of, counted from 1.
    pub loan: u64,
    /// Items handed out of it.
    pub count: u64,
    /// Behind the last of them.
    pub next_offset: i64,
    /// Of the last of them, -1 if it is not known.
    pub leader_epoch: i32,
}

/// Of a loan that has just begun, but for its number, and of none.
pub const NOTHING: Progress = Progress { loan: 0, count: 0, next_offset: -1, leader_epoch: -1 };

/// A sequence lock: odd while something is written.
#[derive(Default)]
pub struct HandedOut {
    sequence: AtomicU64,
    loan: AtomicU64,
    count: AtomicU64,
    next_offset: AtomicI64,
    leader_epoch: AtomicI32,
}

impl HandedOut {
    /// For the holder of the loan alone: two threads that write at once would spoil each other's.
    pub fn publish(&self, progress: Progress) {
        let sequence = self.sequence.load(Ordering::Relaxed);
        self.sequence.store(sequence.wrapping_add(1), Ordering::Relaxed);
        // What follows is not seen before the odd number is.
        fence(Ordering::Release);
        self.loan.store(progress.loan, Ordering::Relaxed);
        self.count.store(progress.count, Ordering::Relaxed);
        self.next_offset.store(progress.next_offset, Ordering::Relaxed);
        self.leader_epoch.store(progress.leader_epoch, Ordering::Relaxed);
        self.sequence.store(sequence.wrapping_add(2), Ordering::Release);
    }

    /// The loan has ended: whoever held it knows how far it went. For its holder alone, too.
    pub fn end(&self) {
        self.publish(NOTHING);
    }

    /// None where nothing is lent, or nothing was handed out of it yet, or the writer is in the midst of writing.
    pub fn read(&self) -> Option<Progress> {
        (0..READ_ATTEMPTS).find_map(|_| self.try_read()).filter(|progress| progress.count > 0)
    }

    fn try_read(&self) -> Option<Progress> {
        let before = self.sequence.load(Ordering::Acquire);
        let progress = Progress {
            loan: self.loan.load(Ordering::Relaxed),
            count: self.count.load(Ordering::Relaxed),
            next_offset: self.next_offset.load(Ordering::Relaxed),
            leader_epoch: self.leader_epoch.load(Ordering::Relaxed),
        };
        // The number is not read again before the rest is.
        fence(Ordering::Acquire);
        let after = self.sequence.load(Ordering::Relaxed);
        let is_whole = before == after && before % 2 == 0;
        (is_whole || has(Fault::SnapshotIsTorn)).then_some(progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    #[test]
    fn nothing_is_told_before_the_first_item_and_after_the_end() {
        let handed_out = HandedOut::default();
        assert_eq!(handed_out.read(), None);
        handed_out.publish(Progress { loan: 1, count: 0, next_offset: -1, leader_epoch: -1 });
        assert_eq!(handed_out.read(), None);
        let progress = Progress { loan: 1, count: 1, next_offset: 8, leader_epoch: 2 };
        handed_out.publish(progress);
        assert_eq!(handed_out.read(), Some(progress));
        handed_out.end();
        assert_eq!(handed_out.read(), None);
    }

    #[test]
    fn what_is_read_was_written_at_once() {
        let handed_out = Arc::new(HandedOut::default());
        let is_over = Arc::new(AtomicBool::new(false));
        let reader = thread::spawn({
            let (handed_out, is_over) = (handed_out.clone(), is_over.clone());
            move || {
                let mut seen = 0;
                while !is_over.load(Ordering::Relaxed) {
                    if let Some(progress) = handed_out.read() {
                        let number = progress.loan as i64;
                        assert_eq!(
                            (progress.next_offset, progress.leader_epoch as i64),
                            (number * 10, number)
                        );
                        seen += 1;
                    }
                }
                seen
            }
        });
        for number in 1..200_000 {
            let (next_offset, leader_epoch) = (number * 10, number as i32);
            handed_out.publish(Progress { loan: number as u64, count: 1, next_offset, leader_epoch });
        }
        thread::sleep(std::time::Duration::from_millis(1));
        is_over.store(true, Ordering::Relaxed);
        assert!(reader.join().expect("the reader") > 0);
    }
}

//! Who reads how far a caller has come sees what one write wrote.

use crate::handed_out::{HandedOut, Progress};
use crate::models::checker::{explore, find};
use crate::sync::{Arc, thread};

fn progress(loan: u64, count: u64) -> Progress {
    Progress { loan, count, next_offset: (loan * 100 + count) as i64, leader_epoch: loan as i32 }
}

/// One thread hands an item of one loan out, and then one of another; the loop reads meanwhile.
fn hands_out() {
    let handed_out = Arc::new(HandedOut::default());
    handed_out.publish(progress(1, 1));
    let caller = {
        let handed_out = Arc::clone(&handed_out);
        thread::spawn(move || handed_out.publish(progress(2, 1)))
    };
    if let Some(seen) = handed_out.read() {
        assert_eq!(seen, progress(seen.loan, seen.count), "of one write");
    }
    caller.join().unwrap();
    assert_eq!(handed_out.read(), Some(progress(2, 1)));
}

#[test]
fn what_is_read_was_written_at_once() {
    explore(hands_out);
}

find! {
    a_torn_snapshot_is_found: SnapshotIsTorn in hands_out;
}

//! A caller takes items of what is lent, while the owner takes it back, and lends it again.

use std::convert::Infallible;
use std::ops::Range;

use crate::handed_out::Progress;
use crate::lending::Lending;
use crate::models::checker::{explore, find};
use crate::sync::{Arc, thread};

const LEADER_EPOCH: i32 = 7;

/// Its items are their offsets.
type Offsets = Lending<Range<i64>>;

fn next(lending: &Offsets) -> Option<i64> {
    let take = |offsets: &mut Range<i64>| {
        let item = offsets.next().map(|offset| (offset, offset, LEADER_EPOCH));
        Ok::<_, Infallible>(item)
    };
    lending.next(thread::yield_now, take).unwrap()
}

/// Takes a loan back that began at `first`; what is left of it.
fn take_back(lending: &Offsets, loan: u64, first: i64) -> Range<i64> {
    let (left, progress) = lending.take_back(thread::yield_now).unwrap();
    let count = left.start - first;
    let (next_offset, leader_epoch) = if count == 0 { (-1, -1) } else { (left.start, LEADER_EPOCH) };
    assert_eq!(progress, Progress { loan, count: count as u64, next_offset, leader_epoch });
    assert_eq!(lending.progress(), None);
    left
}

fn lends() {
    let lending = Arc::new(Offsets::default());
    let first = lending.lend(0..2, thread::yield_now);
    let caller = {
        let lending = Arc::clone(&lending);
        thread::spawn(move || [next(&lending), next(&lending)])
    };
    let left = take_back(&lending, first, 0);
    let begin = left.start;
    let second = lending.lend(left, thread::yield_now);
    let taken = caller.join().unwrap();
    let left = take_back(&lending, second, begin);
    assert_eq!(Vec::from_iter(taken.into_iter().flatten()), Vec::from_iter(0..left.start));
    assert_eq!(lending.handed_out() as i64, left.start);
}

#[test]
fn each_item_is_handed_out_once_and_counts_in_its_loan() {
    explore(lends);
}

find! {
    an_item_that_counts_too_late_is_found: CountsTooLate in lends;
}

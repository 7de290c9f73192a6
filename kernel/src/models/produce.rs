//! lend, send, answer, time out, take back, close; and a panic in each thread.

use std::collections::BTreeSet;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc as StdArc, Mutex as StdMutex};

use crate::loan::{Answer, Courier, Departure};
use crate::models::checker::{explore, find};
use crate::models::wire::{Orders, Sleeper, Wire};
use crate::producing::lent::Lent;
use crate::signal::Wake;
use crate::sync::{Arc, Fault, Planned, has, thread};

type Request = (u8, Vec<u8>);

/// What happens to a record; no thread is cut off while it looks at this.
#[derive(Default)]
struct Records {
    waiting: Vec<u8>,
    settled: Vec<u8>,
    next_request: u8,
    /// Of sending or settling, next time.
    panics_in: Option<&'static str>,
}

#[derive(Clone)]
struct Model {
    wire: Arc<Wire>,
    records: StdArc<StdMutex<Records>>,
    owner: Sleeper,
    answers: bool,
    /// A request has one record, as where each is of another partition.
    one_by_one: bool,
    max_in_flight: usize,
    /// The request that is answered by what is not for the borrower.
    foreign: u8,
    /// What comes while nobody may read.
    late: Option<u8>,
}

const FOREIGN: u8 = 255;

impl Courier for Model {
    type Request = Request;
    type Line = Arc<Wire>;

    fn line(&self) -> Option<Arc<Wire>> {
        Some(Arc::clone(&self.wire))
    }

    fn max_in_flight(&self) -> usize {
        self.max_in_flight
    }

    fn has_waiting(&self) -> bool {
        !self.records.lock().unwrap().waiting.is_empty()
    }

    fn send(&mut self) -> Departure<Request> {
        self.wire.assert_lent();
        self.panic_if("sending");
        let request = {
            let mut records = self.records.lock().unwrap();
            if records.waiting.is_empty() {
                return Departure::NothingWaits;
            }
            records.next_request += 1;
            let count = if self.one_by_one { 1 } else { records.waiting.len() };
            (records.next_request, records.waiting.drain(..count).collect())
        };
        if self.answers {
            self.wire.answer(if request.0 == self.foreign { FOREIGN } else { request.0 });
        }
        Departure::Sent(request)
    }

    fn receive(&mut self, received: &mut Vec<u8>) -> bool {
        self.wire.assert_lent();
        received.extend(self.wire.read());
        true
    }

    fn settle(&mut self, request: &Request, received: &[u8]) -> Answer {
        self.panic_if("settling");
        let Some(&answer) = received.first() else { return Answer::Partial };
        if answer == FOREIGN {
            return Answer::Foreign;
        }
        assert_eq!(answer, request.0, "another request's answer");
        self.records.lock().unwrap().settled.extend(&request.1);
        self.owner.nudge();
        Answer::Settled(1)
    }
}

impl Model {
    fn new(answers: bool) -> Self {
        Self {
            wire: Arc::default(),
            records: StdArc::default(),
            owner: Sleeper::default(),
            answers,
            one_by_one: false,
            max_in_flight: 2,
            foreign: 0,
            late: None,
        }
    }

    fn panic_if(&self, at: &str) {
        let mut records = self.records.lock().unwrap();
        if records.panics_in == Some(at) {
            records.panics_in = None;
            drop(records);
            resume_unwind(Box::new(Planned));
        }
    }

    fn lend(&self, lent: &Lent<Self, Orders, Sleeper>) {
        self.wire.set_lent(true);
        let orders = || -> io::Result<Orders> { Ok(Orders::new(&self.wire)) };
        lent.lend(self.clone(), orders).unwrap();
    }

    /// As a caller's thread.
    fn append(&self, lent: &Lent<Self, Orders, Sleeper>, record: u8) {
        self.records.lock().unwrap().waiting.push(record);
        let is_sent = catch_unwind(AssertUnwindSafe(|| lent.send(|_| true)));
        if !is_sent.unwrap_or(false) {
            self.owner.wake();
        }
    }

    /// As the owner, who sends what waits, and reads what comes from now on.
    fn take_back(&self, lent: &Lent<Self, Orders, Sleeper>) -> Option<Vec<u8>> {
        let (_, back) = lent.take_back()?;
        self.wire.set_lent(false);
        let mut answers = back.received;
        answers.extend(self.wire.read());
        let ids: Vec<u8> = back.under_way.iter().map(|request| request.0).collect();
        if self.answers {
            let is_foreign = |&id: &u8| if id == self.foreign { FOREIGN } else { id };
            let expected: Vec<u8> = ids.iter().map(is_foreign).chain(self.late).collect();
            assert_eq!(answers, expected, "each request that is under way has its answer");
        }
        Some(back.under_way.into_iter().flat_map(|request| request.1).collect())
    }

    fn assert_nothing_is_lost(&self, under_way: &[u8], count: u8) {
        let records = self.records.lock().unwrap();
        let all: Vec<u8> = [&records.waiting[..], &records.settled, under_way].concat();
        let each: BTreeSet<u8> = all.iter().copied().collect();
        assert_eq!((each.len(), all.len()), (count.into(), count.into()), "{all:?}");
    }
}

/// A caller's thread hands two records over while the owner takes the loan back.
fn takes_back(model: Model) {
    let lent = Arc::new(Lent::new(model.owner.clone()));
    model.lend(&lent);
    let caller = {
        let (model, lent) = (model.clone(), Arc::clone(&lent));
        thread::spawn(move || {
            model.append(&lent, 1);
            model.append(&lent, 2);
        })
    };
    let under_way = model.take_back(&lent).unwrap();
    caller.join().unwrap();
    model.assert_nothing_is_lost(&under_way, 2);
    if !model.records.lock().unwrap().waiting.is_empty() {
        assert!(model.owner.is_woken(), "somebody has to send what waits");
    }
    assert!(lent.end().is_none());
}

/// A caller's thread leaves a record to linger while the owner takes the loan back, who looks after it then.
fn lingers() {
    let model = Model::new(true);
    let lent = Arc::new(Lent::new(model.owner.clone()));
    model.lend(&lent);
    let caller = {
        let (model, lent) = (model.clone(), Arc::clone(&lent));
        thread::spawn(move || {
            model.records.lock().unwrap().waiting.push(1);
            if !lent.holds(|_| true) {
                model.owner.wake();
            }
        })
    };
    let waited = !model.records.lock().unwrap().waiting.is_empty();
    model.take_back(&lent).unwrap();
    if if has(Fault::LooksTooSoon) { waited } else { !model.records.lock().unwrap().waiting.is_empty() } {
        model.owner.wake();
    }
    caller.join().unwrap();
    assert!(model.owner.is_woken(), "somebody has to look after what lingers");
    lent.end();
}

/// Records are settled, or the owner hears of them, though nobody takes the loan back.
fn settles() {
    let model = Model::new(true);
    let lent = Arc::new(Lent::new(model.owner.clone()));
    model.lend(&lent);
    model.append(&lent, 1);
    model.append(&lent, 2);
    model.owner.wait(|| model.records.lock().unwrap().settled.len() == 2);
    model.assert_nothing_is_lost(&[], 2);
    assert_eq!(model.records.lock().unwrap().settled, [1, 2]);
    lent.end();
}

/// What lingered leaves at a flush, a request for each partition, although only one may be under way.
fn flushes() {
    let model = Model { one_by_one: true, max_in_flight: 1, ..Model::new(true) };
    let lent = Arc::new(Lent::new(model.owner.clone()));
    model.lend(&lent);
    for record in [1, 2] {
        model.records.lock().unwrap().waiting.push(record);
        assert!(lent.holds(|_| true));
    }
    assert!(lent.send(|_| true));
    model.owner.wait(|| model.records.lock().unwrap().settled.len() == 2);
    model.assert_nothing_is_lost(&[], 2);
    lent.end();
}

/// After a panic the owner has everything back, and the next loan goes on.
fn panics(place: &'static str) {
    let model = Model::new(true);
    model.records.lock().unwrap().panics_in = Some(place);
    let lent = Arc::new(Lent::new(model.owner.clone()));
    model.lend(&lent);
    model.append(&lent, 1);
    model.owner.wait(|| false);
    let under_way = model.take_back(&lent).unwrap();
    model.assert_nothing_is_lost(&under_way, 1);
    model.lend(&lent);
    model.append(&lent, 2);
    let count = under_way.len();
    model.owner.wait(|| model.records.lock().unwrap().settled.len() + count == 2);
    // The end of the thread may be told only now.
    let more = model.take_back(&lent).unwrap();
    model.assert_nothing_is_lost(&[under_way, more].concat(), 2);
    lent.end();
}

/// What is not for the borrower is the owner's to read, with what follows it.
fn leaves() {
    let model = Model { foreign: 1, late: Some(9), ..Model::new(true) };
    let lent = Arc::new(Lent::new(model.owner.clone()));
    model.lend(&lent);
    model.append(&lent, 1);
    model.append(&lent, 2);
    model.owner.wait(|| false);
    model.wire.answer(9);
    let under_way = model.take_back(&lent).unwrap();
    model.assert_nothing_is_lost(&under_way, 2);
    assert!(model.records.lock().unwrap().settled.is_empty());
    lent.end();
}

/// The thread is told to end while an answer comes, and nothing is lost that was under way.
fn closes() {
    let model = Model::new(true);
    let lent = Arc::new(Lent::new(model.owner.clone()));
    model.lend(&lent);
    model.append(&lent, 1);
    let given_up = lent.end().map(|(_, back)| back.under_way).unwrap();
    model.wire.set_lent(false);
    let under_way: Vec<u8> = given_up.into_iter().flat_map(|request| request.1).collect();
    model.assert_nothing_is_lost(&under_way, 1);
}

#[test]
fn nothing_is_lost_when_the_loan_is_taken_back() {
    explore(|| takes_back(Model::new(true)));
}

#[test]
fn nothing_is_lost_when_no_answer_comes() {
    explore(|| takes_back(Model::new(false)));
}

#[test]
fn nothing_is_lost_of_several_partitions_when_the_loan_is_taken_back() {
    explore(|| takes_back(Model { one_by_one: true, max_in_flight: 1, ..Model::new(true) }));
    explore(|| takes_back(Model { one_by_one: true, ..Model::new(true) }));
}

#[test]
fn what_lingers_is_looked_after() {
    explore(lingers);
}

#[test]
fn every_record_is_settled() {
    explore(settles);
}

#[test]
fn what_may_not_leave_at_once_leaves_with_the_answers() {
    explore(flushes);
}

#[test]
fn a_panic_in_either_thread_leaves_all_to_the_owner_and_the_next_loan_goes_on() {
    explore(|| panics("sending"));
    explore(|| panics("settling"));
}

#[test]
fn what_is_not_for_the_borrower_is_left_to_the_owner() {
    explore(leaves);
}

#[test]
fn nothing_is_lost_at_the_end() {
    explore(closes);
}

find! {
    what_was_left_and_is_used_is_found: UsesWhatItLeft in leaves;
    bytes_that_are_dropped_are_found: BytesAreDropped in leaves;
    an_order_that_is_forgotten_is_found: OrderIsForgotten in || takes_back(Model::new(false));
    a_rest_that_is_forgotten_is_found: RestIsForgotten in flushes;
    what_lingers_and_is_looked_for_too_soon_is_found: LooksTooSoon in lingers;
    a_signal_that_is_lost_is_found: SignalIsClearedFirst in settles;
    a_thread_that_ended_and_counts_as_running_is_found: ThreadIsForgotten in || panics("settling");
    a_silent_end_of_the_answering_thread_is_found: PanicIsSilent in || panics("settling");
}

//! A loan: who may use a connection at present, what is under way on it, and how that ends. Knows neither sockets, nor
//! threads, nor what is sent.
//!
//! An owner, the step loop, lends its connection to a borrower, who goes on in its place, and takes it back. What the
//! borrower does not understand, it leaves: then nobody uses the connection until the owner has taken it back, with the
//! requests that are under way and what was received and not dealt with, as if it had sent and received them itself.

use std::collections::VecDeque;

/// Who may use the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Its owner.
    #[default]
    Home,
    /// The borrower.
    Lent,
    /// Nobody: the borrower is through with it.
    Left,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The owner's.
    Lend,
    /// The borrower's: a request left, whole.
    Send,
    /// The borrower's: bytes came.
    Receive,
    /// The borrower's: the oldest request was answered.
    Settle,
    /// The borrower's: there is something that is not for it, or it ends.
    Leave,
    /// The owner's.
    TakeBack,
}

impl State {
    /// None where this must not happen.
    pub const fn after(self, step: Step) -> Option<Self> {
        match (self, step) {
            (Self::Home, Step::Lend) => Some(Self::Lent),
            (Self::Lent, Step::Send | Step::Receive | Step::Settle) => Some(Self::Lent),
            (Self::Lent | Self::Left, Step::Leave) => Some(Self::Left),
            (Self::Lent | Self::Left, Step::TakeBack) => Some(Self::Home),
            _ => None,
        }
    }
}

/// What the owner has back.
#[derive(Debug, PartialEq, Eq)]
pub struct Back<R> {
    /// Requests that were sent and not settled, the oldest first.
    pub under_way: VecDeque<R>,
    /// What came of their answers.
    pub received: Vec<u8>,
}

/// What came of sending the next request.
pub enum Departure<R> {
    Sent(R),
    /// Nothing can follow it.
    SentInPart(R),
    NothingWaits,
    /// What waits is for the owner.
    Refused,
}

/// What the beginning of the bytes that were received means to the oldest request.
pub enum Answer {
    /// Settled, by so many bytes.
    Settled(usize),
    /// More is to come.
    Partial,
    /// It is for the owner.
    Foreign,
}

/// Who writes and reads on a connection for a borrower, only while it is lent.
pub trait Courier: Send + 'static {
    type Request: Send;
    /// What is waited for, without the lock.
    type Line: Clone;

    /// None where answers are the owner's to read.
    fn line(&self) -> Option<Self::Line>;
    /// So many requests may be under way at once.
    fn max_in_flight(&self) -> usize;
    /// Whether there may be something to send.
    fn has_waiting(&self) -> bool {
        true
    }
    /// Sends the next request.
    fn send(&mut self) -> Departure<Self::Request>;
    /// Puts what has come behind `received`; whether the connection goes on.
    fn receive(&mut self, received: &mut Vec<u8>) -> bool;
    fn settle(&mut self, request: &Self::Request, received: &[u8]) -> Answer;
}

/// `R`: a request under way. To be kept behind the lock that every use of the connection holds; or the borrower has
/// left before it is taken back.
#[derive(Debug)]
pub struct Loan<R> {
    state: State,
    under_way: VecDeque<R>,
    received: Vec<u8>,
}

impl<R> Default for Loan<R> {
    fn default() -> Self {
        Self { state: State::Home, under_way: VecDeque::new(), received: Vec::new() }
    }
}

impl<R> Loan<R> {
    pub fn lend(&mut self, under_way: impl IntoIterator<Item = R>) {
        self.step(Step::Lend);
        self.under_way.extend(under_way);
    }

    pub fn is_lent(&self) -> bool {
        self.state == State::Lent
    }

    pub fn is_left(&self) -> bool {
        self.state == State::Left
    }

    pub fn under_way(&self) -> &VecDeque<R> {
        &self.under_way
    }

    pub fn send(&mut self, request: R) {
        self.step(Step::Send);
        self.under_way.push_back(request);
    }

    /// Where to put what comes.
    pub fn receive(&mut self) -> &mut Vec<u8> {
        self.step(Step::Receive);
        &mut self.received
    }

    /// The oldest request was answered by the first so many bytes of what came.
    pub fn settle(&mut self, bytes: usize) -> Option<R> {
        self.step(Step::Settle);
        self.received.drain(..bytes);
        self.under_way.pop_front()
    }

    pub fn leave(&mut self) {
        self.step(Step::Leave);
    }

    /// Whether the next request has left, or nothing waits. What left in part is for the owner, too.
    pub fn send_by(&mut self, courier: &mut impl Courier<Request = R>) -> bool {
        match courier.send() {
            Departure::Sent(request) => {
                self.send(request);
                true
            }
            Departure::SentInPart(request) => {
                self.send(request);
                self.leave();
                false
            }
            Departure::NothingWaits => true,
            Departure::Refused => false,
        }
    }

    /// Takes in what has come, and leaves where any of it is for the owner.
    pub fn take_in(&mut self, courier: &mut impl Courier<Request = R>) {
        let mut goes_on = courier.receive(self.receive());
        while goes_on {
            let Some(request) = self.under_way.front() else {
                goes_on = self.received.is_empty();
                break;
            };
            match courier.settle(request, &self.received) {
                Answer::Settled(bytes) => drop(self.settle(bytes)),
                Answer::Partial => break,
                Answer::Foreign => goes_on = false,
            }
        }
        if !goes_on {
            self.leave();
        }
    }

    /// None where the owner has it already.
    pub fn take_back(&mut self) -> Option<Back<R>> {
        self.state = self.state.after(Step::TakeBack)?;
        let (under_way, received) = (std::mem::take(&mut self.under_way), std::mem::take(&mut self.received));
        Some(Back { under_way, received })
    }

    fn step(&mut self, step: Step) {
        let Some(state) = self.state.after(step) else {
            panic!("{step:?} of a connection that is {:?}", self.state)
        };
        self.state = state;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [State; 3] = [State::Home, State::Lent, State::Left];

    #[test]
    fn only_the_owner_lends_and_only_the_borrower_uses_what_is_lent() {
        // Home, lent, left.
        let table = [
            (Step::Lend, [Some(State::Lent), None, None]),
            (Step::Send, [None, Some(State::Lent), None]),
            (Step::Receive, [None, Some(State::Lent), None]),
            (Step::Settle, [None, Some(State::Lent), None]),
            (Step::Leave, [None, Some(State::Left), Some(State::Left)]),
            (Step::TakeBack, [None, Some(State::Home), Some(State::Home)]),
        ];
        for (step, after) in table {
            assert_eq!(STATES.map(|state| state.after(step)), after, "{step:?}");
        }
    }

    #[test]
    fn the_owner_has_back_what_was_not_settled() {
        let mut loan = Loan::default();
        loan.lend(["first"]);
        loan.send("second");
        loan.receive().extend(b"answerpart");
        assert_eq!(loan.settle(6), Some("first"));
        loan.leave();
        let back = Back { under_way: ["second"].into(), received: b"part".to_vec() };
        assert_eq!(loan.take_back(), Some(back));
        assert_eq!(loan.take_back(), None);
    }

    #[test]
    #[should_panic(expected = "Send of a connection that is Left")]
    fn nothing_is_sent_on_what_was_left() {
        let mut loan = Loan::default();
        loan.lend([]);
        loan.leave();
        loan.send(());
    }
}

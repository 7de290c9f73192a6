//! A wire in a socket's place, which notices who uses it out of turn.

use crate::locks::lock;
use crate::signal::{Flag, Signal, Wait, Wake};
use crate::sync::{Arc, Condvar, Mutex};

#[derive(Default)]
struct State {
    to_read: Vec<u8>,
    is_raised: bool,
    is_lent: bool,
}

#[derive(Default)]
pub struct Wire {
    state: Mutex<State>,
    changed: Condvar,
}

impl Wire {
    pub fn set_lent(&self, is_lent: bool) {
        lock(&self.state).is_lent = is_lent;
    }

    /// The broker's end.
    pub fn answer(&self, byte: u8) {
        lock(&self.state).to_read.push(byte);
        self.changed.notify_all();
    }

    pub fn assert_lent(&self) {
        assert!(lock(&self.state).is_lent, "the owner has it");
    }

    pub fn read(&self) -> Vec<u8> {
        std::mem::take(&mut lock(&self.state).to_read)
    }
}

/// Waits for orders and the wire alike.
pub struct Orders(Signal<Raised>);

pub struct Raised(Arc<Wire>);

impl Orders {
    pub fn new(wire: &Arc<Wire>) -> Self {
        Self(Signal::of(Raised(Arc::clone(wire))))
    }
}

impl Flag for Raised {
    fn raise(&self) {
        lock(&self.0.state).is_raised = true;
        self.0.changed.notify_all();
    }

    fn reset(&self) {
        lock(&self.0.state).is_raised = false;
    }
}

impl Wake for Orders {
    fn wake(&self) {
        self.0.wake();
    }
}

impl Wait<Arc<Wire>> for Orders {
    fn wait(&self, line: Option<&Arc<Wire>>) -> std::io::Result<bool> {
        let wire = &self.0.flag().0;
        let (is_raised, is_readable) = {
            let mut state = lock(&wire.state);
            loop {
                let is_readable = line.is_some() && !state.to_read.is_empty();
                if state.is_raised || is_readable {
                    break (state.is_raised, is_readable);
                }
                state = wire.changed.wait(state).unwrap();
            }
        };
        if is_raised {
            self.0.clear();
        }
        Ok(is_readable)
    }
}

/// Somebody who is woken, and who waits for what may become true otherwise, too.
#[derive(Clone, Default)]
pub struct Sleeper(Arc<(Mutex<bool>, Condvar)>);

impl Sleeper {
    pub fn is_woken(&self) -> bool {
        *lock(&self.0.0)
    }

    /// Of something else that is to be looked at.
    pub fn nudge(&self) {
        drop(lock(&self.0.0));
        self.0.1.notify_all();
    }

    /// Until it is woken, or `is_done`. Forgets that it was woken.
    pub fn wait(&self, is_done: impl Fn() -> bool) {
        let mut is_woken = lock(&self.0.0);
        while !*is_woken && !is_done() {
            is_woken = self.0.1.wait(is_woken).unwrap();
        }
        *is_woken = false;
    }
}

impl Wake for Sleeper {
    fn wake(&self) {
        *lock(&self.0.0) = true;
        self.0.1.notify_all();
    }
}

//! What is done with sockets that belong to the event loop, by those that they are lent to.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

/// How long a socket may take to accept a request, which is smaller than its buffer.
const SEND_SECONDS: i64 = 1;

pub fn duplicate(descriptor: i32) -> io::Result<OwnedFd> {
    // SAFETY: whoever lends the descriptor holds it open meanwhile.
    #[allow(unsafe_code)]
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    borrowed.try_clone_to_owned()
}

/// False where a request may have left in part only.
pub fn send_all(socket: &OwnedFd, request: &[u8]) -> bool {
    let mut rest = request;
    while !rest.is_empty() {
        match send(socket, rest, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(count) => rest = &rest[count..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let timeout = Timespec { tv_sec: SEND_SECONDS, tv_nsec: 0 };
                if let Ok(0) = poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&timeout)) {
                    return false;
                }
            }
            Err(_) => return false,
        }
    }
    true
}

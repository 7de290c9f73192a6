//! What is done with sockets that belong to the event loop, by those that they are lent to.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::python::os::waker::Signal;

/// How long a socket may take to accept a request, which is smaller than its buffer.
const SEND_SECONDS: i64 = 1;

pub fn duplicate(descriptor: i32) -> io::Result<OwnedFd> {
    // SAFETY: whoever lends the descriptor holds it open meanwhile.
    #[allow(unsafe_code)]
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    borrowed.try_clone_to_owned()
}

/// Until there is something to read on the socket, or the signal is woken, which is cleared then. Whether there is
/// something to read.
pub fn wait_for_either(signal: &Signal, socket: Option<&OwnedFd>) -> io::Result<bool> {
    let descriptors = [signal.descriptor(), socket.map_or(signal.descriptor(), AsFd::as_fd)];
    let mut polled = descriptors.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
    let count = if socket.is_some() { 2 } else { 1 };
    match poll(&mut polled[..count], None) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    if !polled[0].revents().is_empty() {
        signal.clear();
    }
    Ok(socket.is_some() && !polled[1].revents().is_empty())
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

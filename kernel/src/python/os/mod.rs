//! Sockets, and the waking of threads.

#[cfg(unix)]
pub mod sockets;
#[cfg(unix)]
pub mod waker;

//! Sockets, and the waking of threads.

#[cfg(target_os = "linux")]
pub mod acknowledging;
#[cfg(unix)]
pub mod sockets;
#[cfg(unix)]
pub mod waker;

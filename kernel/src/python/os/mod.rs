//! Sockets, the waking of threads, and the time.

#[cfg(target_os = "linux")]
pub mod acknowledging;
#[cfg(unix)]
pub mod sockets;
pub mod time;
#[cfg(unix)]
pub mod waker;

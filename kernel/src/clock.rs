//! The time as records and batches have it.

use std::time::{SystemTime, UNIX_EPOCH};

/// In milliseconds since 1970.
pub fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// Milliseconds of a clock that only goes forward. For what is asked with each record: a few of them late on Linux,
/// which tells the time of its last tick at a fifth of the price.
#[cfg(target_os = "linux")]
pub fn rough_monotonic_ms() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    time.tv_sec as f64 * 1000.0 + time.tv_nsec as f64 / 1_000_000.0
}

#[cfg(not(target_os = "linux"))]
pub fn rough_monotonic_ms() -> f64 {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed().as_secs_f64() * 1000.0
}

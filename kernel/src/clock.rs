//! The time as records and batches have it: the machine's, or the one that is set.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Whether the time is the one that is set.
static IS_SET: AtomicBool = AtomicBool::new(false);
static NOW_MS: AtomicI64 = AtomicI64::new(0);
/// The bits of an f64.
static MONOTONIC_MS: AtomicU64 = AtomicU64::new(0);

/// From now on it is this time, until another is set, or None: the machine's. For one thread that does all the work,
/// as in a test: others may see the one value and not yet the other.
pub fn set_time(time: Option<(i64, f64)>) {
    if let Some((now_ms, monotonic_ms)) = time {
        NOW_MS.store(now_ms, Ordering::Relaxed);
        MONOTONIC_MS.store(monotonic_ms.to_bits(), Ordering::Relaxed);
    }
    IS_SET.store(time.is_some(), Ordering::Relaxed);
}

/// In milliseconds since 1970.
pub fn now_ms() -> i64 {
    if IS_SET.load(Ordering::Relaxed) {
        return NOW_MS.load(Ordering::Relaxed);
    }
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// The monotonic time that is set, in milliseconds.
pub fn set_monotonic_ms() -> Option<f64> {
    IS_SET.load(Ordering::Relaxed).then(|| f64::from_bits(MONOTONIC_MS.load(Ordering::Relaxed)))
}

/// Milliseconds of a clock that only goes forward. For what is asked with each record: a few of them late on Linux,
/// which tells the time of its last tick at a fifth of the price.
pub fn rough_monotonic_ms() -> f64 {
    set_monotonic_ms().unwrap_or_else(machine_rough_monotonic_ms)
}

#[cfg(target_os = "linux")]
fn machine_rough_monotonic_ms() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    time.tv_sec as f64 * 1000.0 + time.tv_nsec as f64 / 1_000_000.0
}

#[cfg(not(target_os = "linux"))]
fn machine_rough_monotonic_ms() -> f64 {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed().as_secs_f64() * 1000.0
}

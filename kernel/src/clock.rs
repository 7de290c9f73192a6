//! The time as records and batches have it.

use std::time::{SystemTime, UNIX_EPOCH};

/// In milliseconds since 1970.
pub fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

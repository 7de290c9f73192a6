//! The time that the kernel goes by.

use pyo3::prelude::*;

use crate::clock;

/// From now on records and batches have this time; None: the machine's again.
#[pyfunction]
#[pyo3(signature = (now_ms, monotonic_ms))]
pub fn set_time(now_ms: Option<i64>, monotonic_ms: Option<f64>) {
    clock::set_time(now_ms.zip(monotonic_ms));
}

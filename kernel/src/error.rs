//! What is wrong with bytes that cannot be read. Owns no knowledge of topics: those are the caller's.

use std::borrow::Cow;
use std::fmt;

/// Why some bytes cannot be read, in words for the user.
pub type Reason = Cow<'static, str>;

const TOO_LARGE: &str = "the batch decompresses to more than the limit of";

/// Whether `too_large` said so.
pub fn is_too_large(reason: &Reason) -> bool {
    reason.starts_with(TOO_LARGE)
}

#[cold]
pub fn too_large(limit: usize) -> Reason {
    format!("{TOO_LARGE} {limit} bytes (a consumer takes twice fetch_max_bytes, 100 MiB at least)").into()
}

/// A batch that cannot be read, with the offset that it claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorruptBatch {
    pub reason: Reason,
    pub offset: i64,
}

impl CorruptBatch {
    pub fn new(offset: i64, reason: impl Into<Reason>) -> Self {
        Self { reason: reason.into(), offset }
    }
}

impl fmt::Display for CorruptBatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "batch at offset {}: {}", self.offset, self.reason)
    }
}

impl std::error::Error for CorruptBatch {}

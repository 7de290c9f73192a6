//! What readers of batches are told.

/// What of a batch is checked, and how large its records may become.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub check_crcs: bool,
    pub max_decompressed_bytes: usize,
}

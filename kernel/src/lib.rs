//! The native part of Barnabas: whatever costs per record or per byte.
//!
//! The modules beside `python` know nothing of Python and hold the formats; `python` holds the classes and
//! functions that `barnabas/_kernel/` describes.

pub mod arrow;
pub mod checksums;
pub mod clock;
pub mod compaction;
pub mod compression;
pub mod error;
pub mod fetch_room;
pub mod fetching;
pub mod formats;
pub mod frame_bytes;
pub mod frame_memory;
pub mod handed_out;
pub mod lending;
pub mod loan;
pub mod locks;
pub mod memory;
pub mod name_pattern;
pub mod partitioner;
pub mod producing;
pub mod records;
pub mod shared_bytes;
pub mod signal;
pub mod spare_memory;
pub mod still_held;
mod sync;

#[cfg(all(test, feature = "models"))]
mod models;
#[cfg(feature = "python")]
mod python;

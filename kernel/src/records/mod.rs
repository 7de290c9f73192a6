//! Kafka's record batches: magic 2, and the message sets of magic 0 and 1 that came before.

mod aborted;
mod ahead;
mod batch;
mod builder;
mod conversion;
mod cursor;
mod header;
mod legacy;
mod limits;
mod looking;
mod record;
mod scan;
mod sealing;
mod varint;

pub use ahead::{Ahead, BatchOpeners, Work};
pub use batch::{Batch, BatchFrame, frames, open_payload};
pub use builder::{
    BatchBuilder, NO_HEADERS, NewRecord, ProducerState, SealedBatch, encode_headers, finish_batch,
};
pub use conversion::{convert_to_current, convert_to_old};
pub use cursor::{CurrentBatch, CursorOptions, Portion, RecordCursor, RecordTaker};
pub use header::{BatchHeader, HEADER_BYTES};
pub use limits::Limits;
pub use record::{HeaderIter, RecordDecoder, RecordSlices, Span};
pub use scan::{
    BatchSummary, RecordPosition, find_first_at_or_after, find_max_timestamp, scan_batches, stamp_batches,
    with_max_timestamp,
};
pub use sealing::{BatchBody, NoBytes, Sealer};
pub use varint::{read_varint, read_varlong, write_varint, write_varlong};

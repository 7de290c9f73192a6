//! A batch while it takes records, and once it takes no more.

use std::sync::Arc;

use crate::records::{BatchBody, BatchBuilder, NewRecord};

/// Whose batches these are: what is kept with topics and batches, and means nothing here.
pub trait Owner {
    /// A topic, as whoever sends knows it.
    type Topic: AsRef<str>;
    /// Where it is noted what becomes of a batch.
    type Outcome;
    /// A batch that was taken from its queue, and may be put back.
    type Taken;

    fn outcome(topic: &Arc<Self::Topic>, partition: i32) -> Arc<Self::Outcome>;

    /// Of a batch that was taken.
    fn first_record_number(taken: &Self::Taken) -> u64;
}

/// A batch that takes records.
pub struct OpenBatch<Outcome> {
    pub outcome: Arc<Outcome>,
    pub builder: BatchBuilder,
    /// How many records of its partition came before the first of this batch: batches keep that order.
    pub first_record_number: u64,
    pub created_ms: f64,
    /// What it takes of the buffer's memory.
    pub buffered_bytes: usize,
    pub is_full: bool,
}

impl<Outcome> OpenBatch<Outcome> {
    /// Whether to compress it takes less time than to have another thread do that.
    pub fn is_small(&self) -> bool {
        const MOST_BYTES: usize = 4096;
        self.builder.size() <= MOST_BYTES
    }

    /// Bytes that the batch grew by; None if the record does not fit: then the batch is full.
    #[inline]
    pub fn append(&mut self, batch_size: usize, max_records: u32, record: &NewRecord<'_>) -> Option<usize> {
        let before = self.buffered_bytes;
        let has_room = self.builder.append(record);
        self.is_full = !has_room
            || self.builder.size() >= batch_size
            || self.builder.record_count() >= max_records as usize;
        if !has_room {
            return None;
        }
        self.buffered_bytes = self.builder.size();
        Some(self.buffered_bytes - before)
    }
}

/// A batch that takes no more.
pub struct ClosedBatch<Outcome> {
    pub outcome: Arc<Outcome>,
    pub body: Arc<BatchBody>,
    pub first_record_number: u64,
    pub record_count: usize,
    pub created_ms: f64,
    pub size: usize,
    pub buffered_bytes: usize,
}

impl<Outcome> From<OpenBatch<Outcome>> for ClosedBatch<Outcome> {
    fn from(batch: OpenBatch<Outcome>) -> Self {
        Self {
            outcome: batch.outcome,
            first_record_number: batch.first_record_number,
            record_count: batch.builder.record_count(),
            created_ms: batch.created_ms,
            size: batch.builder.size(),
            buffered_bytes: batch.buffered_bytes,
            body: BatchBody::new(batch.builder),
        }
    }
}

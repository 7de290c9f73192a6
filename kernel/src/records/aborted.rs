//! Which batches belong to aborted transactions (KIP-98), from the list in a fetch response.

use std::collections::{HashSet, VecDeque};

use super::header::BatchHeader;
use super::record::RecordDecoder;

/// Type of a control record that ends a transaction by aborting it.
const ABORT: i16 = 0;

#[derive(Debug)]
pub struct AbortedTransactions {
    /// (first offset, producer id), those not reached yet, by first offset.
    ahead: VecDeque<(i64, i64)>,
    producer_ids: HashSet<i64>,
}

impl AbortedTransactions {
    /// From pairs of producer id and first offset, in any order.
    pub fn new(transactions: &[(i64, i64)]) -> Self {
        let mut ahead: Vec<_> = transactions.iter().map(|&(id, first_offset)| (first_offset, id)).collect();
        ahead.sort_unstable();
        Self { ahead: ahead.into(), producer_ids: HashSet::new() }
    }

    /// Whether no batch from here on can belong to one.
    pub fn is_over(&self) -> bool {
        self.ahead.is_empty() && self.producer_ids.is_empty()
    }

    /// Moves on to this batch and says whether its records are aborted. `payload` is only looked at for
    /// control batches.
    pub fn is_aborted(&mut self, header: &BatchHeader, payload: &[u8]) -> bool {
        while let Some(&(_, producer_id)) =
            self.ahead.front().filter(|(first_offset, _)| *first_offset <= header.last_offset())
        {
            self.producer_ids.insert(producer_id);
            self.ahead.pop_front();
        }
        if header.is_control() {
            if is_abort_marker(header, payload) {
                self.producer_ids.remove(&header.producer_id);
            }
            return false;
        }
        header.is_transactional() && self.producer_ids.contains(&header.producer_id)
    }
}

/// A control record's key is its version and its type, each an int16.
fn is_abort_marker(header: &BatchHeader, payload: &[u8]) -> bool {
    let Ok(Some(record)) = RecordDecoder::new(header).next(payload) else { return false };
    let key = record.key.map_or(&[][..], |key| key.of(payload));
    key.len() >= 4 && i16::from_be_bytes([key[2], key[3]]) == ABORT
}

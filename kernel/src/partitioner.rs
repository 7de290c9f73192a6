//! Which partition a record's key belongs to. Knows hashes, not topics.

use crate::checksums::{crc32, fnv1a, murmur2};

/// A partitioner by the name that Java or librdkafka gives it.
///
/// Source: librdkafka's CONFIGURATION.md for `partitioner`; KIP-480 and KIP-794 for the sticky choice, which
/// stands wherever no key decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partitioner {
    /// Java's default: murmur2 of the key; no key: sticky. The same as librdkafka's `murmur2_random`.
    Murmur2,
    /// CRC-32 of the key; empty and missing keys go to one partition.
    Consistent,
    /// CRC-32 of the key; empty and missing keys: sticky.
    ConsistentRandom,
    /// FNV-1a of the key; missing keys go to one partition.
    Fnv1a,
    /// FNV-1a of the key; missing keys: sticky.
    Fnv1aRandom,
}

impl Partitioner {
    pub const NAMES: &str = "murmur2, murmur2_random, consistent, consistent_random, fnv1a, fnv1a_random";

    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "murmur2" | "murmur2_random" => Self::Murmur2,
            "consistent" => Self::Consistent,
            "consistent_random" => Self::ConsistentRandom,
            "fnv1a" => Self::Fnv1a,
            "fnv1a_random" => Self::Fnv1aRandom,
            _ => return None,
        })
    }

    /// The partition for `key`, or None where the choice is free (sticky).
    pub fn partition(self, key: Option<&[u8]>, partition_count: u32) -> Option<u32> {
        let hash = match (self, key) {
            (Self::Murmur2, Some(key)) => (murmur2(key) & 0x7fff_ffff) as u32,
            (Self::Murmur2 | Self::Fnv1aRandom, None) => return None,
            (Self::ConsistentRandom, None | Some([])) => return None,
            (Self::Consistent | Self::ConsistentRandom, key) => crc32(key.unwrap_or_default()),
            // librdkafka takes the absolute value, as Sarama does.
            (Self::Fnv1a | Self::Fnv1aRandom, key) => (fnv1a(key.unwrap_or_default()) as i32).unsigned_abs(),
        };
        Some(hash % partition_count)
    }
}

/// A free choice among partitions that stays with one until a batch's worth of bytes went there (KIP-794).
#[derive(Debug)]
pub struct StickyChoice {
    random_state: u64,
    partition: Option<u32>,
    bytes_in_partition: usize,
}

impl StickyChoice {
    pub fn new(seed: u64) -> Self {
        Self { random_state: seed | 1, partition: None, bytes_in_partition: 0 }
    }

    pub fn partition(&mut self, partition_count: u32) -> u32 {
        match self.partition {
            Some(partition) if partition < partition_count => partition,
            _ => {
                let partition = (self.next_random() % u64::from(partition_count)) as u32;
                self.partition = Some(partition);
                partition
            }
        }
    }

    /// Counts bytes put into the present partition, and gives it up after `batch_size` of them.
    pub fn count_bytes(&mut self, bytes: usize, batch_size: usize) {
        self.bytes_in_partition += bytes;
        if self.bytes_in_partition >= batch_size {
            self.bytes_in_partition = 0;
            self.partition = None;
        }
    }

    /// xorshift64*: even enough, and needs no dependency.
    fn next_random(&mut self) -> u64 {
        self.random_state ^= self.random_state >> 12;
        self.random_state ^= self.random_state << 25;
        self.random_state ^= self.random_state >> 27;
        self.random_state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_hashes_an_empty_key_but_not_a_missing_one() {
        assert_eq!(Partitioner::Murmur2.partition(Some(b""), 7), Some(275_646_681 % 7));
        assert_eq!(Partitioner::Murmur2.partition(None, 7), None);
    }

    #[test]
    fn consistent_sends_empty_and_missing_keys_to_one_partition() {
        assert_eq!(Partitioner::Consistent.partition(Some(b""), 7), Some(0));
        assert_eq!(Partitioner::Consistent.partition(None, 7), Some(0));
        assert_eq!(Partitioner::ConsistentRandom.partition(Some(b""), 7), None);
        assert_eq!(Partitioner::ConsistentRandom.partition(Some(b"a"), 7), Some(crc32(b"a") % 7));
    }

    #[test]
    fn a_free_choice_stays_until_a_batch_is_full_and_reaches_every_partition() {
        let mut choice = StickyChoice::new(42);
        let mut seen = [false; 5];
        for _ in 0..200 {
            let partition = choice.partition(5);
            choice.count_bytes(60, 100);
            assert_eq!(choice.partition(5), partition);
            choice.count_bytes(60, 100);
            seen[partition as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
    }
}

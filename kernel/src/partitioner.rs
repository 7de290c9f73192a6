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
    /// librdkafka's `murmur2`: missing keys go to one partition, that of empty ones.
    Murmur2Consistent,
    /// Sticky, whatever the key.
    Random,
    /// FNV-1a of the key; missing keys go to one partition.
    Fnv1a,
    /// FNV-1a of the key; missing keys: sticky.
    Fnv1aRandom,
}

impl Partitioner {
    pub const NAMES: &str = "murmur2, murmur2_random, murmur2_consistent, consistent, consistent_random, fnv1a, \
        fnv1a_random, random";

    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "murmur2" | "murmur2_random" => Self::Murmur2,
            "murmur2_consistent" => Self::Murmur2Consistent,
            "random" => Self::Random,
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
            (Self::Murmur2 | Self::Fnv1aRandom, None) | (Self::Random, _) => return None,
            (Self::Murmur2Consistent, key) => (murmur2(key.unwrap_or_default()) & 0x7fff_ffff) as u32,
            (Self::ConsistentRandom, None | Some([])) => return None,
            (Self::Consistent | Self::ConsistentRandom, key) => crc32(key.unwrap_or_default()),
            // librdkafka takes the absolute value, as Sarama does.
            (Self::Fnv1a | Self::Fnv1aRandom, key) => (fnv1a(key.unwrap_or_default()) as i32).unsigned_abs(),
        };
        Some(hash % partition_count)
    }
}

/// A free choice among partitions that stays with one until a batch's worth of bytes went there, and no batch of
/// its own is left half full: many small batches would cost more than uneven partitions (KIP-794, and KAFKA-14156
/// for the second half).
#[derive(Debug)]
pub struct StickyChoice {
    random_state: u64,
    partition: Option<u32>,
    bytes_in_partition: usize,
    chosen_at_ms: f64,
}

impl StickyChoice {
    pub fn new(seed: u64) -> Self {
        Self {
            random_state: seed | 1,
            partition: None,
            bytes_in_partition: 0,
            chosen_at_ms: f64::NEG_INFINITY,
        }
    }

    /// The present partition, or a new one out of what `odds` gives.
    pub fn partition(&mut self, partition_count: u32, odds: impl FnOnce() -> Odds) -> u32 {
        match self.partition {
            Some(partition) if partition < partition_count => partition,
            _ => {
                let partition = odds().choose(self.next_random());
                self.partition = Some(partition);
                self.bytes_in_partition = 0;
                partition
            }
        }
    }

    /// The present partition, if it has had `batch_size` bytes: it is given up as soon as its newest batch is full.
    #[inline]
    pub fn due(&self, batch_size: usize) -> Option<u32> {
        self.partition.filter(|_| self.bytes_in_partition >= batch_size)
    }

    /// Gives up the present partition.
    pub fn give_up(&mut self) {
        self.partition = None;
    }

    /// Counts bytes put into the present partition, and gives it up in any case after twice `batch_size` of them.
    #[inline]
    pub fn count_bytes(&mut self, bytes: usize, batch_size: usize) {
        self.bytes_in_partition += bytes;
        if self.bytes_in_partition >= batch_size.saturating_mul(2) {
            self.partition = None;
        }
    }

    /// Gives up the present partition if it was chosen `longest_ms` ago or before.
    pub fn expire(&mut self, now_ms: f64, longest_ms: f64) {
        if now_ms - self.chosen_at_ms >= longest_ms {
            self.partition = None;
            self.chosen_at_ms = now_ms;
        }
    }

    /// Gives up the present partition if it is one of these.
    pub fn leave(&mut self, partitions: &[usize]) {
        self.partition = self.partition.filter(|&partition| !partitions.contains(&(partition as usize)));
    }

    /// xorshift64*: even enough, and needs no dependency.
    fn next_random(&mut self) -> u64 {
        self.random_state ^= self.random_state >> 12;
        self.random_state ^= self.random_state << 25;
        self.random_state ^= self.random_state >> 27;
        self.random_state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33
    }
}

/// How probable each partition is to be chosen: a table of frequencies, each added to those before it.
///
/// A partition weighs what its queue is shorter than the longest one, plus one, as in Java's
/// BuiltInPartitioner (KIP-794).
#[derive(Debug)]
pub struct Odds {
    cumulative: Vec<u64>,
}

impl Odds {
    /// From the queue length of each partition, None for one that shall not be chosen. When that leaves out
    /// all of them they are equal.
    pub fn new(queue_lengths: &[Option<usize>]) -> Self {
        let longest = queue_lengths.iter().flatten().max().copied();
        let mut total = 0;
        let cumulative = queue_lengths
            .iter()
            .map(|length| {
                total += match (length, longest) {
                    (Some(length), Some(longest)) => (longest + 1 - length) as u64,
                    (None, Some(_)) => 0,
                    (_, None) => 1,
                };
                total
            })
            .collect();
        Self { cumulative }
    }

    fn choose(&self, random: u64) -> u32 {
        let total = self.cumulative.last().copied().unwrap_or(0).max(1);
        let weighted = random % total;
        self.cumulative.partition_point(|&up_to| up_to <= weighted) as u32
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
    fn a_missing_key_is_hashed_as_an_empty_one_where_librdkafka_does() {
        assert_eq!(Partitioner::Murmur2Consistent.partition(None, 7), Some(275_646_681 % 7));
        assert_eq!(Partitioner::Murmur2Consistent.partition(Some(b""), 7), Some(275_646_681 % 7));
        assert_eq!(Partitioner::Random.partition(Some(b"key"), 7), None);
    }

    #[test]
    fn a_free_choice_can_be_bound_to_a_time() {
        let mut choice = StickyChoice::new(42);
        choice.expire(1000.0, 10.0);
        let partition = choice.partition(5, || Odds::new(&[Some(0); 5]));
        choice.expire(1009.0, 10.0);
        assert_eq!(choice.partition(5, || unreachable!()), partition);
        choice.expire(1010.0, 10.0);
        assert_eq!(choice.partition, None);
    }

    #[test]
    fn consistent_sends_empty_and_missing_keys_to_one_partition() {
        assert_eq!(Partitioner::Consistent.partition(Some(b""), 7), Some(0));
        assert_eq!(Partitioner::Consistent.partition(None, 7), Some(0));
        assert_eq!(Partitioner::ConsistentRandom.partition(Some(b""), 7), None);
        assert_eq!(Partitioner::ConsistentRandom.partition(Some(b"a"), 7), Some(crc32(b"a") % 7));
    }

    #[test]
    fn a_free_choice_is_due_after_a_batch_ends_after_two_and_reaches_every_partition() {
        let mut choice = StickyChoice::new(42);
        let mut seen = [false; 5];
        for number in 0..200 {
            let partition = choice.partition(5, || Odds::new(&[Some(0); 5]));
            choice.count_bytes(60, 100);
            assert_eq!(choice.due(100), None);
            choice.count_bytes(60, 100);
            assert_eq!(choice.due(100), Some(partition));
            assert_eq!(choice.partition(5, || unreachable!()), partition);
            if number % 2 == 0 {
                choice.give_up();
            } else {
                choice.count_bytes(80, 100);
            }
            assert_eq!(choice.partition, None);
            seen[partition as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
    }

    fn chosen(queue_lengths: &[Option<usize>], draws: u64) -> Vec<u32> {
        let odds = Odds::new(queue_lengths);
        (0..draws).map(|random| odds.choose(random)).collect()
    }

    #[test]
    fn a_partition_is_chosen_the_more_often_the_shorter_its_queue_is() {
        // The example in Java's BuiltInPartitioner: lengths 0 3 1 weigh 4 1 3, which add up to 4 5 8.
        assert_eq!(Odds::new(&[Some(0), Some(3), Some(1)]).cumulative, [4, 5, 8]);
        assert_eq!(chosen(&[Some(0), Some(3), Some(1)], 9), [0, 0, 0, 0, 1, 2, 2, 2, 0]);
    }

    #[test]
    fn queues_of_one_length_are_chosen_alike() {
        assert_eq!(chosen(&[Some(7); 3], 6), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn a_partition_left_out_is_not_chosen_while_there_is_another() {
        assert_eq!(chosen(&[None, Some(1), None, Some(0), None], 3), [1, 3, 3]);
        assert_eq!(chosen(&[None; 3], 4), [0, 1, 2, 0]);
    }
}

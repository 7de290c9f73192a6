//! The batches that wait to be sent, by topic and partition, and which of them a record goes to. Knows nothing
//! of locks, of the interpreter, or of who is told of a batch.

use std::collections::hash_map::{DefaultHasher, RandomState};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::mem;
use std::sync::Arc;
use std::time::Instant;

use super::batches::{ClosedBatch, OpenBatch, Owner};
use super::ready::{Front, Fronts, Listed, Ready};
use crate::clock::{rough_monotonic_ms, set_monotonic_ms};
use crate::compression::{Compression, LevelChoice};
use crate::partitioner::{Odds, Partitioner, StickyChoice};
use crate::records::{BatchBuilder, HEADER_BYTES, NewRecord, Sealer};

/// A batch in a partition's queue.
pub enum Waiting<O: Owner> {
    Open(OpenBatch<O::Outcome>),
    /// Full, and on its way to being compressed.
    Closed(ClosedBatch<O::Outcome>),
    /// Was taken before and put back.
    Returned(O::Taken),
}

impl<O: Owner> Waiting<O> {
    fn first_record_number(&self) -> u64 {
        match self {
            Self::Open(batch) => batch.first_record_number,
            Self::Closed(batch) => batch.first_record_number,
            Self::Returned(batch) => O::first_record_number(batch),
        }
    }
}

/// The batches of one partition, oldest first.
pub struct PartitionQueue<O: Owner> {
    pub batches: VecDeque<Waiting<O>>,
    records_appended: u64,
    level_choice: Arc<LevelChoice>,
    /// Records that may go to any partition leave this one out.
    is_unavailable: bool,
    listed: Listed,
}

impl<O: Owner> Default for PartitionQueue<O> {
    fn default() -> Self {
        Self {
            batches: VecDeque::new(),
            records_appended: 0,
            level_choice: Arc::default(),
            is_unavailable: false,
            listed: Listed::default(),
        }
    }
}

/// What waits for one topic.
pub struct TopicQueues<O: Owner> {
    pub name: Arc<O::Topic>,
    /// 0 while it is not known.
    pub partition_count: u32,
    pub partitions: Vec<PartitionQueue<O>>,
    sticky: StickyChoice,
}

/// FNV-1a: cheaper for short names than Rust's own, whose safety from chosen names a producer's topics do not need.
pub struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// All that waits, and what it takes of the buffer.
pub struct Queues<O: Owner> {
    /// Those that were forgotten keep their places until others come.
    pub topics: Vec<TopicQueues<O>>,
    /// The places of topics that were forgotten.
    vacant: Vec<usize>,
    names: HashMap<String, usize, BuildHasherDefault<NameHasher>>,
    pub buffered_bytes: usize,
    pub buffered_records: usize,
    /// Nothing is taken: a transactional producer is between two transactions.
    pub is_shut: bool,
    /// Which partitions are chosen where the choice is free.
    pub seed: u64,
    ready: Ready,
}

impl<O: Owner> Default for Queues<O> {
    fn default() -> Self {
        Self {
            topics: Vec::new(),
            vacant: Vec::new(),
            names: HashMap::default(),
            buffered_bytes: 0,
            buffered_records: 0,
            is_shut: false,
            seed: RandomState::new().hash_one(0),
            ready: Ready::default(),
        }
    }
}

impl<O: Owner> Fronts for Vec<TopicQueues<O>> {
    fn front(&mut self, (topic, partition): (usize, usize)) -> (Front, &mut Listed) {
        let queue = &mut self[topic].partitions[partition];
        (queue.front(), &mut queue.listed)
    }
}

/// What all batches are made with.
pub struct Settings {
    pub batch_size: usize,
    pub buffer_memory: usize,
    pub max_record_bytes: usize,
    pub codec: (Compression, Option<i32>),
    pub partitioner: Partitioner,
    /// Keys choose no partition.
    pub ignore_keys: bool,
    /// Partitions with shorter queues are chosen more often (KIP-794).
    pub is_adaptive: bool,
    /// A free choice of a partition stands no longer than this; None: as long as batch_size bytes last.
    pub sticky_linger_ms: Option<f64>,
    /// A batch takes no more records than this.
    pub max_batch_records: u32,
    /// Batches wait for more records.
    pub lingers: bool,
    /// A moment by Rust's clock, and the same by Python's `time.monotonic()`, in milliseconds.
    pub clock: (Instant, f64),
    /// Compresses batches as soon as they are full. None where they are not compressed, or only when they are sent.
    pub sealer: Option<Arc<Sealer>>,
}

impl Settings {
    /// The partition for a key, or None where the choice is free.
    fn partition_of(&self, key: Option<&[u8]>, partition_count: u32) -> Option<u32> {
        if self.ignore_keys { None } else { self.partitioner.partition(key, partition_count) }
    }

    /// Now, by Python's `time.monotonic()`, or the time that is set.
    pub fn monotonic_ms(&self) -> f64 {
        set_monotonic_ms().unwrap_or_else(|| self.clock.1 + self.clock.0.elapsed().as_secs_f64() * 1000.0)
    }
}

/// Where a record went.
pub struct Appended<Outcome> {
    pub outcome: Arc<Outcome>,
    pub index: u32,
    pub partition: u32,
    /// The sender has something new to do.
    pub wake: bool,
}

/// The same, as long as the queues stay locked.
pub struct Place<'a, Outcome> {
    pub outcome: &'a Arc<Outcome>,
    pub index: u32,
    pub partition: u32,
    /// The sender has something new to do.
    pub wake: bool,
}

impl<Outcome> Place<'_, Outcome> {
    pub fn to_appended(&self) -> Appended<Outcome> {
        Appended {
            outcome: Arc::clone(self.outcome),
            index: self.index,
            partition: self.partition,
            wake: self.wake,
        }
    }
}

/// Why a record was not taken.
pub enum Refused {
    /// The buffer is full or shut, or the topic's partition count is not known: try again later.
    NotNow,
    TooLarge(String),
    /// The topic may have it since its partition count was set.
    NoSuchPartition(String),
    /// Nothing that any topic takes.
    Invalid(String),
}

impl Refused {
    pub fn in_row(self, row: usize) -> Self {
        let name_row = |message: String| format!("row {row}: {message}");
        match self {
            Self::NotNow => Self::NotNow,
            Self::TooLarge(message) => Self::TooLarge(name_row(message)),
            Self::NoSuchPartition(message) => Self::NoSuchPartition(name_row(message)),
            Self::Invalid(message) => Self::Invalid(name_row(message)),
        }
    }
}

/// Topics choose each for itself.
fn seed_of(seed: u64, topic: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    topic.hash(&mut hasher);
    hasher.finish()
}

impl<O: Owner> Queues<O> {
    /// Makes a topic known, or its partition count anew. Queues stay even if there are fewer partitions now. Gives what
    /// is left of another topic that was forgotten, to be dropped without the queues' lock.
    #[must_use]
    pub fn set_partition_count(&mut self, name: O::Topic, partition_count: u32) -> Option<TopicQueues<O>> {
        let mut forgotten = None;
        let index = match self.index_of(name.as_ref()) {
            Some(index) => index,
            None => {
                let text = name.as_ref().to_owned();
                let made = TopicQueues {
                    sticky: StickyChoice::new(seed_of(self.seed, &text)),
                    name: Arc::new(name),
                    partition_count: 0,
                    partitions: Vec::new(),
                };
                let index = match self.vacant.pop() {
                    Some(index) => {
                        forgotten = Some(mem::replace(&mut self.topics[index], made));
                        index
                    }
                    None => {
                        self.topics.push(made);
                        self.topics.len() - 1
                    }
                };
                self.names.insert(text, index);
                index
            }
        };
        let queues = &mut self.topics[index];
        queues.partition_count = partition_count;
        let length = queues.partitions.len().max(partition_count as usize);
        queues.partitions.resize_with(length, PartitionQueue::default);
        forgotten
    }

    /// Forgets a topic's queues, if nothing waits there; whether nothing did.
    pub fn forget(&mut self, topic: &str) -> bool {
        let Some(index) = self.index_of(topic) else { return true };
        let queues = &mut self.topics[index];
        if queues.partitions.iter().any(|queue| !queue.batches.is_empty()) {
            return false;
        }
        queues.partition_count = 0;
        queues.partitions = Vec::new();
        self.names.remove(topic);
        self.ready.forget(index);
        self.vacant.push(index);
        true
    }

    /// Which partitions of a topic are left out where the choice is free; all others are not.
    pub fn set_unavailable(&mut self, topic: &str, unavailable: &[usize]) {
        let Some(index) = self.index_of(topic) else { return };
        let queues = &mut self.topics[index];
        queues.sticky.leave(unavailable);
        for (number, queue) in queues.partitions.iter_mut().enumerate() {
            queue.is_unavailable = unavailable.contains(&number);
        }
    }

    pub fn partition(&mut self, topic: &str, partition: usize) -> Option<&mut PartitionQueue<O>> {
        let index = self.index_of(topic)?;
        self.topics[index].partitions.get_mut(partition)
    }

    /// The partitions whose oldest batch is full, was put back, or has lingered, and the milliseconds until the next
    /// one has; infinity if none lingers. `now_ms` is of the clock of batches.
    pub fn due(
        &mut self,
        now_ms: f64,
        linger_ms: f64,
    ) -> (impl Iterator<Item = (&Arc<O::Topic>, usize)>, f64) {
        let (due, next_ms) = self.ready.due(now_ms, linger_ms, &mut self.topics);
        let topics = &self.topics;
        (due.iter().map(|&(topic, partition)| (&topics[topic].name, partition)), next_ms)
    }

    /// Whether what waits at a partition may go on waiting, for more to come.
    pub fn is_lingering(&mut self, topic: &str, partition: usize) -> bool {
        self.partition(topic, partition).is_some_and(|queue| matches!(queue.front(), Front::Lingers { .. }))
    }

    /// Puts a batch that was taken back before all that hold later records.
    pub fn put_back(&mut self, topic: &str, partition: usize, batch: Waiting<O>) -> bool {
        let Some(index) = self.index_of(topic) else { return false };
        let Some(queue) = self.topics[index].partitions.get_mut(partition) else { return false };
        queue.put_back(batch);
        self.ready.note((index, partition), queue.front(), &mut queue.listed);
        true
    }

    /// The newest batch of a partition has a record that is as old as this.
    pub fn backdate(&mut self, topic: &str, partition: usize, created_ms: f64) {
        let Some(index) = self.index_of(topic) else { return };
        let Some(queue) = self.topics[index].partitions.get_mut(partition) else { return };
        if let Some(Waiting::Open(batch)) = queue.batches.back_mut()
            && created_ms < batch.created_ms
        {
            batch.created_ms = created_ms;
            self.ready.note((index, partition), queue.front(), &mut queue.listed);
        }
    }

    /// A topic's place in `topics`, if it is known.
    pub fn index_of(&self, topic: &str) -> Option<usize> {
        self.names.get(topic).copied()
    }

    /// Appends one record to the partition given, or to the one that the partitioner chooses. `index` is the topic's
    /// place, if it has one.
    // A call would write the record and where it went to memory: a tenth of the time that a row of Arrow takes.
    #[inline(always)]
    pub fn append_at(
        &mut self,
        settings: &Settings,
        topic: &str,
        index: Option<usize>,
        partition: Option<i32>,
        record: &NewRecord<'_>,
    ) -> Result<Place<'_, O::Outcome>, Refused> {
        let max_size = record.max_size();
        // As a batch of its own.
        let alone = max_size + HEADER_BYTES;
        if alone > settings.max_record_bytes {
            return Err(too_large(topic, alone, "max_request_size", settings.max_record_bytes));
        }
        if max_size > settings.buffer_memory {
            return Err(too_large(topic, max_size, "buffer_memory", settings.buffer_memory));
        }
        let Some(index) = index else { return Err(Refused::NotNow) };
        let queues = &mut self.topics[index];
        let count = queues.partition_count;
        if count == 0 || self.is_shut || self.buffered_bytes + max_size > settings.buffer_memory {
            return Err(Refused::NotNow);
        }
        let mut was_full = false;
        let mut is_free = false;
        let partition = match partition {
            Some(partition) => u32::try_from(partition)
                .ok()
                .filter(|&partition| partition < count)
                .ok_or_else(|| no_such_partition(topic, partition, count))?,
            None => match settings.partition_of(record.key, count) {
                Some(partition) => partition,
                None => {
                    let (chosen, has_ended_batch) = queues.choose(settings, record, &mut self.ready, index);
                    is_free = true;
                    was_full = has_ended_batch;
                    chosen
                }
            },
        };
        let queue = &mut queues.partitions[partition as usize];
        let listing = (&mut self.ready, index);
        let (mut place, bytes) = queue.append(settings, &queues.name, partition, record, listing);
        place.wake |= was_full;
        if is_free {
            queues.sticky.count_bytes(bytes, settings.batch_size);
        }
        self.buffered_bytes += bytes;
        self.buffered_records += 1;
        Ok(place)
    }
}

impl<O: Owner> TopicQueues<O> {
    /// A partition for a record that may go to any, and whether a full batch was ended, which is news to the sender.
    #[inline(never)]
    fn choose(
        &mut self,
        settings: &Settings,
        record: &NewRecord<'_>,
        ready: &mut Ready,
        index: usize,
    ) -> (u32, bool) {
        if let Some(longest_ms) = settings.sticky_linger_ms {
            self.sticky.expire(rough_monotonic_ms(), longest_ms);
        }
        let mut was_full = false;
        if let Some(present) = self.sticky.due(settings.batch_size) {
            if let Some(queue) = self.partitions.get_mut(present as usize)
                && let Some(ended) = queue.end_batch_without(settings, record)
            {
                was_full = ended;
                ready.note((index, present as usize), queue.front(), &mut queue.listed);
                self.sticky.give_up();
            }
        }
        let count = self.partition_count;
        let waiting = &self.partitions[..count as usize];
        (self.sticky.partition(count, || odds(waiting, settings.is_adaptive)), was_full)
    }
}

fn odds<O: Owner>(queues: &[PartitionQueue<O>], is_adaptive: bool) -> Odds {
    let length = |queue: &PartitionQueue<O>| if is_adaptive { queue.batches.len() } else { 0 };
    let lengths: Vec<_> = queues.iter().map(|queue| (!queue.is_unavailable).then(|| length(queue))).collect();
    Odds::new(&lengths)
}

#[cold]
fn too_large(topic: &str, size: usize, setting: &str, limit: usize) -> Refused {
    Refused::TooLarge(format!(
        "a record for topic {topic} is larger than {setting} ({limit}) allows: it takes up to {size} bytes"
    ))
}

#[cold]
fn no_such_partition(topic: &str, partition: i32, count: u32) -> Refused {
    let message =
        format!("topic {topic} has no partition {partition}; its partitions are 0 to {}", count - 1);
    if partition < 0 { Refused::Invalid(message) } else { Refused::NoSuchPartition(message) }
}

impl<O: Owner> PartitionQueue<O> {
    /// Appends to the newest batch, or to a new one. Also says how many bytes the buffer grew by.
    fn append(
        &mut self,
        settings: &Settings,
        topic: &Arc<O::Topic>,
        partition: u32,
        record: &NewRecord<'_>,
        (ready, topic_index): (&mut Ready, usize),
    ) -> (Place<'_, O::Outcome>, usize) {
        let record_number = self.records_appended;
        self.records_appended += 1;
        let was_empty = self.batches.is_empty();
        let (bytes, has_filled) = match self.batches.back_mut() {
            Some(Waiting::Open(batch)) if !batch.is_full => {
                (batch.append(settings.batch_size, settings.max_batch_records, record), true)
            }
            _ => (None, false),
        };
        let (bytes, wake) = match bytes {
            Some(bytes) => (bytes, false),
            None => {
                self.close_full(settings);
                (self.begin(settings, topic, partition, record_number, record), was_empty || has_filled)
            }
        };
        let is_full = matches!(self.batches.back(), Some(Waiting::Open(batch)) if batch.is_full);
        let wake = wake || is_full;
        if wake {
            ready.note((topic_index, partition as usize), self.front(), &mut self.listed);
        }
        let Some(Waiting::Open(batch)) = self.batches.back() else {
            unreachable!("one was just appended to")
        };
        let index = batch.builder.record_count() as u32 - 1;
        (Place { outcome: &batch.outcome, index, partition, wake }, bytes)
    }

    /// What is to be done with the oldest batch.
    pub fn front(&self) -> Front {
        match self.batches.front() {
            None => Front::Empty,
            Some(Waiting::Closed(_) | Waiting::Returned(_)) => Front::Due,
            Some(Waiting::Open(batch)) if batch.is_full || self.batches.len() > 1 => Front::Due,
            Some(Waiting::Open(batch)) => Front::Lingers { since_ms: batch.created_ms },
        }
    }

    /// Ends the newest batch if it has no room for this record, and says whether that is news to the sender. None if
    /// it takes more.
    fn end_batch_without(&mut self, settings: &Settings, record: &NewRecord<'_>) -> Option<bool> {
        let is_news = match self.batches.back_mut() {
            Some(Waiting::Open(batch)) if !batch.is_full => {
                if batch.builder.has_room_for(record) {
                    return None;
                }
                batch.is_full = true;
                true
            }
            _ => false,
        };
        self.close_full(settings);
        Some(is_news)
    }

    /// Has the newest batch compressed, now that it is full.
    #[cold]
    fn close_full(&mut self, settings: &Settings) {
        let Some(sealer) = &settings.sealer else { return };
        match self.batches.pop_back() {
            Some(Waiting::Open(batch)) => {
                let closed = ClosedBatch::from(batch);
                sealer.seal_soon(Arc::clone(&closed.body));
                self.batches.push_back(Waiting::Closed(closed));
            }
            other => self.batches.extend(other),
        }
    }

    /// A new batch with a first record. Gives its bytes.
    #[cold]
    fn begin(
        &mut self,
        settings: &Settings,
        topic: &Arc<O::Topic>,
        partition: u32,
        first_record_number: u64,
        record: &NewRecord<'_>,
    ) -> usize {
        let (codec, level) = settings.codec;
        let mut batch = OpenBatch {
            outcome: O::outcome(topic, partition as i32),
            builder: BatchBuilder::new(codec, level, settings.batch_size),
            first_record_number,
            created_ms: settings.monotonic_ms(),
            buffered_bytes: 0,
            is_full: false,
        };
        batch.builder.choose_level_by(&self.level_choice);
        let bytes = batch
            .append(settings.batch_size, settings.max_batch_records, record)
            .expect("the first record always fits");
        self.batches.push_back(Waiting::Open(batch));
        bytes
    }

    /// The batch, if it is the only one and sealing it takes no time.
    pub fn take_small(&mut self) -> Option<OpenBatch<O::Outcome>> {
        let is_small = matches!(self.batches.front(), Some(Waiting::Open(batch)) if batch.is_small());
        match if is_small && self.batches.len() == 1 { self.batches.pop_front() } else { None } {
            Some(Waiting::Open(batch)) => Some(batch),
            _ => None,
        }
    }

    fn put_back(&mut self, batch: Waiting<O>) {
        let number = batch.first_record_number();
        let position = self.batches.partition_point(|waiting| waiting.first_record_number() < number);
        self.batches.insert(position, batch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::NO_HEADERS;

    /// Batches without anybody who is told of them; one that was taken is its first record's number.
    enum Untold {}

    impl Owner for Untold {
        type Topic = String;
        type Outcome = i32;
        type Taken = u64;

        fn outcome(_topic: &Arc<String>, partition: i32) -> Arc<i32> {
            Arc::new(partition)
        }

        fn first_record_number(taken: &u64) -> u64 {
            *taken
        }
    }

    fn settings() -> Settings {
        Settings {
            batch_size: 1000,
            buffer_memory: 10_000,
            max_record_bytes: 5000,
            codec: (Compression::None, None),
            partitioner: Partitioner::from_name("murmur2").unwrap(),
            ignore_keys: false,
            is_adaptive: true,
            sticky_linger_ms: None,
            max_batch_records: 2,
            lingers: false,
            clock: (Instant::now(), 0.0),
            sealer: None,
        }
    }

    fn append(
        queues: &mut Queues<Untold>,
        partition: i32,
        value: &[u8],
    ) -> Result<(u32, u32, bool), Refused> {
        let record = NewRecord::new(0, None, Some(value), NO_HEADERS);
        let index = queues.index_of("topic");
        let place = queues.append_at(&settings(), "topic", index, Some(partition), &record)?;
        assert_eq!(**place.outcome, partition);
        Ok((place.index, place.partition, place.wake))
    }

    fn queues() -> Queues<Untold> {
        let mut queues = Queues::default();
        assert!(queues.set_partition_count("topic".to_owned(), 2).is_none());
        queues
    }

    #[test]
    fn the_sender_is_woken_for_a_first_record_and_for_a_full_batch() {
        let mut queues = queues();
        let places: Vec<_> = (0..4).map(|_| append(&mut queues, 1, b"value").ok().unwrap()).collect();
        assert_eq!(places, [(0, 1, true), (1, 1, true), (0, 1, false), (1, 1, true)]);
        assert_eq!(queues.partition("topic", 1).unwrap().batches.len(), 2);
        assert!(queues.partition("topic", 0).unwrap().batches.is_empty());
    }

    #[test]
    fn nothing_is_taken_for_an_unknown_topic_or_while_the_queues_are_shut_or_the_buffer_is_full() {
        let mut unknown = Queues::default();
        assert!(matches!(append(&mut unknown, 0, b""), Err(Refused::NotNow)));
        let mut queues = queues();
        queues.is_shut = true;
        assert!(matches!(append(&mut queues, 0, b""), Err(Refused::NotNow)));
        queues.is_shut = false;
        for _ in 0..3 {
            assert!(append(&mut queues, 0, &[0; 3000]).is_ok());
        }
        assert!(matches!(append(&mut queues, 0, &[0; 3000]), Err(Refused::NotNow)));
        assert_eq!(queues.buffered_records, 3);
        assert!(queues.set_partition_count("topic".to_owned(), 0).is_none());
        assert!(matches!(append(&mut queues, 0, b""), Err(Refused::NotNow)));
        assert_eq!(queues.partition("topic", 0).unwrap().batches.len(), 3);
    }

    #[test]
    fn a_record_too_large_and_a_partition_that_is_not_there_are_refused_for_good() {
        let mut queues = queues();
        assert!(matches!(append(&mut queues, 0, &[0; 5000]), Err(Refused::TooLarge(_))));
        assert!(matches!(append(&mut queues, 2, b""), Err(Refused::NoSuchPartition(_))));
        assert!(matches!(append(&mut queues, -1, b""), Err(Refused::Invalid(_))));
        assert_eq!((queues.buffered_bytes, queues.buffered_records), (0, 0));
    }

    #[test]
    fn a_topic_that_is_forgotten_gives_its_place_to_another_and_says_nothing_of_it() {
        let mut queues = queues();
        append(&mut queues, 1, b"value").ok().unwrap();
        assert!(!queues.forget("topic"));
        queues.partition("topic", 1).unwrap().batches.clear();
        assert!(queues.forget("topic"));
        assert_eq!(queues.due(f64::INFINITY, 0.0).0.count(), 0);
        assert!(matches!(append(&mut queues, 1, b""), Err(Refused::NotNow)));
        let forgotten = queues.set_partition_count("other".to_owned(), 1).unwrap();
        assert_eq!(*forgotten.name, "topic");
        assert_eq!((queues.topics.len(), queues.index_of("other")), (1, Some(0)));
        assert!(queues.set_partition_count("topic".to_owned(), 2).is_none());
        append(&mut queues, 1, b"value").ok().unwrap();
        let (due, _) = queues.due(f64::INFINITY, 0.0);
        assert_eq!(due.map(|(name, partition)| (&name[..], partition)).collect::<Vec<_>>(), [("topic", 1)]);
        assert!(queues.forget("unknown"));
    }

    #[test]
    fn batches_that_are_put_back_keep_the_order_of_their_records_whatever_order_they_come_in() {
        let mut queues = queues();
        for _ in 0..8 {
            append(&mut queues, 0, b"value").ok().unwrap();
        }
        let queue = queues.partition("topic", 0).unwrap();
        let taken: Vec<_> = queue.batches.drain(..3).map(|waiting| waiting.first_record_number()).collect();
        assert_eq!(taken, [0, 2, 4]);
        for number in [2, 4, 0] {
            assert!(queues.put_back("topic", 0, Waiting::Returned(number)));
        }
        let queue = queues.partition("topic", 0).unwrap();
        let numbers: Vec<_> = queue.batches.iter().map(Waiting::first_record_number).collect();
        assert_eq!(numbers, [0, 2, 4, 6]);
    }
}

//! A fetch session (KIP-227) in its ordinary course: what of an answer means nothing but new records, and the request
//! that follows it. Knows the bytes of Fetch in versions 13 to 18, and nothing of sockets. Whatever is out of the
//! ordinary is for others to read.

pub mod by_waiting;
pub mod in_bulk;

use crate::frame_bytes::{Bytes, LENGTH_BYTES};
use crate::records::{Batch, BatchFrame, CursorOptions, Limits, RecordCursor, frames};
use crate::shared_bytes::SharedBytes;

const CORRELATION_ID_AT: usize = 8;
const CLIENT_ID_AT: usize = 12;
const VERSIONS: std::ops::RangeInclusive<i16> = 13..=18;
/// The first version without a replica id in its fixed part.
const VERSION_WITHOUT_REPLICA_ID: i16 = 15;
const LAST_EPOCH: i32 = i32::MAX;
/// Before a request's topics come, from there backwards, its epoch, the session's id, the isolation level, and this.
const MAX_BYTES_BEFORE_EPOCH: usize = 4 + 1 + 4;

/// A partition of the session, as the broker knows it.
#[derive(Debug, Clone)]
pub struct Partition {
    pub topic_id: [u8; 16],
    pub index: i32,
    pub leader_epoch: i32,
    pub fetch_offset: i64,
    pub last_fetched_epoch: i32,
    pub max_bytes: i32,
}

/// What an answer says of a partition.
pub struct Arrival {
    /// Its place among the session's.
    pub partition: usize,
    pub high_watermark: i64,
    pub last_stable_offset: i64,
    pub log_start_offset: i64,
    pub records: Option<Records>,
}

pub struct Records {
    pub cursor: RecordCursor,
    pub size: usize,
    pub fetch_offset: i64,
    pub end_offset: i64,
    /// Of the last batch.
    pub leader_epoch: i32,
}

pub struct Session {
    pub id: i32,
    /// Of the request under way.
    pub epoch: i32,
    /// Of the request under way.
    pub correlation_id: i32,
    pub partitions: Vec<Partition>,
    pub limits: Limits,
    pub reads_committed: bool,
    /// A request up to its topics, and what follows them.
    head: Vec<u8>,
    tail: Vec<u8>,
    epoch_at: usize,
}

impl Session {
    /// `frame`: a whole request of this session that names no partition, whose epoch and correlation id are those of
    /// the request under way. None where it is none.
    pub fn new(
        frame: &[u8],
        partitions: Vec<Partition>,
        limits: Limits,
        reads_committed: bool,
    ) -> Option<Self> {
        let mut bytes = Bytes::new(frame.get(LENGTH_BYTES + 2..)?);
        let version = bytes.i16()?;
        if !VERSIONS.contains(&version) {
            return None;
        }
        let correlation_id = bytes.i32()?;
        let client_id_length = usize::try_from(bytes.i16()?).unwrap_or(0);
        let replica_id_bytes = if version < VERSION_WITHOUT_REPLICA_ID { 4 } else { 0 };
        // The client id, the header's tags, and what comes before the session's id.
        bytes.take(client_id_length + 1 + replica_id_bytes + 4 + 4 + 4 + 1)?;
        let id = bytes.i32()?;
        let epoch = bytes.i32()?;
        let topics_at = frame.len() - bytes.rest().len();
        let no_topics = bytes.length()?;
        (no_topics == Some(0)).then(|| Self {
            id,
            epoch,
            correlation_id,
            partitions,
            limits,
            reads_committed,
            head: frame[..topics_at].to_vec(),
            tail: bytes.rest().to_vec(),
            epoch_at: topics_at - 4,
        })
    }

    /// What the answer to the request under way brought. The session then stands behind it. None, and nothing has
    /// changed, where it says anything else.
    pub fn take_answer(&mut self, frame: &SharedBytes) -> Option<Vec<Arrival>> {
        let mut bytes = Bytes::new(frame.as_ref());
        bytes.expect(self.correlation_id)?;
        bytes.no_tags()?;
        let (throttle_time_ms, error_code) = (bytes.i32()?, bytes.i16()?);
        if throttle_time_ms != 0 || error_code != 0 {
            return None;
        }
        bytes.expect(self.id)?;
        let mut arrivals = Vec::new();
        for _ in 0..bytes.length()?? {
            let topic_id = bytes.array()?;
            for _ in 0..bytes.length()?? {
                arrivals.push(self.partition_answer(&mut bytes, frame, topic_id, &arrivals)?);
            }
            bytes.no_tags()?;
        }
        bytes.no_tags()?;
        if !bytes.rest().is_empty() {
            return None;
        }
        for arrival in &arrivals {
            if let Some(records) = &arrival.records {
                let partition = &mut self.partitions[arrival.partition];
                partition.fetch_offset = records.end_offset;
                partition.last_fetched_epoch = records.leader_epoch;
            }
        }
        Some(arrivals)
    }

    fn partition_answer(
        &self,
        bytes: &mut Bytes<'_>,
        frame: &SharedBytes,
        topic_id: [u8; 16],
        seen: &[Arrival],
    ) -> Option<Arrival> {
        let index = bytes.i32()?;
        let place = self.partitions.iter().position(|p| p.index == index && p.topic_id == topic_id)?;
        if seen.iter().any(|arrival| arrival.partition == place) || bytes.i16()? != 0 {
            return None;
        }
        let (high_watermark, last_stable_offset) = (bytes.i64()?, bytes.i64()?);
        let log_start_offset = bytes.i64()?;
        if bytes.length()?.is_some_and(|aborted_transactions| aborted_transactions > 0) {
            return None;
        }
        // No replica that is closer.
        bytes.expect(-1)?;
        let size = bytes.length()?.unwrap_or(0);
        let start = frame.len() - bytes.rest().len();
        let data = bytes.take(size)?;
        bytes.no_tags()?;
        let records = if size == 0 {
            None
        } else {
            Some(self.records(place, data, frame.slice(start, start + size))?)
        };
        Some(Arrival { partition: place, high_watermark, last_stable_offset, log_start_offset, records })
    }

    fn records(&self, place: usize, data: &[u8], shared: SharedBytes) -> Option<Records> {
        let partition = &self.partitions[place];
        let epoch_of = |frame: &BatchFrame| match Batch::read(&data[frame.start..frame.end]) {
            Ok(Batch::Current(header)) => Some(header.leader_epoch),
            _ => None,
        };
        let mut whole = frames(data).map_while(Result::ok);
        let first = whole.next()?;
        let mut leader_epoch = epoch_of(&first)?;
        // Epochs only grow along a log: where the first batch has the leader's, all have.
        if leader_epoch != partition.leader_epoch {
            leader_epoch = epoch_of(&whole.last().unwrap_or(first))?;
        }
        if !(0..=partition.leader_epoch).contains(&leader_epoch) {
            return None;
        }
        let aborted: Option<&[(i64, i64)]> = if self.reads_committed { Some(&[]) } else { None };
        let fetch_offset = partition.fetch_offset;
        let options = CursorOptions { fetch_offset, aborted, limits: self.limits };
        let cursor = RecordCursor::new(shared, &options);
        let end_offset = cursor.end_offset()?.max(fetch_offset);
        Some(Records { cursor, size: data.len(), fetch_offset, end_offset, leader_epoch })
    }

    /// The most bytes that the request asks for which this was made of.
    pub fn max_bytes(&self) -> i32 {
        let at = self.epoch_at - MAX_BYTES_BEFORE_EPOCH;
        self.head[at..].first_chunk().map_or(0, |bytes| i32::from_be_bytes(*bytes))
    }

    /// Has requests ask for at most so many bytes from now on.
    pub fn set_max_bytes(&mut self, max_bytes: i32) {
        let at = self.epoch_at - MAX_BYTES_BEFORE_EPOCH;
        self.head[at..at + 4].copy_from_slice(&max_bytes.to_be_bytes());
    }

    /// The request that follows an answer in which the partitions at these places moved, of which the broker has to be
    /// told. From now on it is the one under way.
    pub fn next_request(&mut self, moved: &[usize]) -> Vec<u8> {
        self.epoch = if self.epoch == LAST_EPOCH { 1 } else { self.epoch + 1 };
        self.correlation_id = self.correlation_id.wrapping_add(1) & i32::MAX;
        let mut request = Vec::with_capacity(self.head.len() + self.tail.len() + 64 * moved.len() + 16);
        request.extend_from_slice(&self.head);
        request[CORRELATION_ID_AT..CLIENT_ID_AT].copy_from_slice(&self.correlation_id.to_be_bytes());
        request[self.epoch_at..self.epoch_at + 4].copy_from_slice(&self.epoch.to_be_bytes());
        write_length(&mut request, moved.len());
        for &place in moved {
            let partition = &self.partitions[place];
            request.extend_from_slice(&partition.topic_id);
            write_length(&mut request, 1);
            request.extend_from_slice(&partition.index.to_be_bytes());
            request.extend_from_slice(&partition.leader_epoch.to_be_bytes());
            request.extend_from_slice(&partition.fetch_offset.to_be_bytes());
            request.extend_from_slice(&partition.last_fetched_epoch.to_be_bytes());
            // The log start offset, which only followers know.
            request.extend_from_slice(&(-1_i64).to_be_bytes());
            request.extend_from_slice(&partition.max_bytes.to_be_bytes());
            // No tagged fields: of the partition, and of the topic.
            request.extend_from_slice(&[0, 0]);
        }
        request.extend_from_slice(&self.tail);
        let length = (request.len() - LENGTH_BYTES) as i32;
        request[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
        request
    }
}

/// The places of those that an answer moved on.
pub fn moved(arrivals: &[Arrival]) -> Vec<usize> {
    arrivals.iter().filter(|arrival| arrival.records.is_some()).map(|arrival| arrival.partition).collect()
}

fn write_length(bytes: &mut Vec<u8>, length: usize) {
    let mut value = length as u32 + 1;
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::Compression;
    use crate::records::{BatchBuilder, NO_HEADERS, NewRecord, ProducerState};

    const TOPIC_ID: [u8; 16] = [7; 16];
    const LIMITS: Limits = Limits { check_crcs: true, max_decompressed_bytes: 1 << 20 };

    /// A request of version 13 by a client named "me", in session 5, without topics.
    fn request(version: i16) -> Vec<u8> {
        let mut frame = vec![0, 0, 0, 0, 0, 1];
        frame.extend(version.to_be_bytes());
        frame.extend(9_i32.to_be_bytes());
        frame.extend([0, 2, b'm', b'e', 0]);
        if version < VERSION_WITHOUT_REPLICA_ID {
            frame.extend((-1_i32).to_be_bytes());
        }
        frame.extend([0; 13]);
        frame.extend(5_i32.to_be_bytes());
        frame.extend(3_i32.to_be_bytes());
        // No topics, none forgotten, no rack, no tags.
        frame.extend([1, 1, 1, 0]);
        frame
    }

    fn session() -> Session {
        let partition = Partition {
            topic_id: TOPIC_ID,
            index: 1,
            leader_epoch: 4,
            fetch_offset: 10,
            last_fetched_epoch: -1,
            max_bytes: 1000,
        };
        Session::new(&request(13), vec![partition], LIMITS, false).unwrap()
    }

    fn batch(base_offset: i64, leader_epoch: i32) -> Vec<u8> {
        let mut builder = BatchBuilder::new(Compression::None, None, 1000);
        builder.append(&NewRecord::new(0, None, Some(b"value"), NO_HEADERS));
        let mut batch = builder.seal();
        let producer =
            ProducerState { producer_id: -1, producer_epoch: -1, base_sequence: -1, is_transactional: false };
        batch.encode(&producer, base_offset, leader_epoch, false);
        batch.bytes().to_vec()
    }

    struct Answer {
        throttle_time_ms: i32,
        error_code: i16,
        partition_error_code: i16,
        session_id: i32,
        index: i32,
        tags: Vec<u8>,
        records: Vec<u8>,
    }

    impl Answer {
        fn with(records: Vec<u8>) -> Self {
            Self {
                throttle_time_ms: 0,
                error_code: 0,
                partition_error_code: 0,
                session_id: 5,
                index: 1,
                tags: vec![0],
                records,
            }
        }

        fn frame(&self) -> SharedBytes {
            let mut frame = Vec::new();
            frame.extend(9_i32.to_be_bytes());
            frame.push(0);
            frame.extend(self.throttle_time_ms.to_be_bytes());
            frame.extend(self.error_code.to_be_bytes());
            frame.extend(self.session_id.to_be_bytes());
            frame.push(2);
            frame.extend(TOPIC_ID);
            frame.push(2);
            frame.extend(self.index.to_be_bytes());
            frame.extend(self.partition_error_code.to_be_bytes());
            for offset in [100_i64, 90, 0] {
                frame.extend(offset.to_be_bytes());
            }
            // No aborted transactions.
            frame.push(0);
            frame.extend((-1_i32).to_be_bytes());
            write_length(&mut frame, self.records.len());
            frame.extend(&self.records);
            frame.extend(&self.tags);
            frame.extend([0, 0]);
            SharedBytes::new(frame)
        }
    }

    #[test]
    fn records_move_the_session_on() {
        let mut session = session();
        let answer = Answer::with(batch(10, 4));
        let arrivals = session.take_answer(&answer.frame()).unwrap();
        let records = arrivals[0].records.as_ref().unwrap();
        assert_eq!((arrivals[0].high_watermark, arrivals[0].last_stable_offset), (100, 90));
        assert_eq!((records.fetch_offset, records.end_offset), (10, 11));
        let request = session.next_request(&moved(&arrivals));
        assert_eq!((session.epoch, session.correlation_id), (4, 10));
        assert_eq!(request[..4], ((request.len() - 4) as i32).to_be_bytes());
        assert_eq!(request[CORRELATION_ID_AT..CLIENT_ID_AT], 10_i32.to_be_bytes());
        let topics = &request[session.epoch_at + 4..];
        assert_eq!(topics[0], 2);
        assert_eq!(topics[1..17], TOPIC_ID);
        assert_eq!(topics[22..26], 4_i32.to_be_bytes());
        assert_eq!(topics[26..34], 11_i64.to_be_bytes());
        assert_eq!(topics[34..38], 4_i32.to_be_bytes());
    }

    #[test]
    fn the_next_request_names_the_epoch_of_what_came_last() {
        let mut session = session();
        let records = [batch(10, 2), batch(11, 3)].concat();
        let arrivals = session.take_answer(&Answer::with(records).frame()).unwrap();
        assert_eq!(arrivals[0].records.as_ref().unwrap().leader_epoch, 3);
        assert_eq!((session.partitions[0].fetch_offset, session.partitions[0].last_fetched_epoch), (12, 3));
    }

    #[test]
    fn a_request_asks_for_as_many_bytes_as_it_is_told_to() {
        let mut session = session();
        let before = session.next_request(&[]);
        session.set_max_bytes(77);
        let after = session.next_request(&[]);
        assert_eq!((session.max_bytes(), after.len()), (77, before.len()));
        let at = session.epoch_at - MAX_BYTES_BEFORE_EPOCH;
        assert_eq!(after[at..at + 4], 77_i32.to_be_bytes());
        assert_eq!(after[session.epoch_at - 4..session.epoch_at], 5_i32.to_be_bytes());
    }

    #[test]
    fn an_answer_without_records_is_followed_by_a_request_without_topics() {
        let mut session = session();
        let arrivals = session.take_answer(&Answer::with(Vec::new()).frame()).unwrap();
        assert!(arrivals[0].records.is_none());
        let followed = session.next_request(&moved(&arrivals));
        assert_eq!(followed.len(), request(13).len());
    }

    #[test]
    fn the_first_epoch_follows_the_last() {
        let mut session = session();
        session.epoch = i32::MAX;
        session.next_request(&[]);
        assert_eq!(session.epoch, 1);
    }

    #[test]
    fn what_is_out_of_the_ordinary_changes_nothing() {
        let ordinary = || Answer::with(batch(10, 4));
        let answers = [
            Answer { throttle_time_ms: 1, ..ordinary() },
            Answer { error_code: 70, ..ordinary() },
            Answer { partition_error_code: 6, ..ordinary() },
            Answer { session_id: 6, ..ordinary() },
            Answer { index: 2, ..ordinary() },
            Answer { tags: vec![1, 0, 1, 0], ..ordinary() },
            Answer::with(batch(10, 5)),
            Answer::with(batch(10, -1)),
            Answer::with(vec![1; 5]),
        ];
        let mut session = session();
        for answer in answers {
            assert!(session.take_answer(&answer.frame()).is_none());
            assert_eq!((session.epoch, session.partitions[0].fetch_offset), (3, 10));
        }
    }

    #[test]
    fn no_prefix_of_an_answer_is_taken_for_one() {
        let frame = Answer::with(batch(10, 4)).frame();
        let mut session = session();
        for end in 0..frame.len() {
            assert!(session.take_answer(&frame.slice(0, end)).is_none());
        }
    }

    #[test]
    fn requests_of_other_versions_are_no_template() {
        assert!(Session::new(&request(12), Vec::new(), LIMITS, false).is_none());
        assert!(Session::new(&request(19), Vec::new(), LIMITS, false).is_none());
        assert!(Session::new(&request(18), Vec::new(), LIMITS, false).is_some());
        assert!(Session::new(&request(18)[..20], Vec::new(), LIMITS, false).is_none());
    }
}

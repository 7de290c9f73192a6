//! The answer to a Produce request of one batch in its ordinary course: the batch was taken. Knows the bytes of Produce
//! in versions 9 to 13, and nothing of sockets. Whatever is out of the ordinary is for others to read.

use crate::frame_bytes::Bytes;

/// How an answer names the topic.
pub enum TopicKey {
    Name(String),
    Id([u8; 16]),
}

/// Where a batch went.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    pub base_offset: i64,
    /// -1 where records keep their own timestamps.
    pub log_append_time: i64,
}

/// Reads the answer, without its length, to the request with this correlation id.
pub fn taken(frame: &[u8], correlation_id: i32, topic: &TopicKey, partition: i32) -> Option<Taken> {
    let mut bytes = Bytes::new(frame);
    bytes.expect(correlation_id)?;
    bytes.no_tags()?;
    expect_one(&mut bytes)?;
    let is_ours = match topic {
        TopicKey::Id(id) => bytes.array()? == *id,
        TopicKey::Name(name) => {
            let length = bytes.length()??;
            bytes.take(length)? == name.as_bytes()
        }
    };
    if !is_ours {
        return None;
    }
    expect_one(&mut bytes)?;
    bytes.expect(partition)?;
    let error_code = bytes.i16()?;
    let (base_offset, log_append_time) = (bytes.i64()?, bytes.i64()?);
    let _log_start_offset = bytes.i64()?;
    let record_errors = bytes.length()?.unwrap_or(0);
    let has_message = bytes.length()?.is_some();
    // Of the partition, and of the topic.
    bytes.no_tags()?;
    bytes.no_tags()?;
    let throttle_time_ms = bytes.i32()?;
    bytes.no_tags()?;
    let is_ordinary = error_code == 0
        && base_offset >= 0
        && record_errors == 0
        && !has_message
        && throttle_time_ms == 0
        && bytes.rest().is_empty();
    is_ordinary.then_some(Taken { base_offset, log_append_time })
}

fn expect_one(bytes: &mut Bytes<'_>) -> Option<()> {
    (bytes.length()?? == 1).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer with this in place of the partition's error code, the throttle time, and the last tags.
    fn answer(topic: &[u8], error_code: i16, throttle_time_ms: i32, tags: &[u8]) -> Vec<u8> {
        let mut frame = 7_i32.to_be_bytes().to_vec();
        frame.extend([0, 2]);
        frame.extend(topic);
        frame.push(2);
        frame.extend(3_i32.to_be_bytes());
        frame.extend(error_code.to_be_bytes());
        frame.extend(1000_i64.to_be_bytes());
        frame.extend((-1_i64).to_be_bytes());
        frame.extend(0_i64.to_be_bytes());
        // No record errors, no message, no tags twice.
        frame.extend([1, 0, 0, 0]);
        frame.extend(throttle_time_ms.to_be_bytes());
        frame.extend(tags);
        frame
    }

    const ID: [u8; 16] = [9; 16];
    const TAKEN: Option<Taken> = Some(Taken { base_offset: 1000, log_append_time: -1 });

    fn name() -> TopicKey {
        TopicKey::Name("ab".to_owned())
    }

    #[test]
    fn a_batch_that_was_taken_is_told_by_name_and_by_id() {
        assert_eq!(taken(&answer(&[3, b'a', b'b'], 0, 0, &[0]), 7, &name(), 3), TAKEN);
        assert_eq!(taken(&answer(&ID, 0, 0, &[0]), 7, &TopicKey::Id(ID), 3), TAKEN);
    }

    #[test]
    fn whatever_else_an_answer_says_is_left_to_others() {
        let good = answer(&[3, b'a', b'b'], 0, 0, &[0]);
        assert_eq!(taken(&good, 8, &name(), 3), None);
        assert_eq!(taken(&good, 7, &name(), 4), None);
        assert_eq!(taken(&good, 7, &TopicKey::Name("ac".to_owned()), 3), None);
        assert_eq!(taken(&good, 7, &TopicKey::Id(ID), 3), None);
        assert_eq!(taken(&answer(&[3, b'a', b'b'], 46, 0, &[0]), 7, &name(), 3), None);
        assert_eq!(taken(&answer(&[3, b'a', b'b'], 0, 5, &[0]), 7, &name(), 3), None);
        assert_eq!(taken(&answer(&[3, b'a', b'b'], 0, 0, &[1, 0, 1, 0]), 7, &name(), 3), None);
        assert_eq!(taken(&answer(&[3, b'a', b'b'], 0, 0, &[0, 0]), 7, &name(), 3), None);
        for end in 0..good.len() {
            assert_eq!(taken(&good[..end], 7, &name(), 3), None, "{end}");
        }
    }
}

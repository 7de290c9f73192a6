//! From the old formats to magic 2 and back, as a broker does for clients of its time (KIP-98, KIP-283).
//! Offsets that producers of old formats send say nothing and are not looked at.

use super::batch::{Batch, frames};
use super::builder::{BatchBuilder, NO_HEADERS, NewRecord, ProducerState};
use super::header::BatchHeader;
use super::legacy::{self, LegacyEntry, NewMessage};
use super::limits::Limits;
use super::record::{RecordSlices, Span};
use crate::compression::Compression;
use crate::error::CorruptBatch;

const MAX_BATCH_BYTES: usize = i32::MAX as usize;

/// One batch of magic 2 with all records of a message set, compressed as the last compressed message of it. A
/// message at the end that is cut short is left out; a set without messages is no bytes.
pub fn convert_to_current(set: &[u8], limits: &Limits) -> Result<Vec<u8>, CorruptBatch> {
    let mut entries = Vec::new();
    let mut codec = Compression::None;
    for frame in frames(set) {
        let frame = frame?;
        let bytes = &set[frame.start..frame.end];
        let entry = LegacyEntry::read_produced(bytes)?;
        LegacyEntry::check_crc(bytes).map_err(|reason| CorruptBatch::new(entry.offset, reason))?;
        if entry.compression()? != Compression::None {
            codec = entry.compression()?;
        }
        entries.push((bytes, entry));
    }
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let mut builder = BatchBuilder::new(codec, None, MAX_BATCH_BYTES);
    for (bytes, entry) in entries {
        if entry.compression()? == Compression::None {
            append(&mut builder, &entry.single_record(), bytes)?;
        } else {
            let (payload, records) = entry.unwrap_produced(bytes, limits.max_decompressed_bytes)?;
            for record in &records {
                append(&mut builder, record, &payload)?;
            }
        }
    }
    Ok(builder.seal().encode(&ProducerState::NONE, 0, -1, false).to_vec())
}

fn append(builder: &mut BatchBuilder, record: &RecordSlices, payload: &[u8]) -> Result<(), CorruptBatch> {
    let part = |span: Option<Span>| span.map(|span| span.of(payload));
    let new = NewRecord::new(record.timestamp, part(record.key), part(record.value), NO_HEADERS);
    if builder.append(&new) {
        return Ok(());
    }
    Err(CorruptBatch::new(record.offset, "the messages are too many for one batch"))
}

/// The message set of `magic`, 0 or 1, with the records of batches from `first_offset` on. A batch that is
/// compressed comes whole and stays so. Headers and control batches have no place in a message set.
pub fn convert_to_old(
    batches: &[u8],
    magic: u8,
    first_offset: i64,
    limits: &Limits,
) -> Result<Vec<u8>, CorruptBatch> {
    let mut output = Vec::with_capacity(batches.len());
    for frame in frames(batches) {
        let frame = frame?;
        let bytes = &batches[frame.start..frame.end];
        let batch = Batch::read(bytes)?;
        match &batch {
            Batch::Current(header) if header.is_control() => {}
            Batch::Current(header) => {
                let (payload, records) = batch.records(bytes, limits)?;
                put_batch(&mut output, header, &records, &payload, magic, first_offset)?;
            }
            Batch::Legacy(entry) if entry.magic <= magic => output.extend_from_slice(bytes),
            Batch::Legacy(entry) => {
                return Err(CorruptBatch::new(entry.offset, "a log has batches of magic 2 only"));
            }
        }
    }
    Ok(output)
}

fn put_batch(
    output: &mut Vec<u8>,
    header: &BatchHeader,
    records: &[RecordSlices],
    payload: &[u8],
    magic: u8,
    first_offset: i64,
) -> Result<(), CorruptBatch> {
    let compression = header.compression()?;
    let put = |output: &mut Vec<u8>, record: &RecordSlices, offset: i64| {
        NewMessage {
            offset,
            magic,
            compression: Compression::None,
            is_log_append_time: header.is_log_append_time(),
            timestamp: record.timestamp,
            key: record.key.map(|span| span.of(payload)),
            value: record.value.map(|span| span.of(payload)),
        }
        .write(output);
    };
    if compression == Compression::None {
        for record in records.iter().filter(|record| record.offset >= first_offset) {
            put(output, record, record.offset);
        }
        return Ok(());
    }
    if compression == Compression::Zstd {
        return Err(CorruptBatch::new(header.base_offset, "zstd does not exist in the old formats"));
    }
    let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(()) };
    let mut inner = Vec::with_capacity(payload.len() + records.len() * 16);
    for record in records {
        // KIP-31: offsets inside are relative from magic 1 on.
        put(&mut inner, record, if magic == 0 { record.offset } else { record.offset - first.offset });
    }
    let value = legacy::compress(compression, magic, &inner);
    NewMessage {
        offset: last.offset,
        magic,
        compression,
        is_log_append_time: header.is_log_append_time(),
        timestamp: records.iter().map(|record| record.timestamp).max().unwrap_or(-1),
        key: None,
        value: Some(&value),
    }
    .write(output);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { check_crcs: true, max_decompressed_bytes: 1 << 20 };
    const OLD_CODECS: [Compression; 4] =
        [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4];

    type Parts = (i64, i64, Option<Vec<u8>>, Option<Vec<u8>>);

    fn batch(compression: Compression, base_offset: i64) -> Vec<u8> {
        let mut builder = BatchBuilder::new(compression, None, 1 << 20);
        for (timestamp, key, value) in [
            (50, None, Some(&b"one"[..])),
            (-1, Some(&b"k"[..]), None),
            (40, Some(&b""[..]), Some(&b"three"[..])),
        ] {
            assert!(builder.append(&NewRecord::new(timestamp, key, value, NO_HEADERS)));
        }
        builder.seal().encode(&ProducerState::NONE, base_offset, 0, false).to_vec()
    }

    fn parts(data: &[u8]) -> Vec<Parts> {
        let mut found = Vec::new();
        for frame in frames(data) {
            let frame = frame.unwrap();
            let bytes = &data[frame.start..frame.end];
            let batch = Batch::read(bytes).unwrap();
            batch.check_crc(bytes).unwrap();
            let (payload, records) = batch.records(bytes, &LIMITS).unwrap();
            let owned = |span: Option<Span>| span.map(|span| span.of(&payload).to_vec());
            found.extend(
                records.iter().map(|each| (each.offset, each.timestamp, owned(each.key), owned(each.value))),
            );
        }
        found
    }

    #[test]
    fn what_goes_to_an_old_format_and_back_is_the_same() {
        for codec in OLD_CODECS {
            let original = batch(codec, 7);
            for magic in [0, 1] {
                let set = convert_to_old(&original, magic, 0, &LIMITS).unwrap();
                assert!(frames(&set).all(|frame| set[frame.unwrap().start + 16] == magic));
                let mut expected = parts(&original);
                if magic == 0 {
                    expected.iter_mut().for_each(|each| each.1 = -1);
                }
                assert_eq!(parts(&set), expected, "{codec:?} {magic}");
                let back = convert_to_current(&set, &LIMITS).unwrap();
                expected.iter_mut().for_each(|each| each.0 -= 7);
                assert_eq!(parts(&back), expected, "{codec:?} {magic}");
                assert_eq!(Batch::read(&back).unwrap().compression().unwrap(), codec);
            }
        }
    }

    #[test]
    fn records_before_the_offset_asked_for_are_left_out_unless_compressed() {
        for (codec, count) in [(Compression::None, 1), (Compression::Gzip, 3)] {
            let set = convert_to_old(&batch(codec, 7), 1, 9, &LIMITS).unwrap();
            assert_eq!(parts(&set).len(), count);
        }
    }

    #[test]
    fn offsets_of_producers_are_not_looked_at_and_a_part_of_a_message_is_left_out() {
        let mut set = convert_to_old(&batch(Compression::None, 0), 0, 0, &LIMITS).unwrap();
        let starts: Vec<_> = frames(&set).map(|frame| frame.unwrap().start).collect();
        for start in starts {
            set[start..start + 8].copy_from_slice(&(-1_i64).to_be_bytes());
        }
        assert_eq!(parts(&convert_to_current(&set, &LIMITS).unwrap()).len(), 3);
        assert_eq!(parts(&convert_to_current(&set[..set.len() - 1], &LIMITS).unwrap()).len(), 2);
        assert_eq!(convert_to_current(&set[..5], &LIMITS).unwrap(), Vec::<u8>::new());
        let crc_at = 12;
        set[crc_at] ^= 1;
        assert!(convert_to_current(&set, &LIMITS).unwrap_err().reason.contains("wrong checksum"));
    }

    #[test]
    fn zstd_and_control_batches_are_not_for_old_formats() {
        assert!(convert_to_old(&batch(Compression::Zstd, 0), 1, 0, &LIMITS).is_err());
        let mut builder = BatchBuilder::new(Compression::None, None, 1 << 20);
        assert!(builder.append(&NewRecord::new(1, Some(b"\0\0\0\0"), None, NO_HEADERS)));
        let control = builder.seal().encode(&ProducerState::NONE, 0, 0, true).to_vec();
        assert_eq!(convert_to_old(&control, 1, 0, &LIMITS).unwrap(), Vec::<u8>::new());
    }
}

//! Looks at the records of a batch one after the other and keeps none. What is large when it is unpacked is unpacked
//! piece by piece, so that a few bytes cannot take a lot of memory.

use std::io::Read;
use std::ops::ControlFlow;

use super::batch::Batch;
use super::header::{BatchHeader, HEADER_BYTES};
use super::limits::Limits;
use super::record::{LEFT_OVER, RecordDecoder, RecordSlices};
use super::varint::{read_varint, read_varlong};
use crate::compression::Compression;
use crate::error::{CorruptBatch, Reason, is_too_large, too_large};

/// What unpacks to no more is unpacked at once, which is quicker.
const AT_ONCE_BYTES: usize = 4 << 20;
const PIECE_BYTES: usize = 64 << 10;
const LONGEST_VARINT: usize = 5;
const LONGEST_VARLONG: usize = 10;

/// What a broker looks at in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    pub offset: i64,
    pub timestamp: i64,
    pub has_key: bool,
}

impl From<RecordSlices> for Sight {
    fn from(record: RecordSlices) -> Self {
        Self { offset: record.offset, timestamp: record.timestamp, has_key: record.key.is_some() }
    }
}

/// Shows the records of a batch in their order, until `see` has seen enough. An error comes behind the records
/// before it.
pub fn look_at_records(
    batch: &Batch,
    bytes: &[u8],
    limits: &Limits,
    see: &mut dyn FnMut(Sight) -> ControlFlow<()>,
) -> Result<(), CorruptBatch> {
    let Batch::Current(header) = batch else {
        let (_, records) = batch.records(bytes, limits)?;
        let _ = records.into_iter().map(Sight::from).try_for_each(see);
        return Ok(());
    };
    // Its payload is empty, whatever the codec.
    if header.record_count == 0 {
        return Ok(());
    }
    let compression = header.compression()?;
    let packed = &bytes[HEADER_BYTES..];
    let limit = limits.max_decompressed_bytes;
    let seen = if compression == Compression::None {
        in_memory(header, packed, see)
    } else {
        match compression.decompress(packed, limit.min(AT_ONCE_BYTES)) {
            Ok(payload) => in_memory(header, &payload, see),
            Err(reason) if is_too_large(&reason) && limit > AT_ONCE_BYTES => {
                in_pieces(header, compression, packed, limit, see)
            }
            Err(reason) => Err(reason),
        }
    };
    seen.map_err(|reason| CorruptBatch::new(header.base_offset, reason))
}

fn in_memory(
    header: &BatchHeader,
    payload: &[u8],
    see: &mut dyn FnMut(Sight) -> ControlFlow<()>,
) -> Result<(), Reason> {
    let mut decoder = RecordDecoder::new(header);
    while let Some(record) = decoder.next(payload)? {
        if see(record.into()).is_break() {
            break;
        }
    }
    Ok(())
}

fn in_pieces(
    header: &BatchHeader,
    compression: Compression,
    packed: &[u8],
    limit: usize,
    see: &mut dyn FnMut(Sight) -> ControlFlow<()>,
) -> Result<(), Reason> {
    let mut pieces = Pieces {
        source: compression.reader(packed)?,
        buffer: vec![0; PIECE_BYTES].into_boxed_slice(),
        start: 0,
        end: 0,
        read: 0,
        limit,
    };
    for left in (0..header.record_count).rev() {
        let sight = pieces.next_record(header)?.ok_or_else(|| {
            format!("a record, {left} before the batch's last, has lengths or an offset that cannot be")
        })?;
        if see(sight).is_break() {
            return Ok(());
        }
    }
    if pieces.ahead(1)?.is_empty() { Ok(()) } else { Err(LEFT_OVER.into()) }
}

/// Bytes as they are unpacked.
struct Pieces<'a> {
    source: Box<dyn Read + 'a>,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    read: usize,
    limit: usize,
}

impl Pieces<'_> {
    /// What comes next, `wanted` bytes at least where so many are left.
    fn ahead(&mut self, wanted: usize) -> Result<&[u8], Reason> {
        if self.end - self.start < wanted {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            while self.end < wanted && self.fill()? {}
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Whether there was more.
    fn fill(&mut self) -> Result<bool, Reason> {
        let count = self.source.read(&mut self.buffer[self.end..]).map_err(|error| error.to_string())?;
        self.end += count;
        self.read += count;
        if self.read > self.limit { Err(too_large(self.limit)) } else { Ok(count > 0) }
    }

    fn position(&self) -> usize {
        self.read - (self.end - self.start)
    }

    fn varint(&mut self) -> Result<Option<i32>, Reason> {
        let mut length = 0;
        let number = read_varint(self.ahead(LONGEST_VARINT)?, &mut length);
        self.start += length;
        Ok(number)
    }

    fn varlong(&mut self) -> Result<Option<i64>, Reason> {
        let mut length = 0;
        let number = read_varlong(self.ahead(LONGEST_VARLONG)?, &mut length);
        self.start += length;
        Ok(number)
    }

    /// Whether there were so many.
    fn skip(&mut self, mut count: usize) -> Result<bool, Reason> {
        loop {
            let here = count.min(self.end - self.start);
            self.start += here;
            count -= here;
            if count == 0 {
                return Ok(true);
            }
            (self.start, self.end) = (0, 0);
            if !self.fill()? {
                return Ok(false);
            }
        }
    }

    /// Passes bytes behind their length, which is -1 for none, within a record; whether there are any. None where
    /// they cannot be.
    fn skip_nullable(&mut self, end: usize) -> Result<Option<bool>, Reason> {
        let Some(length) = self.varint()? else { return Ok(None) };
        if length < 0 {
            return Ok((length == -1).then_some(false));
        }
        let length = length as usize;
        let fits = length <= end.saturating_sub(self.position());
        Ok((fits && self.skip(length)?).then_some(true))
    }

    /// None for one that cannot be.
    fn next_record(&mut self, header: &BatchHeader) -> Result<Option<Sight>, Reason> {
        let Some(length @ 1..) = self.varint()? else { return Ok(None) };
        let end = self.position() + length as usize;
        if !self.skip(1)? {
            return Ok(None);
        }
        let Some(timestamp_delta) = self.varlong()? else { return Ok(None) };
        let Some(offset_delta) = self.varint()? else { return Ok(None) };
        if offset_delta < 0 || offset_delta > header.last_offset_delta {
            return Ok(None);
        }
        let Some(has_key) = self.skip_nullable(end)? else { return Ok(None) };
        if self.skip_nullable(end)?.is_none() {
            return Ok(None);
        }
        let Some(header_count @ 0..) = self.varint()? else { return Ok(None) };
        for _ in 0..header_count {
            if self.skip_nullable(end)? != Some(true) || self.skip_nullable(end)?.is_none() {
                return Ok(None);
            }
        }
        let timestamp = if header.is_log_append_time() {
            header.max_timestamp
        } else {
            header.base_timestamp.wrapping_add(timestamp_delta)
        };
        let offset = header.base_offset + i64::from(offset_delta);
        Ok((self.position() == end).then_some(Sight { offset, timestamp, has_key }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::write_varint;

    const CODECS: [Compression; 4] =
        [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

    fn header(record_count: i32) -> BatchHeader {
        BatchHeader {
            base_offset: 7,
            leader_epoch: 0,
            attributes: 0,
            last_offset_delta: record_count - 1,
            base_timestamp: 1000,
            max_timestamp: 1000,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            record_count,
        }
    }

    fn payload(record_count: i32, large: i32) -> Vec<u8> {
        let mut output = Vec::new();
        for delta in 0..record_count {
            let mut body = vec![0];
            write_varint(&mut body, delta % 1000 - 500);
            write_varint(&mut body, delta);
            let key = (delta % 3 > 0).then(|| vec![b'k'; delta as usize % 300]);
            write_varint(&mut body, key.as_ref().map_or(-1, |key| key.len() as i32));
            body.extend(key.unwrap_or_default());
            write_varint(&mut body, large * (delta % 2));
            body.resize(body.len() + (large * (delta % 2)) as usize, delta as u8);
            write_varint(&mut body, delta % 3);
            for _ in 0..delta % 3 {
                body.extend([2, b'h', 1]);
            }
            write_varint(&mut output, body.len() as i32);
            output.extend(body);
        }
        output
    }

    fn seen(
        look: impl FnOnce(&mut dyn FnMut(Sight) -> ControlFlow<()>) -> Result<(), Reason>,
    ) -> (Vec<Sight>, Result<(), Reason>) {
        let mut sights = Vec::new();
        let result = look(&mut |sight| {
            sights.push(sight);
            ControlFlow::Continue(())
        });
        (sights, result)
    }

    #[test]
    fn in_pieces_records_are_what_they_are_in_memory() {
        let header = header(100);
        let payload = payload(100, 100_000);
        let (expected, result) = seen(|see| in_memory(&header, &payload, see));
        assert_eq!((expected.len(), result), (100, Ok(())));
        for codec in CODECS {
            let mut packed = Vec::new();
            codec.compress(&payload, None, &mut packed);
            let found = seen(|see| in_pieces(&header, codec, &packed, payload.len(), see));
            assert_eq!(found, (expected.clone(), Ok(())), "{codec:?}");
            let (_, result) = seen(|see| in_pieces(&header, codec, &packed, payload.len() - 1, see));
            assert!(is_too_large(&result.unwrap_err()), "{codec:?}");
        }
    }

    #[test]
    fn changed_bytes_are_refused_in_pieces_where_they_are_in_memory() {
        let header = header(5);
        let good = payload(5, 300);
        for at in (0..200).chain(good.len() - 200..good.len()) {
            for bit in 0..8 {
                let mut changed = good.clone();
                changed[at] ^= 1 << bit;
                let (expected, result) = seen(|see| in_memory(&header, &changed, see));
                let mut packed = Vec::new();
                Compression::Lz4.compress(&changed, None, &mut packed);
                let found = seen(|see| in_pieces(&header, Compression::Lz4, &packed, usize::MAX, see));
                assert_eq!(found.0, expected, "byte {at}, bit {bit}");
                assert_eq!(found.1.is_ok(), result.is_ok(), "byte {at}, bit {bit}");
            }
        }
    }

    #[test]
    fn cut_input_of_a_codec_never_panics() {
        let header = header(20);
        for codec in CODECS {
            let mut packed = Vec::new();
            codec.compress(&payload(20, 300), None, &mut packed);
            for cut in 0..packed.len() {
                let (_, result) = seen(|see| in_pieces(&header, codec, &packed[..cut], usize::MAX, see));
                assert!(result.is_err(), "{codec:?} {cut}");
            }
        }
    }
}

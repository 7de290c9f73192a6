//! One column of values of variable length, filled value by value: which rows are null, where values end, and lists of
//! headers. Knows nothing of records.

use std::ops::Range;

use super::buffer::Buffer;
use crate::records::HeaderIter;

/// Offsets of variable-length columns are of 32 bits.
pub const MAX_COLUMN_BYTES: usize = i32::MAX as usize;

/// Which rows are null. Bits, one a row, are made of it if any are.
#[derive(Default)]
pub struct Validity {
    /// In order, and not next to each other.
    nulls: Vec<Range<u32>>,
    bits: Option<Vec<u8>>,
}

impl Validity {
    /// Notes that the `count` rows from `row` on are null, which are behind all that were.
    #[inline(always)]
    pub fn push_nulls(&mut self, row: usize, count: usize) {
        let (start, end) = (row as u32, (row + count) as u32);
        match self.nulls.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => self.nulls.push(start..end),
        }
    }

    /// Makes the bits of so many rows.
    fn finish(&mut self, rows: usize) {
        if self.nulls.is_empty() {
            return;
        }
        let mut bits = vec![0xff; rows.div_ceil(8)];
        for nulls in &self.nulls {
            clear(&mut bits, nulls.start as usize, nulls.end as usize);
        }
        let bit_count = 8 * bits.len();
        clear(&mut bits, rows, bit_count);
        self.bits = Some(bits);
    }

    /// None where no row is null.
    pub fn bits(&self) -> Option<&[u8]> {
        self.bits.as_deref()
    }

    pub fn null_count(&self) -> usize {
        self.nulls.iter().map(ExactSizeIterator::len).sum()
    }
}

fn clear(bits: &mut [u8], start: usize, end: usize) {
    let first_whole = start.next_multiple_of(8).min(end);
    let last_whole = (end / 8 * 8).max(first_whole);
    bits[first_whole / 8..last_whole / 8].fill(0);
    for bit in (start..first_whole).chain(last_whole..end) {
        bits[bit / 8] &= !(1 << (bit % 8));
    }
}

/// A column of binary values or strings.
pub struct BytesColumn {
    pub offsets: Buffer<i32>,
    pub data: Buffer<u8>,
    pub validity: Validity,
}

impl Default for BytesColumn {
    fn default() -> Self {
        let mut offsets = Buffer::default();
        offsets.push(0);
        Self { offsets, data: Buffer::default(), validity: Validity::default() }
    }
}

impl BytesColumn {
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    fn push(&mut self, value: Option<&[u8]>) {
        if value.is_none() {
            self.validity.push_nulls(self.rows(), 1);
        }
        self.data.extend(value.unwrap_or_default());
        self.offsets.push(self.data.len() as i32);
    }

    /// For `rows` more values, and whatever bytes there is room for.
    pub fn room(&mut self, rows: usize) -> BytesRoom<'_> {
        BytesRoom {
            first_byte: self.data.len(),
            bytes: self.data.room(),
            ends: &mut self.offsets.room()[..rows],
            validity: &mut self.validity,
        }
    }

    pub fn filled(&mut self, rows: usize, bytes: usize) {
        self.offsets.filled(rows);
        self.data.filled(bytes);
    }

    pub fn push_repeated(&mut self, value: &[u8], times: usize) {
        self.data.reserve(value.len() * times);
        self.offsets.reserve(times);
        for _ in 0..times {
            self.data.extend(value);
            self.offsets.push(self.data.len() as i32);
        }
    }

    fn fits(&self, length: usize) -> bool {
        self.data.len() + length <= MAX_COLUMN_BYTES
    }

    pub fn finish(&mut self) {
        self.validity.finish(self.rows());
        self.offsets.shrink();
        self.data.shrink();
    }
}

/// Room at the end of a column of binary values.
pub struct BytesRoom<'a> {
    pub bytes: &'a mut [u8],
    pub ends: &'a mut [i32],
    /// Bytes that the column has already.
    pub first_byte: usize,
    pub validity: &'a mut Validity,
}

/// Lists of headers; a record without any has a null, as in Spark.
pub struct HeadersColumn {
    pub offsets: Buffer<i32>,
    pub validity: Validity,
    pub keys: BytesColumn,
    pub values: BytesColumn,
}

impl Default for HeadersColumn {
    fn default() -> Self {
        let mut offsets = Buffer::default();
        offsets.push(0);
        Self {
            offsets,
            validity: Validity::default(),
            keys: BytesColumn::default(),
            values: BytesColumn::default(),
        }
    }
}

impl HeadersColumn {
    /// Appends the headers of the row after `rows` others, of which those not taken have none. False if there are more
    /// than fit, or than `max_bytes` before them.
    #[inline(never)]
    pub fn take(&mut self, rows: usize, headers: &[u8], max_bytes: usize) -> bool {
        let is_full = self.keys.data.len() + self.values.data.len() > max_bytes;
        if rows > 0 && (is_full || !self.fits(headers)) {
            return false;
        }
        self.fill(rows);
        for (key, value) in HeaderIter::new(headers) {
            self.keys.push(Some(String::from_utf8_lossy(key).as_bytes()));
            self.values.push(value);
        }
        self.offsets.push(self.keys.rows() as i32);
        true
    }

    /// Notes that there are so many rows now, those not taken without headers.
    fn fill(&mut self, rows: usize) {
        let known = self.offsets.len() - 1;
        if rows > known {
            self.validity.push_nulls(known, rows - known);
            self.offsets.fill(rows + 1, self.keys.rows() as i32);
        }
    }

    fn fits(&self, headers: &[u8]) -> bool {
        // A header takes at least two bytes, and its key grows threefold if none of it is UTF-8.
        self.keys.fits(headers.len() * 3) && self.values.fits(headers.len())
    }

    pub fn finish(&mut self, rows: usize) {
        self.fill(rows);
        self.validity.finish(rows);
        self.offsets.shrink();
        self.keys.finish();
        self.values.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_appears_with_the_first_null_and_counts_from_the_first_row() {
        for nulls_from in 0..20 {
            let mut validity = Validity::default();
            for row in nulls_from..20 {
                validity.push_nulls(row, 1);
            }
            validity.finish(20);
            assert_eq!(validity.null_count(), 20 - nulls_from);
            let bits = validity.bits().unwrap();
            assert_eq!(bits.len(), 3);
            for row in 0..20 {
                assert_eq!(bits[row / 8] >> (row % 8) & 1 == 1, row < nulls_from, "{nulls_from} {row}");
            }
        }
    }
}

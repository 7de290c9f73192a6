//! Snappy as Kafka has it: blocks in the framing of xerial's snappy-java. Bare snappy is read as well.

use super::blocks::Blocks;
use crate::error::{Reason, too_large};

/// Magic, version 1, oldest reader's version 1.
const XERIAL_HEADER: &[u8; 16] = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01";
const XERIAL_MAGIC: &[u8] = b"\x82SNAPPY\0";
/// What snappy-java's stream takes in one block.
const BLOCK_BYTES: usize = 32 * 1024;
/// A copy of three bytes stands for 64 bytes at most, so nothing shrinks by more than this.
const MAX_RATIO: usize = 22;

pub fn compress(data: &[u8], output: &mut Vec<u8>) {
    let mut encoder = snap::raw::Encoder::new();
    output.reserve(XERIAL_HEADER.len() + data.len() / 2);
    output.extend_from_slice(XERIAL_HEADER);
    for block in data.chunks(BLOCK_BYTES) {
        let length_at = output.len();
        let block_at = length_at + 4;
        output.resize(block_at + snap::raw::max_compress_len(block.len()), 0);
        let size =
            encoder.compress(block, &mut output[block_at..]).expect("the output has the size asked for");
        output[length_at..block_at].copy_from_slice(&(size as u32).to_be_bytes());
        output.truncate(block_at + size);
    }
}

pub fn decompress(data: &[u8], limit: usize) -> Result<Vec<u8>, Reason> {
    let mut output = Vec::new();
    let mut blocks = SnappyBlocks::new(data)?;
    while let Some(block) = blocks.cut_next()? {
        append_block(block, limit, &mut output)?;
    }
    Ok(output)
}

/// The blocks of xerial's framing; of bare snappy the only one.
pub struct SnappyBlocks<'a> {
    rest: &'a [u8],
    /// Of bare snappy that is still to come.
    is_bare: bool,
}

impl<'a> SnappyBlocks<'a> {
    pub fn new(data: &'a [u8]) -> Result<Self, Reason> {
        if !data.starts_with(XERIAL_MAGIC) {
            return Ok(Self { rest: data, is_bare: true });
        }
        let rest = data.get(XERIAL_HEADER.len()..).ok_or("snappy: the xerial header is cut short")?;
        Ok(Self { rest, is_bare: false })
    }

    fn cut_next(&mut self) -> Result<Option<&'a [u8]>, Reason> {
        if std::mem::take(&mut self.is_bare) {
            return Ok(Some(std::mem::take(&mut self.rest)));
        }
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (length, after) =
            self.rest.split_first_chunk::<4>().ok_or("snappy: a block's length is cut short")?;
        let length = u32::from_be_bytes(*length) as usize;
        let (block, rest) =
            after.split_at_checked(length).ok_or("snappy: a block is longer than the bytes that follow")?;
        self.rest = rest;
        Ok(Some(block))
    }
}

impl Blocks for SnappyBlocks<'_> {
    fn unpack_next(&mut self, output: &mut Vec<u8>) -> Result<bool, Reason> {
        let Some(block) = self.cut_next()? else { return Ok(false) };
        append_block(block, usize::MAX, output)?;
        Ok(true)
    }
}

fn append_block(block: &[u8], limit: usize, output: &mut Vec<u8>) -> Result<(), Reason> {
    let size = snap::raw::decompress_len(block).map_err(|error| format!("snappy: {error}"))?;
    if size > block.len().saturating_mul(MAX_RATIO) {
        return Err("snappy: a block claims a size that its bytes cannot hold".into());
    }
    let start = output.len();
    if size > limit - start {
        return Err(too_large(limit));
    }
    output.resize(start + size, 0);
    snap::raw::Decoder::new()
        .decompress(block, &mut output[start..])
        .map_err(|error| format!("snappy: {error}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_snappy_is_read() {
        let bare = snap::raw::Encoder::new().compress_vec(b"bare bare bare bare").unwrap();
        assert_eq!(decompress(&bare, 100).unwrap(), b"bare bare bare bare");
    }

    #[test]
    fn a_block_that_claims_gigabytes_is_refused_before_any_allocation() {
        let reason = decompress(&[0xff, 0xff, 0xff, 0xff, 0x0f, 0], usize::MAX).unwrap_err();
        assert!(reason.contains("cannot hold"), "{reason}");
    }
}

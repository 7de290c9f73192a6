//! LZ4 frames (KIP-57). Written as Kafka writes them: independent blocks of 64 KiB, no content checksum.
//!
//! The frame is handled here and not by a library, since Kafka before 0.10 made the header checksum over the
//! magic number too, and since a library allocates whole blocks for a frame of a few bytes.

use std::hash::Hasher;

use lz4_flex::block;
use twox_hash::XxHash32;

use super::blocks::Blocks;
use crate::error::{Reason, too_large};
use crate::spare_memory::SpareBytes;

/// How the byte at the end of a frame's header was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderChecksum {
    /// By the specification: batches of magic 2.
    Standard,
    /// Either by the specification or over the magic number too: message sets of magic 0 and 1 (KIP-57).
    StandardOrWithMagic,
}

const MAGIC: [u8; 4] = 0x184d_2204_u32.to_le_bytes();
const VERSION: u8 = 0b0100_0000;
const VERSION_MASK: u8 = 0b1100_0000;
const INDEPENDENT_BLOCKS: u8 = 0b0010_0000;
const BLOCK_CHECKSUMS: u8 = 0b0001_0000;
const CONTENT_SIZE: u8 = 0b0000_1000;
const CONTENT_CHECKSUM: u8 = 0b0000_0100;
const DICTIONARY_ID: u8 = 0b0000_0001;
const BLOCK_SIZE_64_KIB: u8 = 4 << 4;
const BLOCK_BYTES: usize = 64 * 1024;
const WINDOW_BYTES: usize = 64 * 1024;
const STORED_BLOCK: u32 = 0x8000_0000;
/// One byte of a length adds at most 255 bytes of output.
const MAX_RATIO: usize = 255;

fn xxhash32(data: &[u8]) -> u32 {
    let mut hasher = XxHash32::with_seed(0);
    hasher.write(data);
    hasher.finish() as u32
}

fn header_checksum(data: &[u8]) -> u8 {
    (xxhash32(data) >> 8) as u8
}

pub fn compress(data: &[u8], output: &mut Vec<u8>) {
    let descriptor = [VERSION | INDEPENDENT_BLOCKS, BLOCK_SIZE_64_KIB];
    output.reserve(data.len() / 2 + 15);
    output.extend_from_slice(&MAGIC);
    output.extend_from_slice(&descriptor);
    output.push(header_checksum(&descriptor));
    for plain in data.chunks(BLOCK_BYTES) {
        let length_at = output.len();
        let block_at = length_at + 4;
        output.resize(block_at + block::get_maximum_output_size(plain.len()), 0);
        let size =
            block::compress_into(plain, &mut output[block_at..]).expect("the output has the size asked for");
        let length = if size < plain.len() {
            output.truncate(block_at + size);
            size as u32
        } else {
            output.truncate(block_at);
            output.extend_from_slice(plain);
            plain.len() as u32 | STORED_BLOCK
        };
        output[length_at..block_at].copy_from_slice(&length.to_le_bytes());
    }
    output.extend_from_slice(&[0; 4]);
}

/// Makes the checksum of a frame that `compress` made as Kafka did before 0.10.
pub fn checksum_header_with_magic(frame: &mut [u8]) {
    let checksum_at = MAGIC.len() + 2;
    frame[checksum_at] = header_checksum(&frame[..checksum_at]);
}

/// The bytes of a frame that are still to be read.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Reason> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or("lz4: the frame is cut short")?;
        self.0 = rest;
        Ok(taken)
    }

    fn take_u32(&mut self) -> Result<u32, Reason> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}

struct FrameHeader {
    flags: u8,
    max_block_bytes: usize,
}

fn read_header(input: &mut Input<'_>, checksum: HeaderChecksum) -> Result<FrameHeader, Reason> {
    let frame = input.0;
    if input.take(4)? != MAGIC {
        return Err("lz4: not an LZ4 frame".into());
    }
    let fixed = input.take(2)?;
    let (flags, block_descriptor) = (fixed[0], fixed[1]);
    if flags & VERSION_MASK != VERSION {
        return Err("lz4: unknown version of the frame format".into());
    }
    if flags & DICTIONARY_ID != 0 {
        return Err("lz4: the frame needs a dictionary".into());
    }
    let max_block_bytes = match (block_descriptor >> 4) & 7 {
        4 => 64 << 10,
        5 => 256 << 10,
        6 => 1 << 20,
        7 => 4 << 20,
        code => return Err(format!("lz4: unknown block size {code}").into()),
    };
    if flags & CONTENT_SIZE != 0 {
        input.take(8)?;
    }
    let header_bytes = frame.len() - input.0.len();
    let found = input.take(1)?[0];
    let good = found == header_checksum(&frame[4..header_bytes])
        || (checksum == HeaderChecksum::StandardOrWithMagic
            && found == header_checksum(&frame[..header_bytes]));
    if !good {
        return Err("lz4: wrong checksum of the frame's header".into());
    }
    Ok(FrameHeader { flags, max_block_bytes })
}

pub fn decompress(data: &[u8], limit: usize, checksum: HeaderChecksum) -> Result<SpareBytes, Reason> {
    // One byte above the limit, so that a block that ends there can be told from one that goes on.
    let mut output = SpareBytes::with_length(size_at_most(data, checksum).min(limit.saturating_add(1)));
    let mut length = 0;
    let mut input = Input(data);
    while !input.0.is_empty() {
        let header = read_header(&mut input, checksum)?;
        let frame_start = length;
        while let Some(block) = next_block(&mut input, &header)? {
            let (before, room) = output.as_mut_slice().split_at_mut(length);
            length += block.decompress(&header, &before[frame_start..], room, limit)?;
            if length > limit {
                return Err(too_large(limit));
            }
        }
        if header.flags & CONTENT_CHECKSUM != 0 && input.take_u32()? != xxhash32(&output[frame_start..length])
        {
            return Err("lz4: wrong checksum of the frame's content".into());
        }
    }
    Ok(output.truncated(length))
}

/// The blocks of frames, to be unpacked one after the other.
pub struct Lz4Blocks<'a> {
    input: Input<'a>,
    frame: Option<(FrameHeader, XxHash32)>,
    /// What the frame held last, which blocks that are not independent refer to.
    window: Vec<u8>,
}

impl<'a> Lz4Blocks<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self { input: Input(data), frame: None, window: Vec::new() }
    }
}

impl Blocks for Lz4Blocks<'_> {
    fn unpack_next(&mut self, output: &mut Vec<u8>) -> Result<bool, Reason> {
        let Some((header, content)) = &mut self.frame else {
            if self.input.0.is_empty() {
                return Ok(false);
            }
            let header = read_header(&mut self.input, HeaderChecksum::Standard)?;
            self.frame = Some((header, XxHash32::with_seed(0)));
            self.window.clear();
            return Ok(true);
        };
        let Some(block) = next_block(&mut self.input, header)? else {
            if header.flags & CONTENT_CHECKSUM != 0 && self.input.take_u32()? != content.finish() as u32 {
                return Err("lz4: wrong checksum of the frame's content".into());
            }
            self.frame = None;
            return Ok(true);
        };
        let start = output.len();
        output.resize(start + block.size_at_most(header), 0);
        let length = block.decompress(header, &self.window, &mut output[start..], usize::MAX)?;
        output.truncate(start + length);
        let unpacked = &output[start..];
        content.write(unpacked);
        if header.flags & INDEPENDENT_BLOCKS == 0 {
            self.window.extend_from_slice(&unpacked[unpacked.len().saturating_sub(WINDOW_BYTES)..]);
            self.window.drain(..self.window.len().saturating_sub(WINDOW_BYTES));
        }
        Ok(true)
    }
}

/// More bytes than this do not come out of the frames; what is wrong with them shows when they are read.
fn size_at_most(data: &[u8], checksum: HeaderChecksum) -> usize {
    let mut input = Input(data);
    let mut size = 0_usize;
    while let Ok(header) = read_header(&mut input, checksum) {
        while let Ok(Some(block)) = next_block(&mut input, &header) {
            size = size.saturating_add(block.size_at_most(&header));
        }
        if header.flags & CONTENT_CHECKSUM != 0 && input.take(4).is_err() {
            break;
        }
    }
    size
}

struct Block<'a> {
    bytes: &'a [u8],
    is_stored: bool,
    checksum: Option<u32>,
}

/// None where the frame ends.
fn next_block<'a>(input: &mut Input<'a>, header: &FrameHeader) -> Result<Option<Block<'a>>, Reason> {
    let length = input.take_u32()?;
    if length == 0 {
        return Ok(None);
    }
    let bytes = input.take((length & !STORED_BLOCK) as usize)?;
    let checksum = if header.flags & BLOCK_CHECKSUMS != 0 { Some(input.take_u32()?) } else { None };
    Ok(Some(Block { bytes, is_stored: length & STORED_BLOCK != 0, checksum }))
}

impl Block<'_> {
    fn size_at_most(&self, header: &FrameHeader) -> usize {
        if self.is_stored {
            return self.bytes.len();
        }
        header.max_block_bytes.min(self.bytes.len().saturating_mul(MAX_RATIO))
    }

    /// Writes what the block holds to the start of `room`, behind what the frame's blocks `before` it held, and
    /// says how much that is. `room` is too small only where the whole would be above the limit.
    fn decompress(
        &self,
        header: &FrameHeader,
        before: &[u8],
        room: &mut [u8],
        limit: usize,
    ) -> Result<usize, Reason> {
        if self.checksum.is_some_and(|checksum| checksum != xxhash32(self.bytes)) {
            return Err("lz4: wrong checksum of a block".into());
        }
        if self.is_stored {
            if self.bytes.len() > header.max_block_bytes {
                return Err("lz4: a block is larger than the frame allows".into());
            }
            room.get_mut(..self.bytes.len()).ok_or_else(|| too_large(limit))?.copy_from_slice(self.bytes);
            return Ok(self.bytes.len());
        }
        let size = self.size_at_most(header);
        let is_cut = room.len() < size;
        let target = if is_cut { room } else { &mut room[..size] };
        let written = if header.flags & INDEPENDENT_BLOCKS != 0 {
            block::decompress_into(self.bytes, target)
        } else {
            block::decompress_into_with_dict(
                self.bytes,
                target,
                &before[before.len().saturating_sub(WINDOW_BYTES)..],
            )
        };
        written.map_err(|error| match error {
            block::DecompressError::OutputTooSmall { .. } if is_cut => too_large(limit),
            error => format!("lz4: {error}").into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_header_checksum_is_taken_only_where_it_was_written() {
        let mut frame = Vec::new();
        compress(b"an old message", &mut frame);
        frame[6] = header_checksum(&frame[..6]);
        let reason = decompress(&frame, 100, HeaderChecksum::Standard).err().unwrap();
        assert!(reason.contains("header"));
        let output = decompress(&frame, 100, HeaderChecksum::StandardOrWithMagic).unwrap();
        assert_eq!(&output[..], b"an old message");
    }

    #[test]
    fn blocks_that_refer_to_earlier_blocks_are_read() {
        let descriptor = [VERSION, BLOCK_SIZE_64_KIB];
        let mut frame = MAGIC.to_vec();
        frame.extend_from_slice(&descriptor);
        frame.push(header_checksum(&descriptor));
        let first = b"Barnabas the messenger, ".repeat(10);
        let dictionary_block = {
            let mut block = vec![0; 1000];
            let size = block::compress_into_with_dict(&first, &mut block, &first).unwrap();
            block.truncate(size);
            block
        };
        frame.extend_from_slice(&(first.len() as u32 | STORED_BLOCK).to_le_bytes());
        frame.extend_from_slice(&first);
        frame.extend_from_slice(&(dictionary_block.len() as u32).to_le_bytes());
        frame.extend_from_slice(&dictionary_block);
        frame.extend_from_slice(&[0; 4]);
        let output = decompress(&frame, 10_000, HeaderChecksum::Standard).unwrap();
        assert_eq!(output[..], first.repeat(2));
        let (mut blocks, mut in_blocks) = (Lz4Blocks::new(&frame), Vec::new());
        while blocks.unpack_next(&mut in_blocks).unwrap() {}
        assert_eq!(in_blocks, first.repeat(2));
    }
}

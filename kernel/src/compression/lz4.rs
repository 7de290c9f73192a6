//! LZ4 frames (KIP-57). Written as Kafka writes them: independent blocks of 64 KiB, no content checksum.
//!
//! The frame is handled here and not by a library, since Kafka before 0.10 made the header checksum over the
//! magic number too, and since a library allocates whole blocks for a frame of a few bytes.

use std::hash::Hasher;

use lz4_flex::block;
use twox_hash::XxHash32;

use super::too_large;
use crate::error::Reason;

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

pub fn decompress(data: &[u8], limit: usize, checksum: HeaderChecksum) -> Result<Vec<u8>, Reason> {
    let mut output = Vec::with_capacity(data.len().saturating_mul(3).min(limit));
    let mut input = Input(data);
    while !input.0.is_empty() {
        let header = read_header(&mut input, checksum)?;
        let frame_start = output.len();
        loop {
            let length = input.take_u32()?;
            if length == 0 {
                break;
            }
            append_block(&mut input, length, &header, frame_start, limit, &mut output)?;
        }
        if header.flags & CONTENT_CHECKSUM != 0 && input.take_u32()? != xxhash32(&output[frame_start..]) {
            return Err("lz4: wrong checksum of the frame's content".into());
        }
    }
    Ok(output)
}

fn append_block(
    input: &mut Input<'_>,
    length: u32,
    header: &FrameHeader,
    frame_start: usize,
    limit: usize,
    output: &mut Vec<u8>,
) -> Result<(), Reason> {
    let block = input.take((length & !STORED_BLOCK) as usize)?;
    if header.flags & BLOCK_CHECKSUMS != 0 && input.take_u32()? != xxhash32(block) {
        return Err("lz4: wrong checksum of a block".into());
    }
    let start = output.len();
    if length & STORED_BLOCK != 0 {
        if block.len() > header.max_block_bytes {
            return Err("lz4: a block is larger than the frame allows".into());
        }
        if block.len() > limit - start {
            return Err(too_large(limit));
        }
        output.extend_from_slice(block);
        return Ok(());
    }
    // One byte above the limit, so that a block that ends there can be told from one that goes on.
    let room = header.max_block_bytes.min(block.len().saturating_mul(MAX_RATIO)).min(limit - start + 1);
    output.resize(start + room, 0);
    let (before, target) = output.split_at_mut(start);
    let written = if header.flags & INDEPENDENT_BLOCKS != 0 {
        block::decompress_into(block, target)
    } else {
        let window = &before[frame_start.max(start.saturating_sub(WINDOW_BYTES))..];
        block::decompress_into_with_dict(block, target, window)
    };
    let written = match written {
        Ok(written) if written <= limit - start => written,
        Ok(_) => return Err(too_large(limit)),
        Err(block::DecompressError::OutputTooSmall { .. }) if room > limit - start => {
            return Err(too_large(limit));
        }
        Err(error) => return Err(format!("lz4: {error}").into()),
    };
    output.truncate(start + written);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_header_checksum_is_taken_only_where_it_was_written() {
        let mut frame = Vec::new();
        compress(b"an old message", &mut frame);
        frame[6] = header_checksum(&frame[..6]);
        assert!(decompress(&frame, 100, HeaderChecksum::Standard).unwrap_err().contains("header"));
        let output = decompress(&frame, 100, HeaderChecksum::StandardOrWithMagic).unwrap();
        assert_eq!(output, b"an old message");
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
        assert_eq!(decompress(&frame, 10_000, HeaderChecksum::Standard).unwrap(), first.repeat(2));
    }
}

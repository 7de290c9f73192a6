//! The codecs of record batches: one shot from bytes to bytes, never above a given size, or piece by piece.

mod blocks;
mod level_choice;
mod lz4;
mod snappy;
mod zstandard;

use std::io::{Read, Write};

use crate::error::{Reason, too_large};
use crate::spare_memory::SpareBytes;

use blocks::BlockReader;

pub use level_choice::LevelChoice;
pub use lz4::{HeaderChecksum, checksum_header_with_magic};

/// A codec, numbered as in the attributes of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    None = 0,
    Gzip = 1,
    Snappy = 2,
    Lz4 = 3,
    Zstd = 4,
}

impl Compression {
    pub const NAMES: &str = "none, gzip, snappy, lz4, zstd";

    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "none" => Self::None,
            "gzip" => Self::Gzip,
            "snappy" => Self::Snappy,
            "lz4" => Self::Lz4,
            "zstd" => Self::Zstd,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// The codec in the lowest three bits of a batch's attributes.
    pub fn from_attributes(attributes: i16) -> Result<Self, Reason> {
        Ok(match attributes & 7 {
            0 => Self::None,
            1 => Self::Gzip,
            2 => Self::Snappy,
            3 => Self::Lz4,
            4 => Self::Zstd,
            code => return Err(format!("unknown compression codec {code}").into()),
        })
    }

    /// The levels that the codec takes; None where it has none.
    pub fn levels(self) -> Option<std::ops::RangeInclusive<i32>> {
        match self {
            Self::Gzip => Some(0..=9),
            Self::Zstd => Some(zstd::compression_level_range()),
            Self::None | Self::Snappy | Self::Lz4 => None,
        }
    }

    /// Appends `data`, compressed, to `output`. `level` None is the codec's default; codecs without levels
    /// ignore it.
    pub fn compress(self, data: &[u8], level: Option<i32>, output: &mut Vec<u8>) {
        match self {
            Self::None => output.extend_from_slice(data),
            Self::Gzip => compress_gzip(data, level, output),
            Self::Snappy => snappy::compress(data, output),
            Self::Lz4 => lz4::compress(data, output),
            Self::Zstd => zstandard::compress(data, zstandard::Search::at(level), output),
        }
    }

    /// The decompressed bytes, at most `limit` of them.
    pub fn decompress(self, data: &[u8], limit: usize) -> Result<SpareBytes, Reason> {
        self.decompress_with(data, limit, HeaderChecksum::Standard)
    }

    /// The decompressed bytes as they come: little of them is in memory at a time.
    pub fn reader(self, data: &[u8]) -> Result<Box<dyn Read + '_>, Reason> {
        Ok(match self {
            Self::None => Box::new(data),
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(data)),
            Self::Snappy => Box::new(BlockReader::new(snappy::SnappyBlocks::new(data)?)),
            Self::Lz4 => Box::new(BlockReader::new(lz4::Lz4Blocks::new(data))),
            Self::Zstd => Box::new(zstandard::reader(data)?),
        })
    }

    /// As `decompress`, with the LZ4 header checksum that batches of this age have.
    pub fn decompress_with(
        self,
        data: &[u8],
        limit: usize,
        header_checksum: HeaderChecksum,
    ) -> Result<SpareBytes, Reason> {
        Ok(match self {
            Self::None if data.len() > limit => return Err(too_large(limit)),
            Self::None => data.to_vec().into(),
            Self::Gzip => fitting(decompress_gzip(data, limit)?),
            Self::Snappy => fitting(snappy::decompress(data, limit)?),
            Self::Lz4 => lz4::decompress(data, limit, header_checksum)?,
            Self::Zstd => zstandard::decompress(data, limit)?,
        })
    }
}

fn fitting(mut output: Vec<u8>) -> SpareBytes {
    if output.capacity() / 2 > output.len() {
        output.shrink_to_fit();
    }
    output.into()
}

fn compress_gzip(data: &[u8], level: Option<i32>, output: &mut Vec<u8>) {
    let level = level.map_or_else(flate2::Compression::default, |level| {
        flate2::Compression::new(level.clamp(0, 9) as u32)
    });
    let mut encoder = flate2::write::GzEncoder::new(output, level);
    encoder.write_all(data).and_then(|()| encoder.finish()).expect("writing to a Vec does not fail");
}

fn decompress_gzip(data: &[u8], limit: usize) -> Result<Vec<u8>, Reason> {
    // Deflate shrinks by no more than 1:1032, and most data by less than 1:4.
    let mut output = Vec::with_capacity(data.len().saturating_mul(4).min(limit));
    let mut decoder = flate2::bufread::MultiGzDecoder::new(data).take(limit as u64 + 1);
    decoder.read_to_end(&mut output).map_err(|error| format!("gzip: {error}"))?;
    if output.len() > limit {
        return Err(too_large(limit));
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Compression; 5] =
        [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

    fn samples() -> Vec<Vec<u8>> {
        let text = b"the castle was silent, the village lay under snow; ".repeat(5000);
        let mut noise = Vec::new();
        let mut state = 7_u32;
        for _ in 0..300_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            noise.push((state >> 24) as u8);
        }
        vec![Vec::new(), b"k".to_vec(), text, noise, vec![0; 1_000_000]]
    }

    #[test]
    fn every_codec_gives_back_what_it_was_given() {
        for codec in ALL {
            for sample in samples() {
                let mut compressed = Vec::new();
                codec.compress(&sample, None, &mut compressed);
                let output = codec.decompress(&compressed, sample.len()).unwrap();
                assert_eq!(output[..], sample, "{codec:?}");
            }
        }
    }

    #[test]
    fn what_zstd_makes_at_a_level_depends_on_no_other_batch() {
        let zstd = |data: &[u8], level| {
            let mut compressed = Vec::new();
            Compression::Zstd.compress(data, level, &mut compressed);
            compressed
        };
        let large: Vec<u8> =
            (0..40_000_u64).flat_map(|n| (n * n % 65_521).to_string().into_bytes()).collect();
        let small = &large[..10_000];
        for (data, level) in
            [(&large[..], 3), (small, 1), (small, 3), (&large[..], 1), (small, 19), (&large[..], -5)]
        {
            assert_eq!(zstd(data, Some(level)), zstd::bulk::compress(data, level).unwrap());
        }
        assert_eq!(zstd(small, None), zstd(small, Some(3)));
    }

    #[test]
    fn piece_by_piece_the_same_comes_out() {
        for codec in ALL {
            for sample in samples() {
                let mut compressed = Vec::new();
                codec.compress(&sample, None, &mut compressed);
                let mut output = Vec::new();
                codec.reader(&compressed).unwrap().read_to_end(&mut output).unwrap();
                assert_eq!(output, sample, "{codec:?}");
            }
        }
    }

    #[test]
    fn more_than_the_limit_is_refused() {
        for codec in ALL {
            let mut compressed = Vec::new();
            codec.compress(&vec![0; 1_000_000], None, &mut compressed);
            let reason = codec.decompress(&compressed, 999_999).unwrap_err();
            assert!(reason.contains("more than the limit"), "{codec:?}: {reason}");
        }
    }

    #[test]
    fn cut_or_changed_bytes_never_panic() {
        for codec in ALL {
            let mut compressed = Vec::new();
            codec.compress(&samples()[2][..2000], None, &mut compressed);
            for cut in 0..compressed.len() {
                let _ = codec.decompress(&compressed[..cut], 1 << 20);
                for bit in 0..8 {
                    let mut changed = compressed.clone();
                    changed[cut] ^= 1 << bit;
                    let _ = codec.decompress(&changed, 1 << 20);
                }
            }
        }
    }
}

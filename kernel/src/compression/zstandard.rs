//! zstd, with one context for each thread.

use std::cell::RefCell;
use std::io::Cursor;

use zstd::zstd_safe::{CParameter, ParamSwitch};

use crate::error::{Reason, too_large};
use crate::spare_memory::SpareBytes;

/// zstd's own default, as every client of Kafka has it.
pub const DEFAULT_LEVEL: i32 = zstd::DEFAULT_COMPRESSION_LEVEL;

/// How zstd looks for matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// As level 1, at two of three bytes. What is no match is entropy coded, as at any level.
    Sparse,
    Level(i32),
}

impl Search {
    /// At a level, or as hard as by default.
    pub fn at(level: Option<i32>) -> Self {
        Self::Level(level.unwrap_or(DEFAULT_LEVEL))
    }
}

thread_local! {
    // Making a zstd context costs more than a small batch does; one for each thread is kept.
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

pub fn compress(data: &[u8], search: Search, output: &mut Vec<u8>) {
    // 0 is the level's own. Any other, which makes the steps of level 1, has zstd leave literals as they are by itself.
    let (level, target_length, literals) = match search {
        Search::Sparse => (1, 2, ParamSwitch::Enable),
        Search::Level(level) => (level, 0, ParamSwitch::Auto),
    };
    COMPRESSOR.with_borrow_mut(|slot| {
        let compressor = slot.get_or_insert_with(zstd::bulk::Compressor::default);
        compressor.set_compression_level(level).expect("zstd takes any level");
        for parameter in
            [CParameter::TargetLength(target_length), CParameter::LiteralCompressionMode(literals)]
        {
            compressor.set_parameter(parameter).expect("zstd has these parameters");
        }
        let start = output.len();
        output.reserve(zstd::zstd_safe::compress_bound(data.len()));
        let mut target = Cursor::new(std::mem::take(output));
        target.set_position(start as u64);
        compressor.compress_to_buffer(data, &mut target).expect("the output is as large as zstd asks for");
        *output = target.into_inner();
    });
}

/// Has a window of 128 MiB at most, as Kafka's has.
pub fn reader(data: &[u8]) -> Result<impl std::io::Read + '_, Reason> {
    zstd::stream::read::Decoder::with_buffer(data).map_err(|error| format!("zstd: {error}").into())
}

pub fn decompress(data: &[u8], limit: usize) -> Result<SpareBytes, Reason> {
    DECOMPRESSOR.with_borrow_mut(|slot| {
        let decompressor = match slot {
            Some(decompressor) => decompressor,
            None => slot.insert(zstd::bulk::Decompressor::new().map_err(|error| format!("zstd: {error}"))?),
        };
        let size = zstd::bulk::Decompressor::upper_bound(data).unwrap_or(limit).min(limit);
        let mut output = SpareBytes::with_length(size);
        let written = decompressor.decompress_to_buffer(data, output.as_mut_slice()).map_err(|error| {
            let message = error.to_string();
            if message.contains("too small") { too_large(limit) } else { format!("zstd: {message}").into() }
        })?;
        Ok(output.truncated(written))
    })
}

//! Codecs that pack block by block, read piece by piece.

use std::io::Read;

use crate::error::Reason;

/// What is packed in blocks, to be unpacked one after the other.
pub trait Blocks {
    /// Appends the content of the next one; whether there was one.
    fn unpack_next(&mut self, output: &mut Vec<u8>) -> Result<bool, Reason>;
}

/// Gives out what blocks hold, a piece at a time.
pub struct BlockReader<B> {
    blocks: B,
    block: Vec<u8>,
    taken: usize,
}

impl<B: Blocks> BlockReader<B> {
    pub fn new(blocks: B) -> Self {
        Self { blocks, block: Vec::new(), taken: 0 }
    }
}

impl<B: Blocks> Read for BlockReader<B> {
    fn read(&mut self, output: &mut [u8]) -> std::io::Result<usize> {
        while self.taken == self.block.len() {
            self.block.clear();
            self.taken = 0;
            match self.blocks.unpack_next(&mut self.block) {
                Ok(true) => {}
                Ok(false) => return Ok(0),
                Err(reason) => return Err(std::io::Error::other(reason.into_owned())),
            }
        }
        let count = output.len().min(self.block.len() - self.taken);
        output[..count].copy_from_slice(&self.block[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}

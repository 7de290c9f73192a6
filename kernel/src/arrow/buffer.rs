//! The memory of a column: grows at its end, out of spare memory, and goes back there. Knows nothing of records.

use std::ops::Deref;

use crate::spare_memory::{Kept, SpareMemory};

const LEAST_BYTES: usize = 64;
/// Below this, what is left unused of a buffer is not worth a copy.
const SMALL_BYTES: usize = 128 << 10;

/// Values that were appended, and room for more.
pub struct Buffer<T: Kept> {
    /// What is appended is written over old contents.
    memory: SpareMemory<T>,
    length: usize,
}

impl<T: Kept> Default for Buffer<T> {
    fn default() -> Self {
        Self { memory: Vec::new().into(), length: 0 }
    }
}

impl<T: Kept> Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.memory[..self.length]
    }
}

impl<T: Kept> Buffer<T> {
    pub fn len(&self) -> usize {
        self.length
    }

    /// Room for this many more without growing.
    pub fn reserve(&mut self, more: usize) {
        if self.memory.len() - self.length < more {
            self.grow(more);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) {
        let least = (self.length + more).max(LEAST_BYTES / size_of::<T>());
        let mut memory = SpareMemory::new(least, 2 * least, least.max(2 * self.length));
        memory[..self.length].copy_from_slice(self);
        self.memory = memory;
    }

    #[inline(always)]
    pub fn push(&mut self, value: T) {
        match self.memory.get_mut(self.length) {
            Some(place) => *place = value,
            None => {
                self.grow(1);
                self.memory[self.length] = value;
            }
        }
        self.length += 1;
    }

    /// Fills up with `value` to `length`.
    pub fn fill(&mut self, length: usize, value: T) {
        let more = length.saturating_sub(self.length);
        self.reserve(more);
        self.memory[self.length..self.length + more].fill(value);
        self.length += more;
    }

    /// What may be filled without growing.
    pub fn room(&mut self) -> &mut [T] {
        &mut self.memory[self.length..]
    }

    /// The first so many of `room` were filled.
    pub fn filled(&mut self, count: usize) {
        assert!(count <= self.memory.len() - self.length, "more than there is room for");
        self.length += count;
    }

    /// Goes into memory of its own size, where most of what it has is unused, and gives that back.
    pub fn shrink(&mut self) {
        if self.memory.len() * size_of::<T>() > SMALL_BYTES && self.memory.len() / 2 > self.length {
            self.memory = self.to_vec().into();
        }
    }
}

impl Buffer<u8> {
    #[inline(always)]
    pub fn extend(&mut self, bytes: &[u8]) {
        let start = self.length;
        let end = start + bytes.len();
        match self.memory.get_mut(start..end) {
            Some(room) => room.copy_from_slice(bytes),
            None => {
                self.grow(bytes.len());
                self.memory[start..end].copy_from_slice(bytes);
            }
        }
        self.length = end;
    }
}

//! Memory that batches, frames and columns were in, kept for the next ones: fresh pages cost more than what is
//! written to them.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::memory::{Element, LEAST_PAGED_BYTES, Memory};
use crate::shared_bytes::BytesOwner;

const MAX_BUFFERS: usize = 64;
const MAX_BYTES: usize = 32 << 20;

/// Spare buffers of one kind, the latest last.
pub struct Pool<B>(Mutex<Vec<B>>);

/// What a pool holds.
pub trait SpareBuffer {
    /// The room it has.
    fn bytes(&self) -> usize;
}

impl SpareBuffer for Vec<u8> {
    fn bytes(&self) -> usize {
        self.capacity()
    }
}

impl<T: Element> SpareBuffer for Memory<T> {
    fn bytes(&self) -> usize {
        size_of_val::<[T]>(self)
    }
}

impl<B: SpareBuffer> Pool<B> {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// None while another thread is there, which is not worth waiting for (and after a fork, may never end).
    fn try_lock(&self) -> Option<MutexGuard<'_, Vec<B>>> {
        match self.0.try_lock() {
            Ok(spare) => Some(spare),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The smallest with room for `least` bytes and not for many times as much as `most`.
    fn take(&self, least: usize, most: usize) -> Option<B> {
        if most < LEAST_PAGED_BYTES {
            return None;
        }
        let mut spare = self.try_lock()?;
        let sizes = spare.iter().map(SpareBuffer::bytes).enumerate();
        let (index, _) =
            sizes.filter(|(_, size)| *size >= least && size / 2 <= most).min_by_key(|(_, size)| *size)?;
        Some(spare.swap_remove(index))
    }

    fn give_back(&self, buffer: B) {
        if !(LEAST_PAGED_BYTES..=MAX_BYTES).contains(&buffer.bytes()) {
            return;
        }
        let Some(mut spare) = self.try_lock() else { return };
        spare.push(buffer);
        let mut total: usize = spare.iter().map(SpareBuffer::bytes).sum();
        // The oldest go: those are of sizes that nobody has asked for of late.
        while spare.len() > MAX_BUFFERS || total > MAX_BYTES {
            total -= spare.remove(0).bytes();
        }
    }
}

/// What spare memory is kept of, each kind apart.
pub trait Kept: Element {
    fn pool() -> &'static Pool<Memory<Self>>;
}

macro_rules! kept {
    ($($element:ty),*) => {
        $(impl Kept for $element {
            fn pool() -> &'static Pool<Memory<Self>> {
                static SPARE: Pool<Memory<$element>> = Pool::new();
                &SPARE
            }
        })*
    };
}

kept!(u8, i32, i64);

static VECTORS: Pool<Vec<u8>> = Pool::new();

/// A spare vector with room for `least` bytes and not for many times as much as `most`, with old contents.
pub fn take(least: usize, most: usize) -> Option<Vec<u8>> {
    VECTORS.take(least, most)
}

pub fn give_back(vector: Vec<u8>) {
    VECTORS.give_back(vector);
}

/// Memory that becomes spare when it is dropped, with whatever contents.
#[derive(Debug, Default)]
pub struct SpareMemory<T: Kept>(Memory<T>);

impl<T: Kept> SpareMemory<T> {
    /// For `least` elements at least, and not for many times as much as `most`. `usual` is what is made anew.
    pub fn new(least: usize, most: usize, usual: usize) -> Self {
        let bytes = |elements: usize| elements.saturating_mul(size_of::<T>());
        Self(T::pool().take(bytes(least), bytes(most)).unwrap_or_else(|| Memory::zeroed(usual)))
    }
}

impl<T: Kept> Deref for SpareMemory<T> {
    type Target = Memory<T>;

    #[inline(always)]
    fn deref(&self) -> &Memory<T> {
        &self.0
    }
}

impl<T: Kept> DerefMut for SpareMemory<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Memory<T> {
        &mut self.0
    }
}

impl<T: Kept> From<Vec<T>> for SpareMemory<T> {
    fn from(elements: Vec<T>) -> Self {
        Self(elements.into())
    }
}

impl<T: Kept> Drop for SpareMemory<T> {
    fn drop(&mut self) {
        T::pool().give_back(std::mem::take(&mut self.0));
    }
}

/// Bytes in memory that becomes spare when they are dropped.
#[derive(Debug, Default)]
pub struct SpareBytes {
    memory: SpareMemory<u8>,
    length: usize,
}

impl SpareBytes {
    /// With this length, and whatever contents. What is made anew is rounded up, or it would not fit the next, of
    /// about the same length.
    pub fn with_length(length: usize) -> Self {
        let usual =
            if length < LEAST_PAGED_BYTES { length } else { length.next_multiple_of(LEAST_PAGED_BYTES) };
        Self { memory: SpareMemory::new(length, length, usual), length }
    }

    /// The first so many bytes, in memory that is not far too large.
    pub fn truncated(mut self, length: usize) -> Self {
        self.length = self.length.min(length);
        if self.memory.len() / 2 > self.length {
            return self.to_vec().into();
        }
        self
    }

    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.memory[..self.length]
    }
}

impl From<Vec<u8>> for SpareBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self { length: bytes.len(), memory: bytes.into() }
    }
}

impl Deref for SpareBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[..self.length]
    }
}

impl BytesOwner for SpareBytes {
    fn bytes(&self) -> &[u8] {
        self
    }
}

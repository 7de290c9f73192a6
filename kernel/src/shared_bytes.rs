//! Immutable bytes with many readers: a fetched buffer or a decompressed payload that records point into.

use std::sync::Arc;

/// Something that keeps bytes alive and never changes them.
pub trait BytesOwner: Send + Sync {
    fn bytes(&self) -> &[u8];

    /// Whether any thread may drop this at any time: it waits for nothing.
    fn is_free(&self) -> bool {
        true
    }
}

impl BytesOwner for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// A part of some owner's bytes; clones share the owner.
#[derive(Clone)]
pub struct SharedBytes {
    owner: Arc<dyn BytesOwner>,
    start: usize,
    end: usize,
}

impl SharedBytes {
    pub fn new(owner: impl BytesOwner + 'static) -> Self {
        let end = owner.bytes().len();
        Self { owner: Arc::new(owner), start: 0, end }
    }

    /// # Panics
    /// If the range lies outside.
    pub fn slice(&self, start: usize, end: usize) -> Self {
        assert!(start <= end && end <= self.len());
        Self { owner: Arc::clone(&self.owner), start: self.start + start, end: self.start + end }
    }

    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether any thread may have a clone, and drop it at any time.
    pub fn is_free(&self) -> bool {
        self.owner.is_free()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.owner.bytes()[self.start..self.end]
    }
}

//! Memory that frames are received into, used in turn like the slots of a ring.
//!
//! Knows nothing of frames but their size. Consumers say how much they want to have fetched (`FrameRoom`); up to that
//! a frame gets memory of its own, so that all of it has been used after a few frames, and beyond that what has been
//! spare for longest. Taking what was used last would keep the processor's cache warmer, but let the memory of a
//! process grow whenever its consumer falls behind by a frame more than ever before.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::memory::Memory;

/// So many frames get memory of their own; more are there only while they are in use.
const MOST_SLOTS: usize = 8;
/// Sizes are rounded up to this, or to a power of two: pages that no frame has reached are the system's still.
const GRANULE_BYTES: usize = 256 << 10;
const LARGEST_ROUNDED_BYTES: usize = 32 << 20;

fn rounded(size: usize) -> usize {
    if size <= LARGEST_ROUNDED_BYTES {
        size.max(GRANULE_BYTES).next_power_of_two()
    } else {
        size.next_multiple_of(GRANULE_BYTES)
    }
}

#[derive(Debug)]
struct Slot {
    memory: Memory<u8>,
    /// The size of the largest frame that was here: what it takes of the machine's memory.
    used_bytes: usize,
}

/// The memory for the frames of all consumers in a process.
#[derive(Debug)]
pub struct Ring {
    room: AtomicUsize,
    /// In all slots, also those with frames in them.
    used_bytes: AtomicUsize,
    slots: AtomicUsize,
    /// The first has been so for longest.
    spare: Mutex<VecDeque<Slot>>,
}

static RING: Ring = Ring::new();

impl Ring {
    const fn new() -> Self {
        Self {
            room: AtomicUsize::new(0),
            used_bytes: AtomicUsize::new(0),
            slots: AtomicUsize::new(0),
            spare: Mutex::new(VecDeque::new()),
        }
    }

    /// None while another thread is there, which is not worth waiting for (and after a fork, may never end).
    fn try_spare(&self) -> Option<MutexGuard<'_, VecDeque<Slot>>> {
        match self.spare.try_lock() {
            Ok(spare) => Some(spare),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn has_room_for(&self, size: usize) -> bool {
        self.used_bytes.load(Ordering::Relaxed) + size <= self.room.load(Ordering::Relaxed)
    }

    fn take(&'static self, size: usize) -> FrameMemory {
        let slot = self.spare_slot(size).unwrap_or_else(|| self.new_slot(size));
        FrameMemory { slot, ring: self }
    }

    fn spare_slot(&self, size: usize) -> Option<Slot> {
        let mut spare = self.try_spare()?;
        if self.has_room_for(size) && self.slots.load(Ordering::Relaxed) < MOST_SLOTS {
            return None;
        }
        if let Some(index) = spare.iter().position(|slot| slot.memory.len() >= size) {
            let mut slot = spare.remove(index)?;
            self.used_bytes.fetch_add(size.saturating_sub(slot.used_bytes), Ordering::Relaxed);
            slot.used_bytes = slot.used_bytes.max(size);
            return Some(slot);
        }
        // Those of sizes that nobody asks for any more make room for one that fits.
        while !self.has_room_for(size) {
            self.forget(&spare.pop_front()?);
        }
        None
    }

    fn new_slot(&self, size: usize) -> Slot {
        self.slots.fetch_add(1, Ordering::Relaxed);
        self.used_bytes.fetch_add(size, Ordering::Relaxed);
        Slot { memory: Memory::zeroed(rounded(size)), used_bytes: size }
    }

    fn forget(&self, slot: &Slot) {
        self.slots.fetch_sub(1, Ordering::Relaxed);
        self.used_bytes.fetch_sub(slot.used_bytes, Ordering::Relaxed);
    }

    fn give_back(&self, slot: Slot) {
        if let Some(mut spare) = self.try_spare() {
            // One is kept where nobody has asked for room, too.
            if self.has_room_for(0) || spare.is_empty() && slot.used_bytes <= LARGEST_ROUNDED_BYTES {
                spare.push_back(slot);
                return;
            }
        }
        self.forget(&slot);
    }
}

/// Memory for one frame, with whatever contents. It is spare again when it is dropped.
#[derive(Debug)]
pub struct FrameMemory {
    slot: Slot,
    ring: &'static Ring,
}

impl FrameMemory {
    pub fn new(size: usize) -> Self {
        RING.take(size)
    }

    /// Who writes there has to see to it that nobody reads or writes it meanwhile.
    pub fn start(&self) -> *mut u8 {
        self.slot.memory.start()
    }
}

impl Drop for FrameMemory {
    fn drop(&mut self) {
        let slot = Slot { memory: std::mem::take(&mut self.slot.memory), used_bytes: self.slot.used_bytes };
        self.ring.give_back(slot);
    }
}

/// What one consumer wants to have fetched. While it is there, as many bytes more are kept for frames.
#[derive(Debug)]
pub struct FrameRoom {
    bytes: usize,
    ring: &'static Ring,
}

impl FrameRoom {
    pub fn new(bytes: usize) -> Self {
        Self::within(&RING, bytes)
    }

    fn within(ring: &'static Ring, bytes: usize) -> Self {
        ring.room.fetch_add(bytes, Ordering::Relaxed);
        Self { bytes, ring }
    }
}

impl Drop for FrameRoom {
    fn drop(&mut self) {
        self.ring.room.fetch_sub(self.bytes, Ordering::Relaxed);
        let Some(mut spare) = self.ring.try_spare() else { return };
        while !self.ring.has_room_for(0) {
            let Some(slot) = spare.pop_front() else { return };
            self.ring.forget(&slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn ring() -> &'static Ring {
        Box::leak(Box::new(Ring::new()))
    }

    fn used_bytes(ring: &Ring) -> usize {
        ring.used_bytes.load(Ordering::Relaxed)
    }

    #[test]
    fn memory_is_used_in_turn_from_the_first_frames_on() {
        let ring = ring();
        let _room = FrameRoom::within(ring, 9 * MIB);
        let starts: Vec<_> = (0..6).map(|_| ring.take(4 * MIB).start()).collect();
        assert_ne!(starts[0], starts[1]);
        assert_eq!(starts[2..], [starts[0], starts[1], starts[0], starts[1]]);
        assert_eq!(used_bytes(ring), 8 * MIB);
    }

    #[test]
    fn small_frames_take_few_slots() {
        let ring = ring();
        let _room = FrameRoom::within(ring, 9 * MIB);
        for _ in 0..100 {
            ring.take(100_000);
        }
        assert_eq!(used_bytes(ring), MOST_SLOTS * 100_000);
    }

    #[test]
    fn what_is_used_beyond_the_room_is_not_kept() {
        let ring = ring();
        let _room = FrameRoom::within(ring, 9 * MIB);
        drop((0..5).map(|_| ring.take(4 * MIB)).collect::<Vec<_>>());
        assert_eq!(used_bytes(ring), 8 * MIB);
    }

    #[test]
    fn a_frame_that_fits_nowhere_takes_the_place_of_others() {
        let ring = ring();
        let _room = FrameRoom::within(ring, 9 * MIB);
        drop((0..2).map(|_| ring.take(3 * MIB)).collect::<Vec<_>>());
        let large = ring.take(6 * MIB);
        assert_eq!(used_bytes(ring), 9 * MIB);
        drop(large);
        assert_eq!(ring.try_spare().unwrap().len(), 2);
    }

    #[test]
    fn without_a_room_one_slot_is_kept() {
        let ring = ring();
        let room = FrameRoom::within(ring, 9 * MIB);
        drop((0..2).map(|_| ring.take(4 * MIB)).collect::<Vec<_>>());
        drop(room);
        assert_eq!(used_bytes(ring), 0);
        drop((0..2).map(|_| ring.take(4 * MIB)).collect::<Vec<_>>());
        assert_eq!(used_bytes(ring), 4 * MIB);
    }
}

//! Memory of a fixed size for batches, frames and columns. What is large lies in pages of its own, which are the
//! system's again as soon as it is dropped: an allocator that keeps them grows without end when threads take and
//! give back buffers of many sizes.

#![allow(unsafe_code)]

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// What is smaller is the allocator's business.
pub const LEAST_PAGED_BYTES: usize = 128 << 10;

/// What memory is made of. All bits zero is a value of it, and it has no destructor.
///
/// # Safety
/// As it says.
pub unsafe trait Element: Copy + Default + Send + Sync + 'static {}

// SAFETY: zero is a value of an integer.
unsafe impl Element for u8 {}
// SAFETY: as above.
unsafe impl Element for i32 {}
// SAFETY: as above.
unsafe impl Element for i64 {}

/// So many elements, all of them initialized.
pub struct Memory<T: Element> {
    start: NonNull<T>,
    length: usize,
    is_paged: bool,
}

// SAFETY: it owns its elements, as a box does, which any thread may have.
unsafe impl<T: Element> Send for Memory<T> {}
// SAFETY: as above; a shared reference gives shared references to elements only.
unsafe impl<T: Element> Sync for Memory<T> {}

impl<T: Element> Memory<T> {
    pub fn zeroed(length: usize) -> Self {
        if length.saturating_mul(size_of::<T>()) >= LEAST_PAGED_BYTES {
            if let Some(start) = pages::take(length * size_of::<T>()) {
                return Self { start: start.cast(), length, is_paged: true };
            }
        }
        vec![T::default(); length].into()
    }

    /// Where the elements are. Who writes there has to see to it that nobody reads or writes them meanwhile.
    pub fn start(&self) -> *mut T {
        self.start.as_ptr()
    }
}

impl<T: Element> From<Vec<T>> for Memory<T> {
    fn from(elements: Vec<T>) -> Self {
        let elements = Box::leak(elements.into_boxed_slice());
        Self { length: elements.len(), start: NonNull::from(elements).cast(), is_paged: false }
    }
}

impl<T: Element> Default for Memory<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: Element> Deref for Memory<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: there are so many initialized elements, which live as long as this.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T: Element> DerefMut for Memory<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and nobody else has them.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl<T: Element> Drop for Memory<T> {
    fn drop(&mut self) {
        if self.is_paged {
            // SAFETY: these are the pages that were taken, of the same size, and nobody uses them any more.
            unsafe { pages::give_back(self.start.cast(), self.length * size_of::<T>()) };
        } else {
            // SAFETY: this came out of a box of so many elements.
            drop(unsafe {
                Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.length))
            });
        }
    }
}

impl<T: Element> fmt::Debug for Memory<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Memory({} elements)", self.length)
    }
}

#[cfg(unix)]
mod pages {
    use std::ptr::{self, NonNull};

    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

    /// Fresh pages, all bytes zero; None where the system has none.
    pub fn take(bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: a new mapping at an address of the system's choice touches no memory that is in use.
        let start = unsafe {
            mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        };
        let start = NonNull::new(start.ok()?.cast())?;
        #[cfg(target_os = "linux")]
        prefer_huge_pages(start, bytes);
        Some(start)
    }

    #[cfg(target_os = "linux")]
    const HUGE_PAGE_BYTES: usize = 2 << 20;

    /// To touch a page of 4 KiB for the first time takes longer than to fill it.
    #[cfg(target_os = "linux")]
    fn prefer_huge_pages(start: NonNull<u8>, bytes: usize) {
        if bytes >= HUGE_PAGE_BYTES {
            // SAFETY: it is the new mapping, and the advice changes nothing of what is there. Systems without such
            // pages refuse it.
            let _ = unsafe {
                rustix::mm::madvise(start.as_ptr().cast(), bytes, rustix::mm::Advice::LinuxHugepage)
            };
        }
    }

    /// # Safety
    /// `take` gave them for so many bytes, and nobody uses them any more.
    pub unsafe fn give_back(start: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise. Fails only if the range is none.
        let _ = unsafe { munmap(start.as_ptr().cast(), bytes) };
    }
}

#[cfg(not(unix))]
mod pages {
    use std::ptr::NonNull;

    pub fn take(_bytes: usize) -> Option<NonNull<u8>> {
        None
    }

    pub unsafe fn give_back(_start: NonNull<u8>, _bytes: usize) {}
}

//! The structs of the Arrow C data and C stream interfaces, each releasing what it owns when dropped.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

#[repr(C)]
pub struct ArrowSchema {
    pub format: *const c_char,
    pub name: *const c_char,
    pub metadata: *const c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut ArrowSchema,
    pub dictionary: *mut ArrowSchema,
    pub release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    pub private_data: *mut c_void,
}

#[repr(C)]
pub struct ArrowArray {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const c_void,
    pub children: *mut *mut ArrowArray,
    pub dictionary: *mut ArrowArray,
    pub release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    pub private_data: *mut c_void,
}

#[repr(C)]
pub struct ArrowArrayStream {
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    pub release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    pub private_data: *mut c_void,
}

// SAFETY: the interface lets a struct and what it points to be used and released on any one thread at a time.
unsafe impl Send for ArrowSchema {}
// SAFETY: as above.
unsafe impl Send for ArrowArray {}
// SAFETY: as above; what an array points to is immutable, so that threads may read it together.
unsafe impl Sync for ArrowArray {}
// SAFETY: as above.
unsafe impl Send for ArrowArrayStream {}

/// Gives a struct of the interface its "released" state and its end.
macro_rules! released_when_dropped {
    ($name:ident, { $($field:ident: $empty:expr),* $(,)? }) => {
        impl $name {
            /// In the state that the interface calls released.
            pub fn released() -> Self {
                Self { $($field: $empty,)* release: None, private_data: ptr::null_mut() }
            }

            /// Moves the struct out of foreign memory, leaving a released one behind.
            ///
            /// # Safety
            /// `source` must point to a valid struct that nobody else uses meanwhile.
            pub unsafe fn take(source: *mut Self) -> Self {
                // SAFETY: the caller's promise; the interface allows structs to be moved like this.
                unsafe { ptr::replace(source, Self::released()) }
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: a struct that is not released has a callback that may be called once, and
                    // which marks the struct as released.
                    unsafe { release(self) };
                }
            }
        }
    };
}

released_when_dropped!(ArrowSchema, {
    format: ptr::null(),
    name: ptr::null(),
    metadata: ptr::null(),
    flags: 0,
    n_children: 0,
    children: ptr::null_mut(),
    dictionary: ptr::null_mut(),
});
released_when_dropped!(ArrowArray, {
    length: 0,
    null_count: 0,
    offset: 0,
    n_buffers: 0,
    n_children: 0,
    buffers: ptr::null_mut(),
    children: ptr::null_mut(),
    dictionary: ptr::null_mut(),
});
released_when_dropped!(ArrowArrayStream, {
    get_schema: None,
    get_next: None,
    get_last_error: None,
});

//! What the others share: arguments, errors, bytes and objects of Python.

pub mod allocation;
pub mod calls;
pub mod codecs;
pub mod errors;
pub mod fast_method;
pub mod formats;
pub mod generic_alias;
pub mod input;
pub mod locked_rc;
pub mod name_pattern;
pub mod receive_buffer;

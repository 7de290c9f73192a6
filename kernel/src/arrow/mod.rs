//! Arrow columns of records, out and in, over the Arrow C data interface.
//!
//! By hand, since all that is needed is a handful of structs: the libraries for it would cost more to build than
//! all the rest of the crate. Every `unsafe` of the interface is in `ffi`, `export` and `import`.

mod columns;
mod export;
pub mod ffi;
mod import;

pub use columns::RecordColumns;
pub use export::{export_array, export_schema};
pub use import::{ImportError, Row, RowBatch, RowSchema};

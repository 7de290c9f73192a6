//! Arrow columns of records, out and in, over the Arrow C data interface.
//!
//! By hand, since all that is needed is a handful of structs: the libraries for it would cost more to build than
//! all the rest of the crate. Every `unsafe` of the interface is in `ffi`, `export` and `import`.

mod buffer;
mod column;
mod columns;
mod data_type;
mod export;
mod export_tree;
pub mod ffi;
mod import;
mod import_tree;
mod rows;
mod taking;
pub mod tree;

pub use columns::RecordColumns;
pub use data_type::{DataType, Field};
pub use export::{export_array, export_schema};
pub use export_tree::export_tree;
pub use import::{ImportError, Row, RowBatch, RowSchema};
pub use import_tree::{Imported, ImportedColumn};
pub use taking::{ColumnsAhead, Order, Origin, Source, take_columns};

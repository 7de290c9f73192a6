//! The classes and functions of `barnabas._kernel`. Knows Python; leaves formats to the rest of the crate.

mod accumulator;
mod arrow_in;
mod arrow_out;
mod arrow_rows;
mod batches;
mod builder;
mod codecs;
mod delivery;
mod errors;
mod input;
mod producer_batch;
mod queues;
mod reader;
mod record;

use pyo3::prelude::*;

#[pymodule]
mod _kernel {
    #[pymodule_export]
    use super::accumulator::Accumulator;
    #[pymodule_export]
    use super::arrow_out::{ArrowRecords, take_arrow};
    #[pymodule_export]
    use super::batches::{
        BatchInfo, KeyOffsets, compact_batches, find_batch_offset_for_timestamp, find_max_timestamp,
        scan_batches, stamp_batches,
    };
    #[pymodule_export]
    use super::builder::BatchBuilder;
    #[pymodule_export]
    use super::codecs::{compress, crc32, crc32c, decompress, fnv1a, murmur2};
    #[pymodule_export]
    use super::delivery::Delivery;
    #[pymodule_export]
    use super::producer_batch::ProducerBatch;
    #[pymodule_export]
    use super::reader::RecordReader;
    #[pymodule_export]
    use super::record::Record;
}

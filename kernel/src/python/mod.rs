//! The classes and functions of `barnabas._kernel`. Knows Python; leaves formats to the rest of the crate.

mod accumulator;
mod arrow_in;
mod arrow_out;
mod arrow_rows;
mod batch_bytes;
mod batch_openers;
mod batches;
mod builder;
#[cfg(unix)]
mod bulk_fetch;
mod codecs;
mod delivery;
#[cfg(unix)]
mod direct_answers;
#[cfg(unix)]
mod direct_fetches;
#[cfg(unix)]
mod direct_send;
mod errors;
mod event_queue;
mod formats;
#[cfg(unix)]
mod frame_receiver;
mod input;
mod locked_rc;
mod message;
mod message_arguments;
mod message_poller;
mod message_report;
mod message_sender;
mod objects;
mod parked;
mod producer_batch;
mod queues;
mod reader;
mod receive_buffer;
mod record;
mod record_metadata;
mod record_sender;
mod shared_queues;
#[cfg(unix)]
mod sockets;
#[cfg(unix)]
mod waker;

use pyo3::prelude::*;

#[pymodule]
mod _kernel {
    #[pymodule_export]
    use super::accumulator::Accumulator;
    #[pymodule_export]
    use super::arrow_out::{ArrowRecords, take_arrow};
    #[pymodule_export]
    use super::batch_bytes::BatchBytes;
    #[pymodule_export]
    use super::batch_openers::BatchOpeners;
    #[pymodule_export]
    use super::batches::{
        BatchInfo, KeyOffsets, compact_batches, find_batch_offset_for_timestamp, find_max_timestamp,
        scan_batches, stamp_batches,
    };
    #[pymodule_export]
    use super::builder::BatchBuilder;
    #[cfg(unix)]
    #[pymodule_export]
    use super::bulk_fetch::FetchCredit;
    #[pymodule_export]
    use super::codecs::{compress, crc32, crc32c, decompress, fnv1a, murmur2};
    #[pymodule_export]
    use super::delivery::Delivery;
    #[cfg(unix)]
    #[pymodule_export]
    use super::direct_answers::{DirectReturn, Exchanges};
    #[cfg(unix)]
    #[pymodule_export]
    use super::direct_fetches::{DirectFetches, TakenBack};
    #[cfg(unix)]
    #[pymodule_export]
    use super::direct_send::DirectTarget;
    #[pymodule_export]
    use super::event_queue::EventQueue;
    #[pymodule_export]
    use super::formats::{ArrowColumn, Format};
    #[cfg(unix)]
    #[pymodule_export]
    use super::frame_receiver::FrameReceiver;
    #[pymodule_export]
    use super::message::Message;
    #[pymodule_export]
    use super::message_poller::MessagePoller;
    #[pymodule_export]
    use super::message_sender::MessageSender;
    #[pymodule_export]
    use super::producer_batch::ProducerBatch;
    #[pymodule_export]
    use super::reader::RecordReader;
    #[pymodule_export]
    use super::receive_buffer::{FrameRoom, ReceiveBuffer};
    #[pymodule_export]
    use super::record::Record;
    #[pymodule_export]
    use super::record_metadata::RecordMetadata;
    #[pymodule_export]
    use super::record_sender::RecordSender;
    #[cfg(unix)]
    #[pymodule_export]
    use super::waker::Waker;
}

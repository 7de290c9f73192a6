//! The classes and functions of `barnabas._kernel`. Knows Python; leaves formats to the rest of the crate.

mod consume;
mod kafka_python;
mod librdkafka;
mod objects;
mod os;
mod produce;
mod pykafka;
mod values;

use pyo3::prelude::*;

/// Built for the interpreter lock (`LockedRc` counts under it): a free-threaded Python takes the lock up again when it
/// loads this, and says so.
#[pymodule(gil_used = true)]
mod _kernel {
    use pyo3::prelude::*;

    use super::librdkafka::message_sender::{Poll, Produce, ProduceBatch};
    use super::objects::fast_method;

    /// Of the crate and of the Python package alike.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use super::consume::arrow_out::{ArrowRecords, take_arrow};
    #[pymodule_export]
    use super::consume::batch_openers::PyBatchOpeners;
    #[pymodule_export]
    use super::consume::batches::{
        BatchInfo, PyKeyOffsets, PyLogCleaner, check_batches, compact_batches, convert_to_current,
        convert_to_old, find_batch_offset_for_timestamp, find_max_timestamp, scan_batches, stamp_batches,
        with_max_timestamp,
    };
    #[cfg(unix)]
    #[pymodule_export]
    use super::consume::bulk_fetch::FetchCredit;
    #[pymodule_export]
    use super::consume::decoded_record::{DecodedRecord, decoded_records};
    #[cfg(unix)]
    #[pymodule_export]
    use super::consume::direct_fetches::{DirectFetches, TakenBack};
    #[cfg(unix)]
    #[pymodule_export]
    use super::consume::frame_receiver::FrameReceiver;
    #[pymodule_export]
    use super::consume::poller::Poller;
    #[pymodule_export]
    use super::consume::reader::RecordReader;
    #[pymodule_export]
    use super::consume::record::Record;
    #[pymodule_export]
    use super::kafka_python::record_poller::RecordPoller;
    #[pymodule_export]
    use super::kafka_python::sent_record::{RecordTeller, SentRecord};
    #[pymodule_export]
    use super::kafka_python::topic_sender::TopicSender;
    #[pymodule_export]
    use super::librdkafka::event_queue::EventQueue;
    #[pymodule_export]
    use super::librdkafka::message::Message;
    #[pymodule_export]
    use super::librdkafka::message_poller::MessagePoller;
    #[pymodule_export]
    use super::librdkafka::message_sender::MessageSender;
    #[pymodule_export]
    use super::librdkafka::parked::ParkedMessages;
    #[pymodule_export]
    use super::objects::codecs::{compress, crc32, crc32c, decompress, fnv1a, murmur2};
    #[pymodule_export]
    use super::objects::formats::{ArrowColumn, PyFormat, schema_keys};
    #[pymodule_export]
    use super::objects::name_pattern::PyNamePattern;
    #[pymodule_export]
    use super::objects::receive_buffer::{PyFrameRoom, ReceiveBuffer};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::os::acknowledging::acknowledge_at_once;
    #[pymodule_export]
    use super::os::time::set_time;
    #[cfg(unix)]
    #[pymodule_export]
    use super::os::waker::Waker;
    #[pymodule_export]
    use super::produce::accumulator::Accumulator;
    #[pymodule_export]
    use super::produce::batch_bytes::BatchBytes;
    #[pymodule_export]
    use super::produce::builder::PyBatchBuilder;
    #[pymodule_export]
    use super::produce::delivery::Delivery;
    #[cfg(unix)]
    #[pymodule_export]
    use super::produce::direct_answers::DirectReturn;
    #[cfg(unix)]
    #[pymodule_export]
    use super::produce::direct_send::DirectTarget;
    #[cfg(unix)]
    #[pymodule_export]
    use super::produce::leader_courier::Exchanges;
    #[pymodule_export]
    use super::produce::producer_batch::ProducerBatch;
    #[pymodule_export]
    use super::produce::record_metadata::RecordMetadata;
    #[pymodule_export]
    use super::produce::record_sender::RecordSender;
    #[pymodule_export]
    use super::pykafka::message_outlet::MessageOutlet;
    #[pymodule_export]
    use super::pykafka::partition_poller::{MessageIterator, PartitionPoller};
    #[pymodule_export]
    use super::pykafka::report_queue::ReportQueue;
    #[pymodule_export]
    use super::values::avro_values::AvroCodec;
    #[pymodule_export]
    use super::values::json_read::read_json;
    #[pymodule_export]
    use super::values::json_write::{check_json_depth, write_json};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        fast_method::add::<Produce>(py)?;
        fast_method::add::<ProduceBatch>(py)?;
        fast_method::add::<Poll>(py)
    }
}

//! What `pykafka` does for each message: made, handed out, produced and reported.

pub mod message_class;
pub mod message_outlet;
pub mod outgoing;
pub mod partition_poller;
pub mod report_queue;

//! What programs for kafka-python see of what costs per record. Used by no other wing.

pub mod named_tuples;
pub mod record_poller;
pub mod record_shape;
pub mod sent_record;
pub mod topic_sender;

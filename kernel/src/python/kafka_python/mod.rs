//! What programs for kafka-python see of records. Used by no other wing.

pub mod record_poller;
pub mod record_shape;

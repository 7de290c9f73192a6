//! From a record that is handed over to a request, with the direct path.

pub mod accumulator;
pub mod arrow_in;
pub mod arrow_rows;
pub mod batch_bytes;
pub mod builder;
pub mod delivery;
#[cfg(unix)]
pub mod direct_answers;
#[cfg(unix)]
pub mod direct_send;
#[cfg(unix)]
pub mod leader_courier;
pub mod producer_batch;
pub mod record_metadata;
pub mod record_sender;
pub mod shared_queues;

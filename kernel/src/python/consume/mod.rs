//! From a response to records and columns, with the direct paths.

pub mod arrow_out;
pub mod batch_openers;
pub mod batches;
#[cfg(unix)]
pub mod bulk_fetch;
pub mod decoded_record;
#[cfg(unix)]
pub mod direct_fetches;
#[cfg(unix)]
pub mod frame_receiver;
pub mod poller;
pub mod reader;
pub mod record;

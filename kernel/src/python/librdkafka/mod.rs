//! What programs for librdkafka see: messages, their events, and what waits for topics. Used by no other wing.

pub mod event_queue;
pub mod message;
pub mod message_arguments;
pub mod message_poller;
pub mod message_report;
pub mod message_sender;
pub mod parked;
pub mod taken_messages;

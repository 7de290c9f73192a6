//! What values of records mean: columns of bytes into columns of types, and back. Knows nothing of records,
//! topics or Spark.
//!
//! A format's schema is read in Python (`barnabas.formats`), which hands over the Arrow type and, for Avro and
//! Protocol Buffers, a plan of how it lies in the bytes. Bytes go straight into columns, without an object for a
//! value; a value that cannot be read is null in its column and listed with where in it and why. That is why
//! neither arrow-json nor arrow-avro do this: they give up a batch with its first bad value.

mod avro;
mod avro_encode;
mod avro_skip;
mod avro_wire;
mod by_schema;
mod failure;
mod format;
mod framing;
mod json;
mod json_encode;
mod json_relaxed;
mod numbers;
pub mod plan;
mod protobuf;
mod protobuf_encode;
mod times;
mod wire;
mod zones;

pub use by_schema::{SchemaKey, Writer, Writers, decode_by_schema, schema_keys};
pub use failure::Failure;
pub use format::{Decoded, Format, error_type};
pub use framing::Framing;
pub use times::{date_of, days_of};
pub use wire::{Input, write_zigzag};

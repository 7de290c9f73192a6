//! One value at a time: bytes straight to Python objects, and back.

pub mod avro_plan;
pub mod avro_read;
pub mod avro_values;
pub mod avro_write;
pub mod classes;
pub mod json_read;
pub mod json_write;
pub mod models;
pub mod outcome;

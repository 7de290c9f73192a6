//! Records on their way to a broker: the batches that they gather in, the queues that these wait in, and the answer that
//! says where one went. Knows neither sockets nor the interpreter.

mod answer;
mod batches;
pub mod lent;
mod queues;
mod ready;

pub use answer::{Taken, TopicKey, taken};
pub use batches::{ClosedBatch, OpenBatch, Owner};
pub use queues::{Appended, PartitionQueue, Place, Queues, Refused, Settings, TopicQueues, Waiting};
pub use ready::Front;

//! Rows of Arrow data on their way into an accumulator.

use std::collections::HashMap;
use std::sync::Arc;

use super::accumulator::{Accumulator, now_ms};
use super::delivery::{BatchOutcome, Delivery};
use super::queues::{Queues, Refused};
use crate::arrow::RowBatch;
use crate::records::{NO_HEADERS, NewRecord, encode_headers};

/// Rows that went into one batch.
pub struct RowRun {
    outcome: Arc<BatchOutcome>,
    partition: u32,
    first_index: u32,
    last_index: u32,
    last_timestamp: i64,
}

impl RowRun {
    pub fn into_delivery(self) -> Delivery {
        Delivery::new(self.outcome, self.first_index, self.last_index, self.last_timestamp)
    }
}

/// A call of `append_arrow` under way.
pub struct RowsToAppend<'a> {
    pub topic: &'a str,
    /// For rows that have none of their own; None means now.
    pub timestamp: Option<i64>,
    pub taken: usize,
    pub runs: Vec<RowRun>,
    pub wake: bool,
}

impl RowsToAppend<'_> {
    /// Appends the rows from `first_row` on, until one is refused.
    pub fn append_batch(
        &mut self,
        accumulator: &Accumulator,
        batch: &RowBatch,
        first_row: usize,
    ) -> Result<(), Refused> {
        /// Others that append must not wait for longer than this many rows take.
        const ROWS_AT_A_TIME: usize = 1024;
        // The run that a partition's rows go to at present, by partition.
        let mut newest: HashMap<u32, usize> = HashMap::new();
        for (index, run) in self.runs.iter().enumerate() {
            newest.insert(run.partition, index);
        }
        let mut row = first_row;
        while row < batch.len() {
            let mut queues = accumulator.lock();
            for _ in 0..ROWS_AT_A_TIME.min(batch.len() - row) {
                self.append_row(accumulator, &mut queues, batch, row, &mut newest)?;
                row += 1;
            }
        }
        Ok(())
    }

    fn append_row(
        &mut self,
        accumulator: &Accumulator,
        queues: &mut Queues,
        batch: &RowBatch,
        row: usize,
        newest: &mut HashMap<u32, usize>,
    ) -> Result<(), Refused> {
        let row = batch.row(row).map_err(|error| Refused::BadRow(error.0))?;
        let timestamp = row.timestamp.or(self.timestamp).unwrap_or_else(now_ms);
        if timestamp < 0 {
            return Err(Refused::BadRow(format!("timestamp {timestamp} ms is before 1970")));
        }
        let headers =
            if row.headers.is_empty() { None } else { Some(encode_headers(row.headers.into_iter())) };
        let record = NewRecord {
            timestamp,
            key: row.key,
            value: row.value,
            headers: headers.as_deref().unwrap_or(NO_HEADERS),
        };
        // What no int32 holds is no partition of any topic.
        let partition = row.partition.map(|partition| i32::try_from(partition).unwrap_or(-1));
        let appended = queues.append(&accumulator.settings, self.topic, partition, &record)?;
        self.taken += 1;
        self.wake |= appended.wake;
        if let Some(run) = newest.get(&appended.partition).map(|&index| &mut self.runs[index]) {
            if Arc::ptr_eq(&run.outcome, &appended.outcome) {
                run.last_index = appended.index;
                run.last_timestamp = timestamp;
                return Ok(());
            }
        }
        newest.insert(appended.partition, self.runs.len());
        self.runs.push(RowRun {
            outcome: appended.outcome,
            partition: appended.partition,
            first_index: appended.index,
            last_index: appended.index,
            last_timestamp: timestamp,
        });
        Ok(())
    }
}

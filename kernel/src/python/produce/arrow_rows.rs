//! Rows of Arrow data on their way into an accumulator.

use std::sync::Arc;
use std::thread::ThreadId;

use crate::arrow::RowBatch;
use crate::clock::now_ms;
use crate::producing::{Place, Refused, Settings};
use crate::python::produce::delivery::{BatchOutcome, Delivery};
use crate::python::produce::shared_queues::{Queues, SharedQueues};
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
    pub fn into_delivery(self, deciding_thread: ThreadId) -> Delivery {
        let (first, last) = (self.first_index, self.last_index);
        Delivery::new(self.outcome, first, last, self.last_timestamp, deciding_thread)
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
    /// Appends the rows from `first_row` on, until one is refused. `signal` wakes the sender, and says whether it did.
    pub fn append_batch(
        &mut self,
        settings: &Settings,
        shared_queues: &SharedQueues,
        signal: impl Fn() -> bool,
        batch: &RowBatch,
        first_row: usize,
    ) -> Result<(), Refused> {
        /// Others that append must not wait for longer than this many rows take.
        const ROWS_AT_A_TIME: usize = 1024;
        let mut newest = NewestRuns::of(&self.runs);
        let mut row = first_row;
        while row < batch.len() {
            let now = self.timestamp.unwrap_or_else(now_ms);
            let mut queues = shared_queues.lock();
            let topic_index = queues.index_of(self.topic);
            for _ in 0..ROWS_AT_A_TIME.min(batch.len() - row) {
                self.append_row(settings, &mut queues, topic_index, batch, row, now, &mut newest)?;
                row += 1;
            }
            drop(queues);
            shared_queues.give_way();
            if self.wake {
                self.wake = !signal();
            }
        }
        Ok(())
    }

    #[inline]
    #[expect(clippy::too_many_arguments, reason = "what stays the same from row to row")]
    fn append_row(
        &mut self,
        settings: &Settings,
        queues: &mut Queues,
        topic_index: Option<usize>,
        batch: &RowBatch,
        row: usize,
        now: i64,
        newest: &mut NewestRuns,
    ) -> Result<(), Refused> {
        let row = batch.row(row).map_err(|error| Refused::Invalid(error.0))?;
        let timestamp = row.timestamp.unwrap_or(now);
        if timestamp < 0 {
            return Err(Refused::Invalid(format!("timestamp {timestamp} ms is before 1970")));
        }
        let headers =
            if row.headers.is_empty() { None } else { Some(encode_headers(row.headers.into_iter())) };
        let record = NewRecord::new(timestamp, row.key, row.value, headers.as_deref().unwrap_or(NO_HEADERS));
        let partition = match row.partition {
            None => None,
            Some(number) => {
                Some(i32::try_from(number).map_err(|_| beyond_any_partition(self.topic, number))?)
            }
        };
        let place = queues.append_at(settings, self.topic, topic_index, partition, &record)?;
        self.taken += 1;
        self.wake |= place.wake;
        let index = newest.index_in(&mut self.runs, &place);
        let run = &mut self.runs[index];
        run.last_index = place.index;
        run.last_timestamp = timestamp;
        Ok(())
    }
}

#[cold]
fn beyond_any_partition(topic: &str, partition: i64) -> Refused {
    Refused::Invalid(format!("topic {topic} has no partition {partition}, nor can there be one"))
}

/// The run that a partition's rows go to at present.
struct NewestRuns {
    /// By partition; `NONE` where there is no run yet.
    indexes: Vec<usize>,
}

const NONE: usize = usize::MAX;

impl NewestRuns {
    fn of(runs: &[RowRun]) -> Self {
        let mut newest = Self { indexes: Vec::new() };
        for (index, run) in runs.iter().enumerate() {
            *newest.slot(run.partition) = index;
        }
        newest
    }

    #[inline]
    fn slot(&mut self, partition: u32) -> &mut usize {
        let partition = partition as usize;
        if partition >= self.indexes.len() {
            self.indexes.resize(partition + 1, NONE);
        }
        &mut self.indexes[partition]
    }

    /// Where the run is that a row belongs to: the partition's newest, or one that begins with it.
    #[inline]
    fn index_in(&mut self, runs: &mut Vec<RowRun>, place: &Place<'_, BatchOutcome>) -> usize {
        let slot = self.slot(place.partition);
        if *slot == NONE || !Arc::ptr_eq(&runs[*slot].outcome, place.outcome) {
            *slot = runs.len();
            runs.push(RowRun {
                outcome: Arc::clone(place.outcome),
                partition: place.partition,
                first_index: place.index,
                last_index: place.index,
                last_timestamp: 0,
            });
        }
        *slot
    }
}

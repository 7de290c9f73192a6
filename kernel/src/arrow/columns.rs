//! The columns of Spark's Kafka source, filled record by record. Knows Arrow's layout, not its interface.

use std::sync::{Arc, Mutex};

use super::buffer::Buffer;
use super::column::{BytesColumn, HeadersColumn, MAX_COLUMN_BYTES};
use super::rows::{FilledRows, Rows, Stop};
use crate::error::CorruptBatch;
use crate::records::RecordCursor;

/// The topic's name in every row. One column is kept for the next batches of the same topic, which then is there
/// already.
#[derive(Default)]
pub struct TopicColumn {
    /// The rows that each name is in, up to a row.
    runs: Vec<(usize, Arc<str>)>,
    column: Arc<RepeatedName>,
}

/// One name, many times; or several, for one batch.
#[derive(Default)]
struct RepeatedName {
    name: Option<Arc<str>>,
    column: BytesColumn,
}

static LAST_TOPIC: Mutex<Option<Arc<RepeatedName>>> = Mutex::new(None);
/// What is longer is not kept.
const MAX_KEPT_BYTES: usize = 1 << 20;

impl TopicColumn {
    pub fn offsets(&self) -> &[i32] {
        &self.column.column.offsets[..=self.rows()]
    }

    pub fn data(&self) -> &[u8] {
        &self.column.column.data[..self.offsets()[self.rows()] as usize]
    }

    fn rows(&self) -> usize {
        self.runs.last().map_or(0, |(end, _)| *end)
    }

    fn push(&mut self, rows_end: usize, name: &Arc<str>) {
        match self.runs.last_mut() {
            Some((end, last)) if last == name => *end = rows_end,
            _ => self.runs.push((rows_end, Arc::clone(name))),
        }
    }

    fn finish(&mut self) {
        let Some((_, first)) = self.runs.first() else { return };
        if self.runs.len() == 1 {
            let mut kept = LAST_TOPIC.try_lock().ok();
            if let Some(Some(kept)) = kept.as_deref() {
                if kept.name.as_ref() == Some(first) && kept.column.rows() >= self.rows() {
                    self.column = Arc::clone(kept);
                    return;
                }
            }
            let mut made = RepeatedName { name: Some(Arc::clone(first)), column: BytesColumn::default() };
            made.column.push_repeated(first.as_bytes(), self.rows());
            self.column = Arc::new(made);
            if self.column.column.data.len() <= MAX_KEPT_BYTES {
                if let Some(kept) = kept.as_deref_mut() {
                    *kept = Some(Arc::clone(&self.column));
                }
            }
            return;
        }
        let mut column = BytesColumn::default();
        for (end, name) in &self.runs {
            let rows = end - column.rows();
            column.push_repeated(name.as_bytes(), rows);
        }
        self.column = Arc::new(RepeatedName { name: None, column });
    }
}

/// Columns key, value, topic, partition, offset, timestamp, timestampType and perhaps headers.
pub struct RecordColumns {
    pub key: BytesColumn,
    pub value: BytesColumn,
    pub topic: TopicColumn,
    pub partition: Buffer<i32>,
    pub offset: Buffer<i64>,
    /// In microseconds, as Spark has it.
    pub timestamp: Buffer<i64>,
    pub timestamp_type: Buffer<i32>,
    pub headers: Option<HeadersColumn>,
    topic_bytes: usize,
    max_bytes: usize,
    /// What the batches that are not begun yet may come to.
    likely_bytes: usize,
}

impl RecordColumns {
    /// Takes records until their keys, values and headers come to about `max_bytes`; `likely_bytes` is what all
    /// batches may come to.
    pub fn new(with_headers: bool, max_bytes: usize, likely_bytes: usize) -> Self {
        Self {
            key: BytesColumn::default(),
            value: BytesColumn::default(),
            topic: TopicColumn::default(),
            partition: Buffer::default(),
            offset: Buffer::default(),
            timestamp: Buffer::default(),
            timestamp_type: Buffer::default(),
            headers: with_headers.then(HeadersColumn::default),
            topic_bytes: 0,
            max_bytes: max_bytes.min(MAX_COLUMN_BYTES),
            likely_bytes,
        }
    }

    pub fn num_rows(&self) -> usize {
        self.offset.len()
    }

    /// Bytes in all buffers.
    pub fn num_bytes(&self) -> usize {
        let bytes_column = |column: &BytesColumn| column.data.len() + 4 * column.offsets.len();
        let headers = self.headers.as_ref().map_or(0, |headers| {
            4 * headers.offsets.len() + bytes_column(&headers.keys) + bytes_column(&headers.values)
        });
        let topic = self.topic.data().len() + 4 * self.topic.offsets().len();
        let fixed = self.num_rows() * (4 + 8 + 8 + 4);
        bytes_column(&self.key) + bytes_column(&self.value) + topic + fixed + headers
    }

    /// Bytes of keys, values and headers.
    pub fn value_bytes(&self) -> usize {
        let headers =
            self.headers.as_ref().map_or(0, |headers| headers.keys.data.len() + headers.values.data.len());
        self.key.data.len() + self.value.data.len() + headers
    }

    /// Makes room for a batch, of which so much is left, and for those that are likely to follow; for `max_rows` at
    /// most.
    pub fn reserve(&mut self, records: usize, batch_bytes: usize, max_rows: usize) {
        let room = self.max_bytes.saturating_sub(self.value.data.len());
        let bytes = self.likely_bytes.max(batch_bytes).min(room);
        self.likely_bytes = self.likely_bytes.saturating_sub(batch_bytes);
        let row_bytes = batch_bytes.div_ceil(records.max(1)).max(1);
        // Batches are not all alike, and growing copies all that is there.
        let rows = ((bytes + bytes / 8) / row_bytes).min(max_rows);
        self.value.data.reserve((rows * row_bytes).min(room));
        if let Some(key_bytes) = self.key.data.len().checked_div(self.num_rows()) {
            self.key.data.reserve((rows * key_bytes).min(room));
        }
        self.reserve_rows(rows);
    }

    /// How many more rows the topic's column can take.
    pub fn topic_room(&self, topic: &str) -> usize {
        (MAX_COLUMN_BYTES - self.topic_bytes) / topic.len().max(1)
    }

    /// Takes records of the batch that is open, `max_rows` at most: their own columns. Those that a partition's records
    /// have in common follow with `finish_run`. Whether the columns are full.
    pub fn take_from_open(
        &mut self,
        cursor: &mut RecordCursor,
        max_rows: usize,
        end_offset: i64,
    ) -> Result<bool, CorruptBatch> {
        let last_row = self.num_rows().saturating_add(max_rows);
        loop {
            let rows_left = last_row - self.num_rows();
            let (rows, taken) = cursor.take_from_open(rows_left, end_offset, self.rows());
            let FilledRows { rows, key_bytes, value_bytes, stop } = rows.filled;
            self.key.filled(rows, key_bytes);
            self.value.filled(rows, value_bytes);
            self.offset.filled(rows);
            self.timestamp.filled(rows);
            taken?;
            match stop {
                Stop::Cursor => return Ok(false),
                Stop::Full => return Ok(true),
                Stop::NoRoom { key_bytes, value_bytes } => {
                    self.key.data.reserve(key_bytes);
                    self.value.data.reserve(value_bytes);
                    self.reserve_rows(1);
                }
            }
        }
    }

    /// Those that there is room for.
    fn rows(&mut self) -> Rows<'_> {
        let first_row = self.num_rows();
        let (offset, timestamp) = (self.offset.room(), self.timestamp.room());
        let room =
            [offset.len(), timestamp.len(), self.key.offsets.room().len(), self.value.offsets.room().len()];
        let rows = room.into_iter().min().unwrap_or(0);
        Rows {
            key: self.key.room(rows),
            value: self.value.room(rows),
            offset: &mut offset[..rows],
            timestamp: &mut timestamp[..rows],
            headers: self.headers.as_mut(),
            first_row,
            max_bytes: self.max_bytes,
            filled: FilledRows { rows: 0, key_bytes: 0, value_bytes: 0, stop: Stop::Cursor },
        }
    }

    fn reserve_rows(&mut self, rows: usize) {
        self.key.offsets.reserve(rows);
        self.value.offsets.reserve(rows);
        self.partition.reserve(rows);
        self.offset.reserve(rows);
        self.timestamp.reserve(rows);
        self.timestamp_type.reserve(rows);
    }

    /// Fills up the columns that all records taken since the last call have in common.
    pub fn finish_run(&mut self, topic: &Arc<str>, partition: i32, timestamp_type: i32) {
        let rows = self.num_rows();
        self.topic_bytes += (rows - self.partition.len()) * topic.len();
        self.topic.push(rows, topic);
        self.partition.fill(rows, partition);
        self.timestamp_type.fill(rows, timestamp_type);
    }

    /// To be called when all records are there.
    pub fn finish(&mut self) {
        let rows = self.num_rows();
        self.key.finish();
        self.value.finish();
        self.topic.finish();
        self.partition.shrink();
        self.offset.shrink();
        self.timestamp.shrink();
        self.timestamp_type.shrink();
        if let Some(headers) = &mut self.headers {
            headers.finish(rows);
        }
    }
}

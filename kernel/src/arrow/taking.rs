//! Takes records out of cursors into columns: one after the other, or ahead of who asks for them, on other threads.
//!
//! Much that waits is divided into portions, of which each becomes the columns of one call. The caller makes one of
//! them while others make the next. Knows nothing of how columns are laid out.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use super::columns::RecordColumns;
use crate::error::CorruptBatch;
use crate::records::{Ahead, BatchOpeners, Portion, RecordCursor, Work};

/// Less is made in less time than it takes to hand it over, and better put together with others.
const LEAST_PORTION_BYTES: usize = 1 << 20;

/// What columns are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    pub max_records: usize,
    /// Of keys, values and headers, about.
    pub max_bytes: usize,
    pub with_headers: bool,
}

/// Whose records they are.
#[derive(Debug, Clone)]
pub struct Origin {
    pub topic: Arc<str>,
    pub partition: i32,
}

/// One cursor's share in a call.
pub struct Source<'a> {
    pub cursor: &'a mut RecordCursor,
    pub ahead: &'a mut ColumnsAhead,
    pub origin: Origin,
    /// Nothing is taken from here on.
    pub end_offset: i64,
}

/// The portions of a cursor that columns are made of ahead, in their order.
#[derive(Default)]
pub struct ColumnsAhead(VecDeque<Arc<PortionAhead>>);

struct PortionAhead {
    portion: Portion,
    with_headers: bool,
    /// With the cursor, which stands behind what is in the columns.
    columns: Ahead<Task, (RecordColumns, RecordCursor)>,
}

struct Task {
    cursor: RecordCursor,
    origin: Origin,
    max_bytes: usize,
}

/// Where filling columns came to an end.
#[derive(PartialEq, Eq)]
enum Filled {
    CursorIsExhausted,
    ColumnsAreFull,
    PortionBegins,
}

impl PortionAhead {
    fn new(source: &Source<'_>, portion: Portion, order: &Order) -> Arc<Self> {
        let cursor = source.cursor.fork(&portion);
        let task = Task { cursor, origin: source.origin.clone(), max_bytes: order.max_bytes };
        Arc::new(Self { portion, with_headers: order.with_headers, columns: Ahead::new(task) })
    }

    fn make(&self, mut task: Task) -> Option<(RecordColumns, RecordCursor)> {
        let mut columns = RecordColumns::new(self.with_headers, task.max_bytes, self.portion.likely_bytes);
        fill(&mut columns, &mut task.cursor, &task.origin, usize::MAX, i64::MAX, None).ok()?;
        columns.finish();
        Some((columns, task.cursor))
    }
}

impl Work for PortionAhead {
    fn work(&self) {
        // Whoever comes to the portion does again what fails, and fails where that is seen.
        self.columns.make(|task| self.make(task));
    }
}

impl Source<'_> {
    /// The portion that the cursor stands before, if columns of it are what is wanted. Those that are not are dropped.
    fn portion_here(&mut self, order: &Order) -> Option<Arc<PortionAhead>> {
        while let Some(first) = self.ahead.0.front() {
            let portion = &first.portion;
            if self.cursor.next_batch_start() < portion.start {
                return None;
            }
            let is_wanted = first.with_headers == order.with_headers
                && portion.records <= order.max_records
                && portion.last_offset < self.end_offset;
            if is_wanted && self.cursor.is_before(portion) {
                return Some(Arc::clone(first));
            }
            self.ahead.0.pop_front();
        }
        None
    }

    /// Up to the next portion.
    fn fill(&mut self, columns: &mut RecordColumns, order: &Order) -> Result<Filled, CorruptBatch> {
        let portion_start = self.ahead.0.front().map(|first| first.portion.start);
        fill(columns, self.cursor, &self.origin, order.max_records, self.end_offset, portion_start)
    }
}

fn fill(
    columns: &mut RecordColumns,
    cursor: &mut RecordCursor,
    origin: &Origin,
    max_records: usize,
    end_offset: i64,
    portion_start: Option<usize>,
) -> Result<Filled, CorruptBatch> {
    loop {
        if cursor.open_batch().is_none() && portion_start == Some(cursor.next_batch_start()) {
            return Ok(Filled::PortionBegins);
        }
        if !cursor.open_next(end_offset)? {
            return Ok(Filled::CursorIsExhausted);
        }
        let room = (max_records - columns.num_rows()).min(columns.topic_room(&origin.topic));
        let Some(open) = cursor.open_batch() else { return Ok(Filled::CursorIsExhausted) };
        if room == 0 {
            return Ok(Filled::ColumnsAreFull);
        }
        let timestamp_type = open.timestamp_type;
        columns.reserve(open.records_left_at_most(), open.bytes_left(), room);
        let is_full = columns.take_from_open(cursor, room, end_offset);
        columns.finish_run(&origin.topic, origin.partition, timestamp_type);
        if is_full? {
            return Ok(Filled::ColumnsAreFull);
        }
    }
}

/// Divides what waits first into portions, and has all but the first made. The caller makes that, or waits for it.
fn divide(sources: &mut [Source<'_>], order: &Order, openers: &BatchOpeners) {
    let most = openers.max_threads() + 1;
    let mut known: usize = sources.iter().map(|source| source.ahead.0.len()).sum();
    for source in sources {
        let reached = source.cursor.next_batch_start();
        let mut start = source.ahead.0.back().map_or(reached, |last| last.portion.end.max(reached));
        while known < most {
            let portion =
                source.cursor.portion(start, order.max_bytes, order.max_records, openers.record_bytes());
            let is_worth_it = |portion: &Portion| {
                portion.likely_bytes >= LEAST_PORTION_BYTES && portion.last_offset < source.end_offset
            };
            let Some(portion) = portion.filter(is_worth_it) else { break };
            let ahead = PortionAhead::new(source, portion, order);
            if known > 0 {
                let work: Weak<PortionAhead> = Arc::downgrade(&ahead);
                openers.add_work(work);
            }
            source.ahead.0.push_back(ahead);
            start = portion.end;
            known += 1;
        }
    }
}

/// Columns of a portion; meanwhile, where a thread is at them, the caller makes some of those that come next.
fn take_made(sources: &mut [Source<'_>], index: usize, portion: &Arc<PortionAhead>) -> Option<RecordColumns> {
    portion.work();
    if portion.columns.is_being_made() {
        let next = sources.iter().flat_map(|source| &source.ahead.0).find(|next| next.columns.is_waiting());
        if let Some(next) = next {
            next.work();
        }
    }
    let made = portion.columns.take();
    let source = &mut sources[index];
    source.ahead.0.pop_front();
    let (columns, cursor) = made?;
    source.cursor.adopt(cursor);
    Some(columns)
}

fn take(
    sources: &mut [Source<'_>],
    order: &Order,
    openers: Option<&BatchOpeners>,
) -> Result<RecordColumns, (usize, CorruptBatch)> {
    if let Some(openers) = openers.filter(|openers| openers.max_threads() > 0) {
        divide(sources, order, openers);
    }
    let waiting_bytes = sources.iter().map(|source| source.cursor.remaining_bytes()).sum();
    let mut columns = RecordColumns::new(order.with_headers, order.max_bytes, waiting_bytes);
    for index in 0..sources.len() {
        loop {
            if let Some(portion) = sources[index].portion_here(order) {
                if columns.num_rows() > 0 {
                    columns.finish();
                    return Ok(columns);
                }
                match take_made(sources, index, &portion) {
                    Some(made) if made.num_rows() > 0 => return Ok(made),
                    _ => continue,
                }
            }
            match sources[index].fill(&mut columns, order) {
                Ok(Filled::PortionBegins) => {}
                Ok(Filled::CursorIsExhausted) => break,
                Ok(Filled::ColumnsAreFull) => {
                    columns.finish();
                    return Ok(columns);
                }
                // What was read before is handed over; the cursor stands still, so a later call fails.
                Err(_) if columns.num_rows() > 0 => {
                    columns.finish();
                    return Ok(columns);
                }
                Err(error) => return Err((index, error)),
            }
        }
    }
    columns.finish();
    Ok(columns)
}

/// Records of all sources in their order; in case of an error with the place of its source.
pub fn take_columns(
    sources: &mut [Source<'_>],
    order: &Order,
    openers: Option<&BatchOpeners>,
) -> Result<RecordColumns, (usize, CorruptBatch)> {
    let columns = take(sources, order, openers)?;
    if let Some(openers) = openers.filter(|_| columns.num_rows() > 0) {
        openers.note_record_bytes(columns.value_bytes().div_ceil(columns.num_rows()).max(1));
    }
    Ok(columns)
}

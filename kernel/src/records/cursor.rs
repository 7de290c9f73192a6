//! A cursor over the record batches of one partition. Opens batches when it reaches them; knows which
//! records are to be skipped, and nothing of what they are turned into.

use std::collections::VecDeque;
use std::sync::Arc;

use super::aborted::AbortedTransactions;
use super::ahead::{BatchAhead, BatchOpeners, Opened};
use super::batch::{Batch, BatchFrame, frame_at, frames_from, open_payload};
use super::header::HEADER_BYTES;
use super::limits::Limits;
use super::record::{RecordDecoder, RecordSlices};
use crate::compression::Compression;
use crate::error::CorruptBatch;
use crate::shared_bytes::SharedBytes;
use crate::spare_memory::SpareBytes;

/// Somebody whom a cursor hands records.
pub trait RecordTaker {
    /// False if the record, a part of `payload`, is not taken.
    fn take(&mut self, payload: &[u8], record: RecordSlices) -> bool;
}

impl<F: FnMut(&[u8], RecordSlices) -> bool> RecordTaker for F {
    #[inline(always)]
    fn take(&mut self, payload: &[u8], record: RecordSlices) -> bool {
        self(payload, record)
    }
}

enum Records {
    Current(RecordDecoder),
    Legacy(std::vec::IntoIter<RecordSlices>),
}

/// The batch that the cursor is in, checked and decompressed.
pub struct CurrentBatch {
    pub payload: SharedBytes,
    pub leader_epoch: i32,
    pub timestamp_type: i32,
    base_offset: i64,
    last_offset: i64,
    end: usize,
    records: Records,
}

impl CurrentBatch {
    /// No more than this many records are left (a count that lies is held down by the bytes there are).
    pub fn records_left_at_most(&self) -> usize {
        match &self.records {
            Records::Current(decoder) => decoder.records_left().min(self.payload.len() / 7 + 1),
            Records::Legacy(records) => records.len(),
        }
    }

    /// Bytes of its payload that are not read yet.
    pub fn bytes_left(&self) -> usize {
        match &self.records {
            Records::Current(decoder) => self.payload.len() - decoder.position(),
            Records::Legacy(_) => self.payload.len(),
        }
    }
}

/// Whole batches in a row that a cursor has not reached yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Portion {
    pub start: usize,
    pub end: usize,
    pub first_offset: i64,
    pub last_offset: i64,
    pub records: usize,
    /// What its records come to, decompressed, as far as that can be told.
    pub likely_bytes: usize,
}

pub struct CursorOptions<'a> {
    pub fetch_offset: i64,
    /// Pairs of producer id and first offset; None reads everything (read_uncommitted).
    pub aborted: Option<&'a [(i64, i64)]>,
    pub limits: Limits,
}

pub struct RecordCursor {
    data: SharedBytes,
    /// Where the open batch begins, or the next one.
    position: usize,
    /// Where the last whole batch ends, or, if an impossible one comes before, the end of the bytes.
    end: usize,
    end_offset: Option<i64>,
    next_offset: i64,
    last_leader_epoch: i32,
    limits: Limits,
    aborted: Option<AbortedTransactions>,
    open: Option<CurrentBatch>,
    batches_opened: u64,
    /// Those behind `position` that may be open already when the cursor gets there.
    ahead: VecDeque<Arc<BatchAhead>>,
}

impl RecordCursor {
    pub fn new(data: SharedBytes, options: &CursorOptions<'_>) -> Self {
        let bytes = data.as_ref();
        let mut end = 0;
        let mut last = None;
        loop {
            match frame_at(bytes, end) {
                Ok(Some(frame)) => {
                    end = frame.end;
                    last = Some(frame);
                }
                Ok(None) => break,
                Err(_) => {
                    end = bytes.len();
                    last = None;
                    break;
                }
            }
        }
        let end_offset = last
            .and_then(|frame| Batch::read(&bytes[frame.start..frame.end]).ok())
            .map(|batch| batch.last_offset().saturating_add(1));
        Self {
            position: 0,
            end,
            end_offset,
            data,
            next_offset: options.fetch_offset,
            last_leader_epoch: -1,
            limits: options.limits,
            aborted: options.aborted.map(AbortedTransactions::new),
            open: None,
            batches_opened: 0,
            ahead: VecDeque::new(),
        }
    }

    /// Has the batches that come opened by others, where their bytes may be with others.
    pub fn open_ahead(&mut self, openers: &BatchOpeners) {
        if !self.data.is_free() {
            return;
        }
        self.ahead = frames_from(self.data.as_ref(), self.next_batch_start())
            .map_while(Result::ok)
            .filter_map(|frame| BatchAhead::new(&self.data, frame.start, frame.end, self.limits))
            .collect();
        openers.add(self.ahead.iter());
    }

    /// Where the next batch begins that is not open yet.
    pub fn next_batch_start(&self) -> usize {
        self.open.as_ref().map_or(self.position, |open| open.end)
    }

    /// The batches from `start` on, where one begins, of which all records come to at most `max_bytes` and
    /// `max_records`, and of a compressed one each to about `record_bytes`. None where there is no such batch, or
    /// where what is in it cannot be read apart from what comes before.
    pub fn portion(
        &self,
        start: usize,
        max_bytes: usize,
        max_records: usize,
        record_bytes: usize,
    ) -> Option<Portion> {
        if !self.data.is_free() || self.aborted.as_ref().is_some_and(|aborted| !aborted.is_over()) {
            return None;
        }
        let data = self.data.as_ref();
        let mut portion: Option<Portion> = None;
        for frame in frames_from(data, start).map_while(Result::ok) {
            let Ok(Batch::Current(header)) = Batch::read(&data[frame.start..frame.end]) else { break };
            let Ok(records) = usize::try_from(header.record_count) else { break };
            let bytes = match header.compression() {
                Ok(Compression::None) => frame.end - frame.start,
                Ok(_) if record_bytes > 0 => records.saturating_mul(record_bytes),
                _ => break,
            };
            let mut next = portion.unwrap_or(Portion {
                start,
                end: start,
                first_offset: header.base_offset.max(self.next_offset),
                last_offset: -1,
                records: 0,
                likely_bytes: 0,
            });
            next.end = frame.end;
            next.last_offset = header.last_offset();
            next.records = next.records.saturating_add(records);
            next.likely_bytes = next.likely_bytes.saturating_add(bytes);
            if next.likely_bytes > max_bytes || next.records > max_records {
                break;
            }
            portion = Some(next);
        }
        portion
    }

    /// A cursor of its own over a portion; `adopt` has this one go on where that one has got to.
    pub fn fork(&self, portion: &Portion) -> Self {
        let is_inside = |batch: &&Arc<BatchAhead>| (portion.start..portion.end).contains(&batch.start);
        Self {
            data: self.data.clone(),
            position: portion.start,
            end: portion.end,
            end_offset: None,
            next_offset: portion.first_offset,
            last_leader_epoch: -1,
            limits: self.limits,
            aborted: self.aborted.as_ref().map(|_| AbortedTransactions::new(&[])),
            open: None,
            batches_opened: 0,
            ahead: self.ahead.iter().filter(is_inside).cloned().collect(),
        }
    }

    /// Whether this cursor has come to where the portion begins.
    pub fn is_before(&self, portion: &Portion) -> bool {
        self.open.is_none() && self.position == portion.start && self.next_offset <= portion.first_offset
    }

    pub fn adopt(&mut self, fork: Self) {
        self.position = fork.position;
        self.open = fork.open;
        self.next_offset = fork.next_offset;
        if fork.last_leader_epoch >= 0 {
            self.last_leader_epoch = fork.last_leader_epoch;
        }
        self.batches_opened += fork.batches_opened;
        let reached = self.next_batch_start();
        while self.ahead.front().is_some_and(|batch| batch.start < reached) {
            self.ahead.pop_front();
        }
    }

    pub fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// The offset after the last whole batch; None where there is none, or where one that makes no sense (which
    /// is an error once the cursor gets there) hides what follows.
    pub fn end_offset(&self) -> Option<i64> {
        self.end_offset
    }

    pub fn last_leader_epoch(&self) -> i32 {
        self.last_leader_epoch
    }

    pub fn remaining_bytes(&self) -> usize {
        self.end - self.position
    }

    /// Bytes of the batch that `open_next` would open next, as they came; 0 if it would open none.
    pub fn next_batch_bytes(&self) -> usize {
        match frame_at(self.data.as_ref(), self.position) {
            Ok(Some(frame)) if self.open.is_none() => frame.end - frame.start,
            _ => 0,
        }
    }

    pub fn open_batch(&self) -> Option<&CurrentBatch> {
        self.open.as_ref()
    }

    /// How many batches were opened so far: tells whether the open one is the one seen last.
    pub fn batches_opened(&self) -> u64 {
        self.batches_opened
    }

    /// Makes sure that a batch is open, going on to the next one that has records for the caller, who wants
    /// none at `end_offset` or above. False when there is none left. After an error the cursor stands before
    /// the batch that it is about.
    pub fn open_next(&mut self, end_offset: i64) -> Result<bool, CorruptBatch> {
        while self.next_offset < end_offset {
            if self.open.is_some() {
                return Ok(true);
            }
            if self.position >= self.end {
                break;
            }
            let Some(frame) = frame_at(self.data.as_ref(), self.position)? else { break };
            self.reach(frame, end_offset)?;
        }
        Ok(false)
    }

    fn reach(&mut self, frame: BatchFrame, end_offset: i64) -> Result<(), CorruptBatch> {
        let bytes = &self.data.as_ref()[frame.start..frame.end];
        let batch = Batch::read(bytes)?;
        let last_offset = batch.last_offset();
        if matches!(batch, Batch::Current(_)) && batch.base_offset() >= end_offset {
            self.next_offset = end_offset;
            return Ok(());
        }
        let mut wanted = last_offset >= self.next_offset;
        let is_ahead = self.ahead.front().is_some_and(|batch| batch.start == frame.start);
        let ahead = if is_ahead { self.ahead.pop_front() } else { None };
        let opened = if wanted { ahead.and_then(|batch| self.take_ahead(&batch)).transpose()? } else { None };
        if wanted && opened.is_none() && self.limits.check_crcs {
            batch.check_crc(bytes)?;
        }
        if let Batch::Current(header) = &batch {
            if let Some(aborted) = &mut self.aborted {
                let control_payload = match header.is_control() {
                    true => open_payload(header, bytes, self.limits.max_decompressed_bytes)?,
                    false => None,
                };
                let payload = control_payload.as_deref().unwrap_or(&bytes[HEADER_BYTES..]);
                wanted &= !aborted.is_aborted(header, payload);
            }
            wanted &= !header.is_control() && header.record_count > 0;
        }
        let open = if wanted { Some(self.open(&batch, frame, opened)?) } else { None };
        self.last_leader_epoch = batch.leader_epoch();
        match open {
            Some(open) => {
                self.open = Some(open);
                self.batches_opened += 1;
            }
            None => {
                self.position = frame.end;
                self.next_offset = self.next_offset.max((last_offset + 1).min(end_offset));
            }
        }
        Ok(())
    }

    /// What opening the batch gave, if others have begun with it. While they are at it, the next one is opened here.
    fn take_ahead(&self, batch: &BatchAhead) -> Option<Opened> {
        if batch.is_being_opened() {
            let _ = self.ahead.iter().any(|next| next.open_early());
        }
        batch.take()
    }

    /// `opened` is what became of the batch ahead, if anything did.
    fn open(
        &self,
        batch: &Batch,
        frame: BatchFrame,
        opened: Option<Option<SpareBytes>>,
    ) -> Result<CurrentBatch, CorruptBatch> {
        let bytes = &self.data.as_ref()[frame.start..frame.end];
        let limit = self.limits.max_decompressed_bytes;
        let (payload, records) = match batch {
            Batch::Current(header) => {
                let payload = match opened {
                    Some(payload) => payload,
                    None => open_payload(header, bytes, limit)?,
                };
                let payload = match payload {
                    Some(payload) => SharedBytes::new(payload),
                    None => self.data.slice(frame.start + HEADER_BYTES, frame.end),
                };
                (payload, Records::Current(RecordDecoder::new(header)))
            }
            Batch::Legacy(entry) if entry.compression()? == Compression::None => (
                self.data.slice(frame.start, frame.end),
                Records::Legacy(vec![entry.single_record()].into_iter()),
            ),
            Batch::Legacy(entry) => {
                let (payload, records) = entry.unwrap(bytes, limit)?;
                (SharedBytes::new(payload), Records::Legacy(records.into_iter()))
            }
        };
        Ok(CurrentBatch {
            payload,
            leader_epoch: batch.leader_epoch(),
            timestamp_type: batch.timestamp_type(),
            base_offset: batch.base_offset(),
            last_offset: batch.last_offset(),
            end: frame.end,
            records,
        })
    }

    /// Hands records of the open batch to `taker`, until it refuses one, `max_records` were taken, `end_offset` is
    /// reached, or the batch ends (and is closed). Returns how many were taken; an error is only raised before the
    /// first. `taker` comes back: nothing refers to it meanwhile, so that its parts can be in registers.
    #[inline]
    pub fn take_from_open<T: RecordTaker>(
        &mut self,
        max_records: usize,
        end_offset: i64,
        mut taker: T,
    ) -> (T, Result<usize, CorruptBatch>) {
        let Some(open) = &mut self.open else { return (taker, Ok(0)) };
        let payload = open.payload.as_ref();
        let mut run = Run { max_records, end_offset, next_offset: self.next_offset, taken: 0 };
        let left = match &mut open.records {
            Records::Current(decoder) => {
                // Copies lie in registers while ordinary records are taken: nothing may refer to them.
                let mut copy = decoder.clone();
                let left = loop {
                    if run.is_over() {
                        break Ok(copy.records_left());
                    }
                    if let Some(record) = copy.peek_ordinary(payload) {
                        if !run.takes(payload, record, &mut taker) {
                            break Ok(copy.records_left());
                        }
                        copy.step_over(&record);
                        continue;
                    }
                    match copy.clone().peek(payload) {
                        Ok(Some(record)) => {
                            let is_taken;
                            (run, taker, is_taken) = run.takes_other(payload, record, taker);
                            if !is_taken {
                                break Ok(copy.records_left());
                            }
                            copy.step_over(&record);
                        }
                        Ok(None) => break Ok(copy.records_left()),
                        Err(reason) => break Err(reason),
                    }
                };
                *decoder = copy;
                left
            }
            Records::Legacy(records) => {
                while let Some(record) = records.as_slice().first() {
                    if run.is_over() {
                        break;
                    }
                    let is_taken;
                    (run, taker, is_taken) = run.takes_other(payload, *record, taker);
                    if !is_taken {
                        break;
                    }
                    records.next();
                }
                Ok(records.len())
            }
        };
        self.next_offset = run.next_offset;
        match left {
            Ok(0) => {
                self.next_offset = self.next_offset.max((open.last_offset + 1).min(end_offset));
                self.position = open.end;
                self.open = None;
            }
            Err(reason) if run.taken == 0 => {
                return (taker, Err(CorruptBatch::new(open.base_offset, reason)));
            }
            _ => {}
        }
        (taker, Ok(run.taken))
    }
}

/// Records that are taken one after the other.
struct Run {
    max_records: usize,
    end_offset: i64,
    next_offset: i64,
    taken: usize,
}

impl Run {
    #[inline(always)]
    fn is_over(&self) -> bool {
        self.taken == self.max_records
    }

    /// False if the record is not taken and nothing behind it; one before `next_offset` is passed over.
    #[inline(always)]
    fn takes(&mut self, payload: &[u8], record: RecordSlices, taker: &mut impl RecordTaker) -> bool {
        if record.offset >= self.end_offset {
            self.next_offset = self.next_offset.max(self.end_offset);
            return false;
        }
        if record.offset >= self.next_offset {
            if !taker.take(payload, record) {
                return false;
            }
            self.taken += 1;
            self.next_offset = record.offset + 1;
        }
        true
    }

    /// As `takes`, for a record that is not ordinary.
    #[inline(never)]
    fn takes_other<T: RecordTaker>(
        mut self,
        payload: &[u8],
        record: RecordSlices,
        mut taker: T,
    ) -> (Self, T, bool) {
        let is_taken = self.takes(payload, record, &mut taker);
        (self, taker, is_taken)
    }
}

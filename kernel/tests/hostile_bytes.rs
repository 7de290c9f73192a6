//! No bytes whatever make the readers panic, or allocate more than a small multiple of them plus the limit.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use _kernel::arrow::RecordColumns;
use _kernel::compaction::{KeyOffsets, compact_batches};
use _kernel::compression::Compression;
use _kernel::records::{
    BatchBuilder, CursorOptions, Limits, NO_HEADERS, NewRecord, ProducerState, RecordCursor, encode_headers,
    find_first_at_or_after, find_max_timestamp, scan_batches, stamp_batches,
};
use _kernel::shared_bytes::SharedBytes;

thread_local! {
    static ALLOCATED: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

fn count(bytes: isize) {
    let now = ALLOCATED.get() + bytes;
    ALLOCATED.set(now);
    PEAK.set(PEAK.get().max(now));
}

// SAFETY: everything is left to the system's allocator; only sizes are noted beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LIMIT: usize = 1 << 20;

/// The most that `work` had allocated at any time, on this thread.
fn peak_of(work: impl FnOnce()) -> usize {
    let before = ALLOCATED.get();
    PEAK.set(before);
    work();
    (PEAK.get() - before) as usize
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// Whatever reads bytes from elsewhere reads these.
fn read_in_every_way(data: &[u8]) {
    let topic = Arc::from("t");
    for check_crcs in [true, false] {
        let limits = Limits { check_crcs, max_decompressed_bytes: LIMIT };
        for check_records in [true, false] {
            let _ = scan_batches(data, &limits, check_records);
        }
        for aborted in [None, Some(&[(7, 0), (1, 3)][..])] {
            let options = CursorOptions { fetch_offset: 0, aborted, limits };
            let mut cursor = RecordCursor::new(SharedBytes::new(data.to_vec()), &options);
            let mut columns = RecordColumns::new(true, LIMIT, data.len());
            while let Ok(true) = cursor.open_next(i64::MAX) {
                let is_full = columns.take_from_open(&mut cursor, usize::MAX, i64::MAX);
                columns.finish_run(&topic, 0, 0);
                if is_full.unwrap_or(true) {
                    break;
                }
            }
            columns.finish();
        }
        let _ = find_first_at_or_after(data, 5, 0, &limits);
        let _ = find_max_timestamp(data, &limits);
        let mut keys = KeyOffsets::default();
        let _ = keys.add(data, &limits);
        let _ = compact_batches(data, &keys, 0, &limits);
    }
    let _ = stamp_batches(data, 5, 1, Some(7));
}

fn assert_harmless(data: &[u8]) {
    let peak = peak_of(|| read_in_every_way(data));
    // Decompressed bytes, the columns made of them, and what records and batches are listed in.
    let allowed = 64 * data.len() + 16 * LIMIT;
    assert!(peak <= allowed, "{peak} bytes allocated for {} bytes of input", data.len());
}

fn batch(codec: Compression, records: usize, value: &[u8]) -> Vec<u8> {
    let headers = encode_headers([(&b"source"[..], Some(&b"jfk"[..])), (&b"none"[..], None)].into_iter());
    let mut builder = BatchBuilder::new(codec, None, 1 << 24);
    for index in 0..records {
        let headers = if index % 2 == 0 { &headers } else { NO_HEADERS };
        let key = [index as u8; 3];
        let key = (index % 3 > 0).then_some(&key[..]);
        builder.append(&NewRecord::new(index as i64, key, Some(value), headers));
    }
    let producer =
        ProducerState { producer_id: 7, producer_epoch: 0, base_sequence: 0, is_transactional: true };
    builder.seal().encode(&producer, 0, 0, false).to_vec()
}

/// An entry of an old message set around `value`.
fn message(magic: u8, attributes: u8, value: &[u8]) -> Vec<u8> {
    let mut body = vec![magic, attributes];
    if magic == 1 {
        body.extend_from_slice(&5_i64.to_be_bytes());
    }
    body.extend_from_slice(&(-1_i32).to_be_bytes());
    body.extend_from_slice(&(value.len() as i32).to_be_bytes());
    body.extend_from_slice(value);
    let mut entry = 0_i64.to_be_bytes().to_vec();
    entry.extend_from_slice(&(body.len() as i32 + 4).to_be_bytes());
    entry.extend_from_slice(&_kernel::checksums::crc32(&body).to_be_bytes());
    entry.extend_from_slice(&body);
    entry
}

const CODECS: [Compression; 5] =
    [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

fn samples() -> Vec<Vec<u8>> {
    let mut samples: Vec<_> =
        CODECS.iter().map(|&codec| batch(codec, 12, b"a value of some length")).collect();
    for magic in [0, 1] {
        for codec in &CODECS[..4] {
            let mut value = Vec::new();
            codec.compress(&message(magic, 0, b"inner").repeat(3), None, &mut value);
            samples.push(message(magic, *codec as u8, &value));
        }
    }
    samples
}

#[test]
fn cut_batches_are_harmless() {
    for sample in samples() {
        for cut in 0..sample.len() {
            assert_harmless(&sample[..cut]);
        }
    }
}

#[test]
fn batches_with_changed_bytes_are_harmless() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let telling = [0x00, 0x01, 0x7f, 0x80, 0xff];
    for sample in samples() {
        for position in 0..sample.len() {
            let mut changed = sample.clone();
            changed[position] ^= 1 << random.below(8);
            assert_harmless(&changed);
            changed[position] = telling[random.below(telling.len())];
            assert_harmless(&changed);
        }
        for _ in 0..300 {
            let mut changed = sample.repeat(2);
            for _ in 0..=random.below(6) {
                let position = random.below(changed.len());
                changed[position] = random.next() as u8;
            }
            assert_harmless(&changed);
        }
    }
}

#[test]
fn records_with_changed_bytes_under_a_good_header_are_harmless() {
    let mut random = Random(88_172_645_463_325_252);
    let plain = batch(Compression::None, 12, b"a value of some length");
    for codec in CODECS {
        for _ in 0..500 {
            let mut records = plain[61..].to_vec();
            for _ in 0..=random.below(4) {
                let position = random.below(records.len());
                records[position] = if random.below(2) == 0 { 0xff } else { random.next() as u8 };
            }
            let mut changed = plain[..61].to_vec();
            codec.compress(&records, None, &mut changed);
            changed[22] = (changed[22] & !7) | codec as u8;
            let length = changed.len() as i32 - 12;
            changed[8..12].copy_from_slice(&length.to_be_bytes());
            let checksum = _kernel::checksums::crc32c(&changed[21..], 0);
            changed[17..21].copy_from_slice(&checksum.to_be_bytes());
            assert_harmless(&changed);
        }
    }
}

#[test]
fn arbitrary_bytes_are_harmless() {
    let mut random = Random(42);
    for _ in 0..3000 {
        let mut data: Vec<u8> = (0..random.below(300)).map(|_| random.next() as u8).collect();
        if data.len() > 16 {
            let length = data.len() as i32 - 12;
            data[8..12].copy_from_slice(&length.to_be_bytes());
            data[16] = random.below(3) as u8;
        }
        assert_harmless(&data);
    }
}

#[test]
fn a_count_of_records_that_lies_allocates_nothing() {
    let mut data = batch(Compression::None, 3, b"v");
    data[57..61].copy_from_slice(&i32::MAX.to_be_bytes());
    data[23..27].copy_from_slice(&i32::MAX.to_be_bytes());
    assert!(peak_of(|| read_in_every_way(&data)) < 64 * 1024);
}

#[test]
fn a_decompression_bomb_stops_at_the_limit() {
    for codec in CODECS {
        let data = batch(codec, 1, &vec![0; 8 << 20]);
        let limits = Limits { check_crcs: true, max_decompressed_bytes: LIMIT };
        let peak = peak_of(|| {
            let found = scan_batches(&data, &limits, true);
            assert_eq!(found.is_err(), codec != Compression::None);
        });
        assert!(peak <= 4 * LIMIT, "{codec:?}: {peak}");
    }
}

//! How hard zstd looks for matches where nobody names a level. Knows nothing of what the bytes are.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::zstandard::{self, DEFAULT_LEVEL, Search};

/// From the fastest, which takes down to a third of the time, to the default. They find ever more short matches, which text lives
/// on; where values are ids, numbers or compressed already, such matches cost as much as they save.
const SEARCHES: [Search; 4] =
    [Search::Sparse, Search::Level(1), Search::Level(2), Search::Level(DEFAULT_LEVEL)];
const DEFAULT_SEARCH: usize = SEARCHES.len() - 1;
/// A faster search is taken where it needs at most this many bytes for each 1,000 of the default's.
const MOST_BYTES_OF_1000: usize = 1010;
/// One batch of so many is compressed in all ways.
const BATCHES_A_TRIAL: u32 = 64;
/// A trial says nothing of batches that are more than so many times as large: they may repeat what is in them.
const MOST_GROWTH: usize = 2;
/// Smaller data says little of what follows, and takes no time.
const LEAST_BYTES: usize = 4 * 1024;

/// What the last trial found for a series of batches that are alike, such as those of a partition.
#[derive(Debug)]
pub struct LevelChoice {
    batches: AtomicU32,
    /// Bytes of the batch that was tried, and the place in `SEARCHES` that came of it.
    tried_bytes: AtomicUsize,
    search: AtomicUsize,
}

impl Default for LevelChoice {
    fn default() -> Self {
        Self {
            batches: AtomicU32::new(0),
            tried_bytes: AtomicUsize::new(0),
            search: AtomicUsize::new(DEFAULT_SEARCH),
        }
    }
}

impl LevelChoice {
    /// Appends `data`, compressed, to `output`. May be called by several threads at once.
    pub fn compress(&self, data: &[u8], output: &mut Vec<u8>) {
        if data.len() < LEAST_BYTES {
            zstandard::compress(data, SEARCHES[DEFAULT_SEARCH], output);
        } else if self.is_trial_due(data.len()) {
            self.search.store(compress_by_trial(data, output), Ordering::Relaxed);
        } else {
            zstandard::compress(data, SEARCHES[self.search.load(Ordering::Relaxed)], output);
        }
    }

    fn is_trial_due(&self, bytes: usize) -> bool {
        let is_turn = self.batches.fetch_add(1, Ordering::Relaxed) % BATCHES_A_TRIAL == 0;
        let is_due = is_turn || bytes / MOST_GROWTH > self.tried_bytes.load(Ordering::Relaxed);
        if is_due {
            self.tried_bytes.store(bytes, Ordering::Relaxed);
        }
        is_due
    }
}

/// Appends what the fastest search that will do makes of `data`, and gives its place in `SEARCHES`.
fn compress_by_trial(data: &[u8], output: &mut Vec<u8>) -> usize {
    let start = output.len();
    zstandard::compress(data, SEARCHES[DEFAULT_SEARCH], output);
    let most_bytes = (output.len() - start) * MOST_BYTES_OF_1000 / 1000;
    let mut tried = Vec::new();
    for (place, search) in SEARCHES[..DEFAULT_SEARCH].iter().enumerate() {
        tried.clear();
        zstandard::compress(data, *search, &mut tried);
        if tried.len() <= most_bytes {
            output.truncate(start);
            output.extend_from_slice(&tried);
            return place;
        }
    }
    DEFAULT_SEARCH
}

#[cfg(test)]
mod tests {
    use zstd::zstd_safe::{CParameter, ParamSwitch};

    use super::*;

    fn numbers() -> impl Iterator<Item = usize> {
        std::iter::successors(Some(1_usize), |state| {
            Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
        })
        .map(|state| state >> 16)
    }

    /// JSON that is mostly names.
    fn flights() -> Vec<u8> {
        let flight = |(place, n): (usize, usize)| {
            let (day, delay, hour) = (place / 900 % 31, n % 64, place / 50 % 24);
            let (carrier, origin) =
                (["AA", "UA", "DL", "B6"][n / 64 % 4], ["JFK", "EWR", "LGA"][n / 256 % 3]);
            format!(
                "{{\"year\": 2013, \"month\": 1, \"day\": {day}, \"dep_delay\": {delay}, \"carrier\": \"{carrier}\", \
                 \"origin\": \"{origin}\", \"hour\": {hour}, \"minute\": {}}}",
                n / 1024 % 60,
            )
        };
        (0..).zip(numbers()).take(8_000).flat_map(|next| flight(next).into_bytes()).collect()
    }

    /// The same a second time, farther away than level 1 looks.
    fn ids_twice() -> Vec<u8> {
        let once: Vec<u8> =
            numbers().take(50_000).flat_map(|number| format!("{number:012x}").into_bytes()).collect();
        once.repeat(2)
    }

    /// Of which the default makes the least.
    fn program() -> Vec<u8> {
        include_bytes!("../records/cursor.rs").to_vec()
    }

    /// Letters by chance, with no matches.
    fn letters() -> Vec<u8> {
        numbers().take(100_000).map(|number| b'a' + (number % 26) as u8).collect()
    }

    fn at(search: Search, data: &[u8]) -> Vec<u8> {
        let mut compressor = zstd::bulk::Compressor::default();
        match search {
            Search::Level(level) => compressor.set_compression_level(level).unwrap(),
            Search::Sparse => {
                compressor.set_compression_level(1).unwrap();
                compressor.set_parameter(CParameter::TargetLength(2)).unwrap();
                compressor.set_parameter(CParameter::LiteralCompressionMode(ParamSwitch::Enable)).unwrap();
            }
        }
        compressor.compress(data).unwrap()
    }

    fn at_default(data: &[u8]) -> Vec<u8> {
        zstd::bulk::compress(data, DEFAULT_LEVEL).unwrap()
    }

    fn chosen(choice: &LevelChoice, data: &[u8]) -> Vec<u8> {
        let mut output = b"header".to_vec();
        choice.compress(data, &mut output);
        assert!(output.starts_with(b"header"));
        output.split_off(b"header".len())
    }

    #[test]
    fn the_fastest_search_is_taken_that_makes_data_as_small_as_the_default() {
        for (data, expected) in [(letters(), 0), (flights(), 1), (ids_twice(), 2), (program(), 3)] {
            let choice = LevelChoice::default();
            for _ in 0..3 {
                assert!(chosen(&choice, &data) == at(SEARCHES[expected], &data), "{expected}");
            }
            let most = at_default(&data).len() * 101;
            assert_eq!(
                SEARCHES.iter().position(|search| at(*search, &data).len() * 100 <= most),
                Some(expected)
            );
        }
    }

    #[test]
    fn another_trial_finds_out_that_the_data_has_changed() {
        let choice = LevelChoice::default();
        let (letters, program) = (letters(), program());
        chosen(&choice, &letters);
        for _ in 1..BATCHES_A_TRIAL {
            assert!(chosen(&choice, &program) == at(Search::Sparse, &program));
        }
        for _ in 0..BATCHES_A_TRIAL {
            assert!(chosen(&choice, &program) == at_default(&program));
        }
        assert!(chosen(&choice, &letters) == at(Search::Sparse, &letters));
    }

    #[test]
    fn a_batch_that_is_much_larger_than_the_one_tried_is_tried_too() {
        let choice = LevelChoice::default();
        let twice = ids_twice();
        let part = &twice[..twice.len() / 4];
        assert!(chosen(&choice, part) == at(Search::Sparse, part));
        assert!(chosen(&choice, &twice) == at(Search::Level(2), &twice));
        assert!(chosen(&choice, part) == at(Search::Level(2), part));
    }

    #[test]
    fn a_small_batch_takes_the_default_and_decides_nothing() {
        let choice = LevelChoice::default();
        let small = &letters()[..LEAST_BYTES - 1];
        assert_eq!(chosen(&choice, small), at_default(small));
        assert!(chosen(&choice, &program()) == at_default(&program()));
    }
}

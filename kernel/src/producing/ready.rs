//! Which partitions have a batch that is due: one that is full, was put back, or has lingered for long enough. To ask
//! for them costs as much as there are of those, however many others linger. Knows nothing of batches.

use std::collections::VecDeque;

/// What a partition does with its oldest batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Front {
    Empty,
    Lingers { since_ms: f64 },
    Due,
}

/// A topic's place, and the number of the partition.
pub type Place = (usize, usize);

/// Where a partition is listed. What the lists say of it may be out of date, its front never is.
#[derive(Default)]
pub struct Listed {
    /// Its place in the list of those that linger. Any other is of no account.
    since_ms: Option<f64>,
    is_due: bool,
}

pub trait Fronts {
    fn front(&mut self, place: Place) -> (Front, &mut Listed);
}

struct Lingering {
    since_ms: f64,
    place: Place,
}

/// Every partition that has a batch is in one of the lists.
#[derive(Default)]
pub struct Ready {
    /// The oldest first. Each is as old as its partition's front, or older.
    lingering: VecDeque<Lingering>,
    due: Vec<Place>,
}

impl Ready {
    /// A partition has another front, or its front has become full, or older.
    pub fn note(&mut self, place: Place, front: Front, listed: &mut Listed) {
        match front {
            Front::Due if !listed.is_due => {
                listed.is_due = true;
                self.due.push(place);
            }
            Front::Lingers { since_ms } if listed.since_ms.is_none_or(|listed_ms| since_ms < listed_ms) => {
                listed.since_ms = Some(since_ms);
                let position = self.lingering.partition_point(|other| other.since_ms <= since_ms);
                self.lingering.insert(position, Lingering { since_ms, place });
            }
            _ => {}
        }
    }

    /// No partition of this topic has a batch, and none is asked for any more.
    pub fn forget(&mut self, topic: usize) {
        self.lingering.retain(|lingering| lingering.place.0 != topic);
        self.due.retain(|place| place.0 != topic);
    }

    /// The partitions with a batch that is due, and the milliseconds until there is another; infinity if none lingers.
    pub fn due(&mut self, now_ms: f64, linger_ms: f64, fronts: &mut impl Fronts) -> (&[Place], f64) {
        let is_due = |front| match front {
            Front::Empty => false,
            Front::Lingers { since_ms } => since_ms + linger_ms <= now_ms,
            Front::Due => true,
        };
        while let Some(oldest) = self.lingering.front() {
            let (place, listed_ms) = (oldest.place, oldest.since_ms);
            let (front, listed) = fronts.front(place);
            let is_of_account = listed.since_ms == Some(listed_ms);
            if is_of_account && front == (Front::Lingers { since_ms: listed_ms }) && !is_due(front) {
                break;
            }
            self.lingering.pop_front();
            if !is_of_account {
                continue;
            }
            listed.since_ms = None;
            self.note(place, if is_due(front) { Front::Due } else { front }, listed);
        }
        for place in std::mem::take(&mut self.due) {
            let (front, listed) = fronts.front(place);
            if is_due(front) {
                self.due.push(place);
            } else {
                listed.is_due = false;
                self.note(place, front, listed);
            }
        }
        let next = self.lingering.front().map(|oldest| (oldest.since_ms + linger_ms - now_ms).max(0.0));
        (&self.due, next.unwrap_or(f64::INFINITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Partition {
        fronts: VecDeque<Front>,
        listed: Listed,
    }

    impl Fronts for Vec<Partition> {
        fn front(&mut self, place: Place) -> (Front, &mut Listed) {
            let partition = &mut self[place.1];
            (partition.fronts.front().copied().unwrap_or(Front::Empty), &mut partition.listed)
        }
    }

    fn random(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % below
    }

    #[test]
    fn what_is_due_is_what_a_look_at_every_partition_finds_whatever_happened_before() {
        for seed in 0..300 {
            let (mut ready, mut state, mut now_ms) = (Ready::default(), seed, 0.0);
            let mut partitions: Vec<Partition> = (0..8).map(|_| Partition::default()).collect();
            for _ in 0..200 {
                now_ms += random(&mut state, 3) as f64;
                let place = (0, random(&mut state, 8) as usize);
                let partition = &mut partitions[place.1];
                match random(&mut state, 7) {
                    0 | 1 => partition.fronts.push_back(Front::Lingers { since_ms: now_ms }),
                    2 => partition.fronts.push_front(Front::Due),
                    3 => {
                        if let Some(front) = partition.fronts.front_mut() {
                            *front = Front::Due;
                        }
                    }
                    4 => {
                        if let Some(Front::Lingers { since_ms }) = partition.fronts.front_mut() {
                            *since_ms -= 5.0;
                        }
                    }
                    _ => {
                        partition.fronts.pop_front();
                        continue;
                    }
                }
                let (front, listed) = partitions.front(place);
                ready.note(place, front, listed);
                if random(&mut state, 2) == 0 {
                    continue;
                }
                let linger_ms = [0.0, 5.0, 20.0][random(&mut state, 3) as usize];
                let (found, next_ms) = ready.due(now_ms, linger_ms, &mut partitions);
                let mut found = found.to_vec();
                found.sort_unstable();
                let waits = |partition: &Partition| match partition.fronts.front() {
                    None => f64::INFINITY,
                    Some(Front::Lingers { since_ms }) => (since_ms + linger_ms - now_ms).max(0.0),
                    Some(_) => 0.0,
                };
                let expected: Vec<Place> = (0..8)
                    .filter(|&number| waits(&partitions[number]) == 0.0)
                    .map(|number| (0, number))
                    .collect();
                assert_eq!(found, expected, "seed {seed}");
                let expected =
                    partitions.iter().map(waits).filter(|&ms| ms > 0.0).fold(f64::INFINITY, f64::min);
                assert_eq!(next_ms, expected, "seed {seed}");
            }
        }
    }

    #[test]
    fn those_that_linger_are_not_looked_at() {
        struct Counted(Vec<Partition>, usize);
        impl Fronts for Counted {
            fn front(&mut self, place: Place) -> (Front, &mut Listed) {
                self.1 += 1;
                self.0.front(place)
            }
        }
        let mut ready = Ready::default();
        let mut partitions = Counted((0..10_000).map(|_| Partition::default()).collect(), 0);
        for number in 0..10_000 {
            let front = if number < 3 { Front::Due } else { Front::Lingers { since_ms: 1.0 } };
            partitions.0[number].fronts.push_back(front);
            ready.note((0, number), front, &mut partitions.0[number].listed);
        }
        assert_eq!(ready.due(2.0, 5.0, &mut partitions).0.len(), 3);
        assert_eq!(partitions.1, 4);
    }
}

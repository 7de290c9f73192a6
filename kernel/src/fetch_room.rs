//! How much may be fetched ahead of who takes it, of the partitions of one fetch session. Knows only numbers.

/// Less of the room than this part is not fetched by itself: memory would be in many pieces, of all sizes.
const LEAST_SHARE: usize = 4;

/// What of each partition has been fetched and not been taken, and how much that may be.
pub struct FetchRoom {
    queued: Vec<usize>,
    partition_bytes: usize,
}

impl FetchRoom {
    /// `queued`: of each partition, at present. `partition_bytes`: the share of each.
    pub fn new(queued: Vec<usize>, partition_bytes: usize) -> Self {
        Self { queued, partition_bytes }
    }

    pub fn came(&mut self, place: usize, bytes: usize) {
        self.queued[place] += bytes;
    }

    pub fn was_taken(&mut self, place: usize, bytes: usize) {
        if let Some(queued) = self.queued.get_mut(place) {
            *queued = queued.saturating_sub(bytes);
        }
    }

    /// How many bytes may be asked for now, None while that would be too few, or one partition has too many. Brokers
    /// see to it that partitions take turns, so that one of many may have more than its share.
    pub fn bytes(&self) -> Option<usize> {
        let most = self.partition_bytes.saturating_mul(self.queued.len());
        let most_of_one = self.partition_bytes.max(most / LEAST_SHARE);
        let room = most.saturating_sub(self.queued.iter().sum());
        let has_room = room >= (most / LEAST_SHARE).max(1);
        (has_room && self.queued.iter().all(|&queued| queued < most_of_one)).then_some(room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_takes_room_until_it_is_taken() {
        let mut room = FetchRoom::new(vec![100, 0], 1000);
        assert_eq!(room.bytes(), Some(1900));
        room.came(1, 900);
        assert_eq!(room.bytes(), Some(1000));
        room.was_taken(0, 100);
        assert_eq!(room.bytes(), Some(1100));
    }

    #[test]
    fn a_small_rest_is_not_fetched_by_itself() {
        assert_eq!(FetchRoom::new(vec![750], 1000).bytes(), Some(250));
        assert_eq!(FetchRoom::new(vec![751], 1000).bytes(), None);
        assert_eq!(FetchRoom::new(vec![5000], 1000).bytes(), None);
        assert_eq!(FetchRoom::new(vec![1], 1).bytes(), None);
        assert_eq!(FetchRoom::new(vec![0], 1).bytes(), Some(1));
    }

    #[test]
    fn a_partition_that_is_full_holds_the_others_back() {
        assert_eq!(FetchRoom::new(vec![1000, 0, 0], 1000).bytes(), None);
        assert_eq!(FetchRoom::new(vec![999, 0, 0], 1000).bytes(), Some(2001));
    }

    #[test]
    fn one_of_many_partitions_may_have_more_than_its_share() {
        let mut queued = vec![0; 100];
        queued[7] = 2400;
        assert_eq!(FetchRoom::new(queued.clone(), 100).bytes(), Some(7600));
        queued[7] = 2500;
        assert_eq!(FetchRoom::new(queued, 100).bytes(), None);
    }
}

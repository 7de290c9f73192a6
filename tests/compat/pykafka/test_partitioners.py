from __future__ import annotations

from typing import Any

import pytest

from barnabas.compat.pykafka.partitioners import (
    BasePartitioner,
    GroupHashingPartitioner,
    HashingPartitioner,
    RandomPartitioner,
    hashing_partitioner,
)

PARTITIONS = [3, 0, 2, 1]


def test_the_random_partitioner_takes_one_after_the_other() -> None:
    choose = RandomPartitioner()
    assert [choose(PARTITIONS, b"k") for _ in range(6)] == [0, 2, 1, 3, 0, 2]


# What pykafka 2.8.0 chooses.
@pytest.mark.parametrize(("key", "chosen"), [(b"a", 0), (b"b", 0), (b"key", 2), (b"", 1), (b"zebra", 3)])
def test_the_hashing_partitioner_chooses_by_sha1_among_partitions_in_order(key: bytes, chosen: int) -> None:
    assert hashing_partitioner(PARTITIONS, key) == chosen


def test_a_hash_of_the_programs_own_may_be_negative() -> None:
    assert HashingPartitioner(lambda _: -6)(PARTITIONS, "k") == 2


@pytest.mark.parametrize("choose", [hashing_partitioner, GroupHashingPartitioner(hash)])
def test_hashing_takes_a_key(choose: Any) -> None:
    with pytest.raises(ValueError, match="key cannot be `None`"):
        choose(PARTITIONS, None)


def test_a_group_of_neighbours_shares_a_key() -> None:
    choose = GroupHashingPartitioner(lambda _: 3, group_size=2)
    assert {choose(PARTITIONS, "k") for _ in range(100)} == {3, 0}


def test_a_group_is_no_larger_than_the_topic_and_no_smaller_than_one() -> None:
    with pytest.raises(ValueError, match="> available"):
        GroupHashingPartitioner(hash, group_size=5)(PARTITIONS, "k")
    with pytest.raises(ValueError, match="< 1"):
        GroupHashingPartitioner(hash, group_size=0)
    with pytest.raises(ValueError, match="hash_func must be specified"):
        GroupHashingPartitioner(None)


def test_the_base_chooses_nothing() -> None:
    with pytest.raises(NotImplementedError):
        BasePartitioner()(PARTITIONS)

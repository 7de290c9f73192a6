"""Who gets which partition: nothing is left over, nothing is given twice, and shares are even."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.compat.pykafka._balance.shares import range_share, round_robin_share

MEMBERS = st.lists(st.binary(min_size=1, max_size=8), min_size=1, max_size=9, unique=True)


@pytest.mark.parametrize("share", [range_share, round_robin_share])
@given(members=MEMBERS, count=st.integers(0, 40))
def test_every_partition_is_one_members_and_shares_differ_by_one_at_most(share, members, count):
    partitions = list(range(count))
    shares = [share(members, partitions, member) for member in members]
    assert sorted(chain.from_iterable(shares)) == partitions
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("share", [range_share, round_robin_share])
@given(members=MEMBERS, count=st.integers(0, 40), data=st.data())
def test_shares_do_not_depend_on_the_order_in_which_members_are_told(share, members, count, data):
    shuffled = data.draw(st.permutations(members))
    for member in members:
        assert share(shuffled, range(count), member) == share(members, range(count), member)


def test_a_range_is_a_run_of_which_the_first_members_get_the_longer_ones():
    assert [range_share([b"c", b"a", b"b"], range(8), member) for member in (b"a", b"b", b"c")] == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7],
    ]


def test_round_robin_deals_partitions_out_in_turn():
    assert [round_robin_share([b"b", b"a"], range(5), member) for member in (b"a", b"b")] == [
        [0, 2, 4],
        [1, 3],
    ]


def test_a_range_of_one_that_is_no_member_is_an_error_and_its_turn_in_round_robin_never_comes():
    with pytest.raises(ValueError, match="not in list"):
        range_share([b"a"], range(3), b"b")
    assert round_robin_share([b"a"], range(3), b"b") == []

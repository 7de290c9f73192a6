"""How much a micro-batch takes of what there is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.spark.planning.limits import limit_bytes, limit_offsets
from barnabas.types import TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)

partitions = st.builds(TopicPartition, st.sampled_from("abc"), st.integers(0, 5))
spans = st.tuples(st.integers(0, 10**12), st.integers(0, 10**9)).map(lambda pair: (pair[0], sum(pair)))
span_maps = st.dictionaries(partitions, spans, min_size=1, max_size=12)


@given(span_maps, st.integers(1, 10**9))
def test_limited_batches_cover_everything_once_and_end(
    spans: dict[TopicPartition, tuple[int, int]], limit: int
) -> None:
    limit = max(limit, sum(end - start for start, end in spans.values()) // 20)
    position = {partition: start for partition, (start, _) in spans.items()}
    latest = {partition: end for partition, (_, end) in spans.items()}
    batches = 0
    while position != latest:
        end = limit_offsets(position, latest, limit)
        taken = [end[partition] - position[partition] for partition in latest]
        with_data = sum(position[partition] < latest[partition] for partition in latest)
        assert all(count >= 0 for count in taken)
        assert 0 < sum(taken) <= max(limit, with_data) + with_data
        assert all(end[partition] <= latest[partition] for partition in latest)
        position = end
        batches += 1
    assert batches <= 20 + 20 + len(spans)


def test_a_limit_is_divided_by_what_each_partition_has() -> None:
    assert limit_offsets({A0: 0, A1: 100, B0: 7}, {A0: 300, A1: 200, B0: 7}, 40) == {A0: 30, A1: 110, B0: 7}


def test_a_small_partition_does_not_starve_beside_a_large_one() -> None:
    assert limit_offsets({A0: 0, A1: 0}, {A0: 1_000_000, A1: 1}, 10) == {A0: 9, A1: 1}


def test_offsets_beyond_the_precision_of_floats_are_divided_exactly() -> None:
    start = 2**60 + 1
    assert limit_offsets({A0: start, A1: start}, {A0: start + 10, A1: start + 10}, 10) == {
        A0: start + 5,
        A1: start + 5,
    }


def test_a_partition_that_went_back_is_not_hidden_by_a_limit() -> None:
    assert limit_offsets({A0: 50, A1: 0}, {A0: 10, A1: 100}, 10) == {A0: 10, A1: 10}


@given(span_maps, st.integers(1, 10**9), st.data())
def test_batches_limited_in_bytes_cover_everything_once_and_end(
    spans: dict[TopicPartition, tuple[int, int]], limit: int, data: st.DataObject
) -> None:
    sizes = {partition: data.draw(st.floats(1, 10_000)) for partition in sorted(spans)}
    limit = max(limit, int(sum((end - start) * sizes[p] for p, (start, end) in spans.items())) // 20)
    position = {partition: start for partition, (start, _) in spans.items()}
    latest = {partition: end for partition, (_, end) in spans.items()}
    batches = 0
    while position != latest:
        end = limit_bytes(position, latest, limit, sizes)
        with_data = [partition for partition in latest if position[partition] < latest[partition]]
        assert all(position[p] <= end[p] <= latest[p] for p in latest)
        taken = sum((end[p] - position[p]) * sizes[p] for p in latest)
        assert 0 < taken <= 1.000001 * limit + sum(sizes[p] for p in with_data) + 1
        position = end
        batches += 1
    assert batches <= 20 + 20 + len(spans)


def test_a_limit_in_bytes_takes_the_same_part_of_each_partition() -> None:
    start, latest, sizes = {A0: 0, A1: 100}, {A0: 1000, A1: 200}, {A0: 10.0, A1: 1000.0}
    assert limit_bytes(start, latest, 11_000, sizes) == {A0: 100, A1: 110}


def test_a_record_that_is_larger_than_the_limit_is_read_alone() -> None:
    assert limit_bytes({A0: 0}, {A0: 10}, 100, {A0: 5000.0}) == {A0: 1}

"""Offsets and their JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.spark.errors import InvalidOptionError
from barnabas.spark.offsets import (
    first_batch_start,
    from_document,
    name_partitions,
    parse_offsets,
    parse_partitions,
    to_document,
)
from barnabas.types import TopicPartition

topics = st.text("abcXYZ019._-", min_size=1, max_size=10)
partitions = st.builds(TopicPartition, topics, st.integers(0, 30))
offset_maps = st.dictionaries(partitions, st.integers(0, 2**63 - 1), max_size=20)


@given(offset_maps)
def test_a_document_gives_back_the_offsets_it_was_made_from(offsets: dict[TopicPartition, int]) -> None:
    assert from_document(json.loads(json.dumps(to_document(offsets)))) == offsets


@given(offset_maps, st.randoms())
def test_equal_offsets_have_equal_text_whatever_their_order(
    offsets: dict[TopicPartition, int], random
) -> None:
    shuffled = list(offsets.items())
    random.shuffle(shuffled)
    assert json.dumps(to_document(dict(shuffled))) == json.dumps(to_document(offsets))


def test_a_document_is_what_sparks_own_connector_writes() -> None:
    offsets = {
        TopicPartition("b", 10): 7,
        TopicPartition("b", 9): 6,
        TopicPartition("a", 0): 5,
    }
    assert json.dumps(to_document(offsets), separators=(",", ":")) == '{"a":{"0":5},"b":{"9":6,"10":7}}'


@given(offset_maps, offset_maps)
def test_a_first_batch_carries_its_start_besides_its_own_offsets(
    end: dict[TopicPartition, int], start: dict[TopicPartition, int]
) -> None:
    document = json.loads(json.dumps(to_document(end, first_batch_start=start)))
    assert from_document(document) == end
    assert first_batch_start(document) == start


def test_a_later_batch_carries_no_start() -> None:
    assert first_batch_start(to_document({TopicPartition("a", 0): 1})) is None


def test_offsets_are_read_from_what_a_user_gives() -> None:
    assert parse_offsets('{"a": {"0": 23, "1": -2}, "b": {"0": -1}}', "startingOffsets") == {
        TopicPartition("a", 0): 23,
        TopicPartition("a", 1): -2,
        TopicPartition("b", 0): -1,
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "oldest",
        "[]",
        "{}",
        '{"a": 3}',
        '{"a": {"x": 3}}',
        '{"a": {"-1": 3}}',
        '{"a": {"0": "3"}}',
        '{"a": {"0": 1.5}}',
        '{"a": {"0": true}}',
        '{"a": {"0": -3}}',
        '{"a": {"0": 9223372036854775808}}',
        '{"a": {"0": null}}',
    ],
)
def test_offsets_that_make_no_sense_are_refused_with_the_options_name(text: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"^startingOffsets"):
        parse_offsets(text, "startingOffsets")


def test_partitions_are_read_once_each_and_in_order() -> None:
    assert parse_partitions('{"b": [1, 0, 1], "a": [2]}', "assign") == [
        TopicPartition("a", 2),
        TopicPartition("b", 0),
        TopicPartition("b", 1),
    ]


@pytest.mark.parametrize(
    "text",
    ["", "a,b", "[]", "{}", '{"a": []}', '{"a": {"0": 1}}', '{"a": ["0"]}', '{"a": [-1]}', '{"a": [true]}'],
)
def test_partitions_that_make_no_sense_are_refused_with_the_options_name(text: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"^assign"):
        parse_partitions(text, "assign")


def test_a_long_list_of_partitions_is_cut_in_messages() -> None:
    assert name_partitions({TopicPartition("a", number) for number in range(12)}) == (
        "a-0, a-1, a-2, a-3, a-4, a-5, a-6, a-7, a-8, and 3 more"
    )

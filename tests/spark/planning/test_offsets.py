"""Offsets and their JSON."""

from __future__ import annotations

import json
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.spark.errors import InvalidOptionError
from barnabas.spark.planning.offsets import (
    from_document,
    name_partitions,
    parse_offsets,
    parse_partitions,
    starts_of,
    to_document,
    topic_ids_of,
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


@given(offset_maps, st.data())
def test_a_document_tells_where_its_batch_began_besides_its_own_offsets(
    end: dict[TopicPartition, int], data: st.DataObject
) -> None:
    began = {partition: data.draw(st.integers(0, 2**63 - 1)) for partition in sorted(end)[::2]}
    document = json.loads(json.dumps(to_document(end, began=began)))
    assert from_document(document) == end
    assert starts_of(document) == began


@given(offset_maps, offset_maps)
def test_who_reads_partitions_as_numbers_and_keeps_the_last_sees_only_the_offsets(
    end: dict[TopicPartition, int], began: dict[TopicPartition, int]
) -> None:
    document = json.loads(json.dumps(to_document(end, began=began)))
    read = {
        topic: {int(number): offset for number, offset in entries.items()}
        for topic, entries in document.items()
    }
    assert {
        TopicPartition(t, p): offset for t, entries in read.items() for p, offset in entries.items()
    } == end


@given(offset_maps, st.data())
def test_a_document_tells_the_ids_of_its_topics(end: dict[TopicPartition, int], data: st.DataObject) -> None:
    ids = {topic: data.draw(st.uuids()) for topic in sorted({partition.topic for partition in end})[::2]}
    document = json.loads(json.dumps(to_document(end, topic_ids=ids)))
    assert from_document(document) == end
    assert topic_ids_of(document) == ids
    assert starts_of(document) == {}


def test_ids_of_topics_are_shown_as_kafkas_tools_show_them() -> None:
    topic_id = uuid.UUID("cd69671c-76d5-4e75-9951-cf0be7018979")
    document = to_document({TopicPartition("a", 0): 1}, topic_ids={"a": topic_id, "b": topic_id})
    assert document == {"a": {"0": 1}, "a#zWlnHHbVTnWZUc8L5wGJeQ": {}}


def test_a_later_batch_tells_no_start() -> None:
    assert starts_of(to_document({TopicPartition("a", 0): 1, TopicPartition("a", 10): 1})) == {}


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

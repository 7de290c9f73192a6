from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from barnabas.compat.mapr_streams_python._names import (
    LONGEST_KAFKA_NAME,
    EscapedNaming,
    StreamTopics,
    naming_of,
)

NAMING = EscapedNaming()
LEGAL = re.compile(r"[A-Za-z0-9._\-]+")
CHARACTERS = st.characters(exclude_categories=["Cs"])
TEXT = st.text(CHARACTERS, max_size=9)
STREAM_TOPICS = st.builds(
    lambda stream, topic: f"/{stream}:{topic}",
    TEXT.map(lambda text: text.replace(":", "")),
    TEXT.filter(bool),
)
TRICKY = st.builds(
    lambda stream, topic: f"/{stream}:{topic}",
    st.text("/-._a5fé", max_size=9),
    st.text("/-._:a5f", min_size=1),
).filter(lambda name: len(name) < 40)


@given(STREAM_TOPICS | TRICKY)
@example("/path/to/stream:topic")
@example("/-:-")
@example("/a:b:c")
def test_a_topic_of_a_stream_comes_back_from_a_legal_kafka_name(stream_topic: str) -> None:
    kafka_name = NAMING.kafka_name(stream_topic)
    assert LEGAL.fullmatch(kafka_name)
    assert kafka_name not in (".", "..")
    assert len(kafka_name) <= LONGEST_KAFKA_NAME
    assert NAMING.stream_topic(kafka_name) == stream_topic


@given(STREAM_TOPICS | TRICKY, STREAM_TOPICS | TRICKY)
def test_two_topics_never_collide_in_kafka_where_a_dot_is_an_underscore(one: str, other: str) -> None:
    first, second = (NAMING.kafka_name(name).replace(".", "_") for name in (one, other))
    assert (first == second) == (one == other)


@given(st.text("abAZ059.-_", max_size=30) | st.from_regex(r"\.[a-f0-9.-]+-\.[a-f0-9.-]+", fullmatch=True))
def test_a_kafka_name_belongs_to_no_stream_or_is_what_its_topic_is_called(kafka_name: str) -> None:
    stream_topic = NAMING.stream_topic(kafka_name)
    assert stream_topic is None or NAMING.kafka_name(stream_topic) == kafka_name


def test_the_name_in_the_documentation() -> None:
    assert NAMING.kafka_name("/path/to/my-stream:a_topic") == ".path.to.my--stream-.a-5ftopic"


@pytest.mark.parametrize("name", ["topic", "stream:topic", "/stream", "/stream:", ":topic", ""])
def test_what_is_no_topic_of_a_stream_has_no_name(name: str) -> None:
    with pytest.raises(ValueError, match="no topic of a stream"):
        NAMING.kafka_name(name)


def test_a_name_too_long_for_kafka_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 249"):
        NAMING.kafka_name("/" + "a" * 240 + ":topic-1")


def test_a_topic_without_a_stream_is_one_of_the_default_stream() -> None:
    topics = StreamTopics(NAMING, "/apps/stream")
    assert topics.kafka_name("topic") == NAMING.kafka_name("/apps/stream:topic")
    assert topics.kafka_name("/other:topic") == NAMING.kafka_name("/other:topic")
    assert topics.program_name(topics.kafka_name("topic")) == "/apps/stream:topic"


def test_a_topic_without_any_stream_is_kafkas_own() -> None:
    topics = StreamTopics(NAMING, None)
    assert topics.kafka_name("plain_topic") == topics.program_name("plain_topic") == "plain_topic"


def test_texts_for_people_have_the_names_of_the_program() -> None:
    topics = StreamTopics(NAMING, None)
    kafka_name = NAMING.kafka_name("/s:my_topic")
    text = f"Topic {kafka_name}: not there, {kafka_name} [3], ({kafka_name}), see {kafka_name}. No more..."
    assert topics.program_text(text) == (
        "Topic /s:my_topic: not there, /s:my_topic [3], (/s:my_topic), see /s:my_topic. No more..."
    )


class Upper:
    """A rule of a user's."""

    def kafka_name(self, stream_topic: str) -> str:
        return stream_topic.upper()

    def stream_topic(self, kafka_name: str) -> str | None:
        return kafka_name.lower()


def test_a_setting_puts_another_rule_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    assert naming_of(Upper()).kafka_name("/a:b") == "/A:B"
    here = f"{EscapedNaming.__module__}:EscapedNaming"
    assert isinstance(naming_of(here), EscapedNaming)
    assert isinstance(naming_of("escaped"), EscapedNaming)
    assert isinstance(naming_of(None), EscapedNaming)
    monkeypatch.setenv("BARNABAS_STREAMS_NAMING", "no.such.module:Naming")
    with pytest.raises(ValueError, match=r"no\.such\.module"):
        naming_of(None)


@pytest.mark.parametrize(
    "setting", ["", "nothing", "barnabas:nothing", "barnabas.errors:KafkaTimeoutError", 5]
)
def test_a_setting_that_is_no_rule_is_refused(setting: object) -> None:
    with pytest.raises(ValueError, match=r"streams\.topic\.naming"):
        naming_of(setting)

from __future__ import annotations

import pytest
from tests.compat.kafka.generation_runs import ours

from barnabas.compat.kafka_engine.generations import GENERATIONS

ALL = pytest.mark.parametrize("generation", GENERATIONS)


@ALL
def test_no_error_of_the_core_is_seen_by_programs(generation: str) -> None:
    told = ours("failures", generation)
    assert told["of the core"] == []
    # The original lets these out as the language's own.
    assert set(told["not of the facade"]) == {
        "MissingExtraError",
        "NoSuchPartitionError",
        "UnusableRecordError",
    }


@ALL
def test_no_call_of_a_client_raises_an_error_of_the_core(generation: str) -> None:
    told = ours("entry_points", generation)
    assert told["leaving"] == []
    assert told["tried"] > 500


@ALL
def test_errors_of_brokers_keep_their_number(generation: str) -> None:
    told = ours("failures", generation)
    assert told["errnos"]["UnknownTopicOrPartitionError"] == 3
    assert told["errnos"]["TopicAlreadyExistsError"] == 36
    assert told["errnos"]["UnknownErrorCodeError"] == 9_999


@pytest.mark.parametrize(
    ("generation", "text", "is_unknown"),
    [
        ("1.2", "UnrecognizedBrokerError - 36 - Topic with this name already exists.", True),
        ("2", "[Error 36] TopicAlreadyExistsError: the context", False),
        ("3", "[Error 36] TopicAlreadyExistsError: the context", False),
    ],
)
def test_a_code_that_the_generation_does_not_know_is_an_unknown_error_that_says_what_it_is(
    generation: str, text: str, is_unknown: bool
) -> None:
    told = ours("failures", generation)
    assert told["unknown"] == text
    assert told["is an unknown error"] is is_unknown


@pytest.mark.parametrize(
    ("generation", "failure"),
    [
        ("1.2", "NoBrokersAvailable()"),
        ("2", "NoBrokersAvailable()"),
        ("3", "KafkaTimeoutError(\"Unable to bootstrap from ['a:1', 'b:2']\")"),
    ],
)
def test_servers_that_do_not_answer_are_told_of_as_the_generation_did(generation: str, failure: str) -> None:
    assert ours("failures", generation)["no brokers"] == failure


@pytest.mark.parametrize(
    ("error", "in_1", "in_3"),
    [
        (
            "KafkaConnectionError",
            'ConnectionError("the core\'s text",)',
            'KafkaConnectionError("the core\'s text",)',
        ),
        (
            "BufferFullError",
            'KafkaTimeoutError("the core\'s text",)',
            'KafkaTimeoutError("the core\'s text",)',
        ),
        (
            "RecordTooLargeError",
            'MessageSizeTooLargeError("the core\'s text",)',
            'MessageSizeTooLargeError("the core\'s text",)',
        ),
        ("ClosedError", 'IllegalStateError("the core\'s text",)', 'IllegalStateError("the core\'s text",)'),
        (
            "CorruptBatchError",
            'InvalidMessageError("the core\'s text",)',
            'CorruptRecordError("the core\'s text",)',
        ),
        (
            "LogTruncationError",
            "OffsetOutOfRangeError({TopicPartition(topic='topic', partition=1): 5},)",
            'LogTruncationError("Detected truncated partitions: '
            "{TopicPartition(topic='topic', partition=1): "
            "OffsetAndMetadata(offset=3, metadata='', leader_epoch=-1)}\",)",
        ),
        (
            "NoSuchPartitionError",
            "AssertionError('Unrecognized partition',)",
            "AssertionError('Unrecognized partition',)",
        ),
    ],
)
def test_errors_are_those_that_programs_look_for(error: str, in_1: str, in_3: str) -> None:
    assert ours("failures", "1.2")["failures"][error] == in_1
    assert ours("failures", "3")["failures"][error] == in_3


@ALL
def test_what_functions_of_the_program_raise_passes_unchanged(generation: str) -> None:
    assert ours("failures", generation)["others pass"] is True


def test_a_caller_may_give_the_arguments_that_programs_look_for() -> None:
    assert ours("failures", "3")["other text"] == "KafkaTimeoutError('theirs', 2)"

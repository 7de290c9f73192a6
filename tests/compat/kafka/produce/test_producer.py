"""What KafkaProducer does beyond what the genuine packages do, which the differential suite cannot
compare."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import barnabas
from barnabas.testing import ApacheKafka, EmbeddedBroker

PROGRAM = Path(__file__).parent / "producer_program.py"

Topic = Callable[[], str]


def command(generation: str, function: str, bootstrap: str, topic: str) -> list[str]:
    options = ["-W", "error", "-W", "ignore::ResourceWarning", "-m", "barnabas.compat"]
    chosen = ["--kafka-python", generation]
    return [sys.executable, *options, *chosen, str(PROGRAM), function, bootstrap, topic]


def printed(generation: str, function: str, bootstrap: str, topic: str) -> Any:
    done = subprocess.run(
        command(generation, function, bootstrap, topic), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def end_of(bootstrap: str, topic: str) -> int:
    with barnabas.Admin(bootstrap) as admin:
        partition = barnabas.TopicPartition(topic, 0)
        return admin.list_offsets({partition: "latest"})[partition].offset


@pytest.mark.parametrize("generation", ["1.2", "3"])
def test_a_producer_that_is_still_open_at_the_end_delivers(
    generation: str, apache_kafka: ApacheKafka, topic: Topic
) -> None:
    name = topic()
    assert printed(generation, "left_open", apache_kafka.bootstrap, name) == "sent"
    assert end_of(apache_kafka.bootstrap, name) == 50


def test_a_producer_that_is_dropped_delivers_and_its_thread_ends(
    apache_kafka: ApacheKafka, topic: Topic
) -> None:
    assert printed("3", "dropped", apache_kafka.bootstrap, topic()) == [True, 50, []]


def test_a_callback_may_flush_and_close(apache_kafka: ApacheKafka, topic: Topic) -> None:
    assert printed("2", "closed_in_callback", apache_kafka.bootstrap, topic()) is True


def test_who_sends_more_than_the_buffer_holds_waits_and_nothing_is_lost(
    apache_kafka: ApacheKafka, topic: Topic
) -> None:
    assert printed("1.2", "full_buffer", apache_kafka.bootstrap, topic()) == 4500


def test_the_child_of_a_fork_cannot_send(apache_kafka: ApacheKafka, topic: Topic) -> None:
    assert printed("3", "forked", apache_kafka.bootstrap, topic()) == ["IllegalStateError", 1]


@pytest.mark.parametrize("generation", ["1.2", "3"])
def test_every_callback_is_called_once(generation: str, apache_kafka: ApacheKafka, topic: Topic) -> None:
    assert printed(generation, "many_threads", apache_kafka.bootstrap, topic()) == [8000, 8000, 7999]


def printed_without_broker(generation: str, function: str) -> Any:
    """The broker is stopped when the program asks for it."""
    with (
        EmbeddedBroker() as broker,
        subprocess.Popen(
            command(generation, function, broker.bootstrap, "t"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as program,
    ):
        assert program.stdout is not None
        assert program.stdin is not None
        assert program.stdout.readline() == "stop the broker\n"
        broker.stop()
        program.stdin.write("\n")
        program.stdin.flush()
        return json.loads(program.stdout.readline())


def test_what_cannot_be_delivered_fails_in_its_time() -> None:
    told = printed_without_broker("3", "unreachable_after")
    assert told == ["KafkaTimeoutError", ["KafkaTimeoutError"], True]


def test_a_buffer_that_stays_full_is_told_of_after_max_block_ms() -> None:
    told = printed_without_broker("1.2", "no_room")
    assert told == "Failed to allocate memory within the configured max blocking time"

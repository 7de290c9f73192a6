"""Clients of other projects, in four languages, do their jobs on the embedded broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.broker.foreign.clients import CLIENTS, EACH_CODEC, ForeignClient

from barnabas import Consumer, TopicPartition
from barnabas.testing import EmbeddedBroker, MissingProgramError

HEARTBEATS = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
}


@pytest.fixture(scope="module")
def prompt_broker() -> Iterator[EmbeddedBroker]:
    """Has members of the consumer protocol ask often, and so hear soon what they are to have."""
    with EmbeddedBroker(config=HEARTBEATS) as broker:
        yield broker


@pytest.mark.differential
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_of_another_project_does_its_jobs(
    prompt_broker: EmbeddedBroker, topic: Callable[[], str], client: ForeignClient
) -> None:
    name = topic()
    try:
        results = client.does_its_jobs(prompt_broker.bootstrap, name)
    except MissingProgramError as error:
        pytest.skip(str(error))
    assert results == client.expected()
    with Consumer(prompt_broker.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(name, number) for number in range(3)])
        values: list[bytes | None] = []
        while len(values) < len(client.codecs) * EACH_CODEC:
            values += [record.value for record in consumer.poll(10)]
    sent = [f"{codec} {index}".encode() for codec in client.codecs for index in range(EACH_CODEC)]
    assert sorted(value or b"" for value in values) == sorted(sent)

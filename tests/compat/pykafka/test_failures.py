"""No error of the core leaves the facade, whatever a program calls and whether brokers are there or not."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from barnabas.compat.pykafka import KafkaClient
from barnabas.errors import BarnabasError
from barnabas.testing import EmbeddedBroker

# These wait for as long as the program says, or ask for a minute who the coordinator is.
PATIENT = {
    "consume",
    "get_delivery_report",
    "get_group_coordinator",
    "get_offset_manager",
    "get_balanced_consumer",
}
# What these close, the others are to be called on.
ENDING = {"stop", "disconnect", "cleanup"}


class Stranger:
    """What no call takes."""


def calls_of(holder: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, found in inspect.getmembers(type(holder)):
        if callable(found) and not name.startswith("_") and name not in PATIENT | ENDING:
            yield f"{type(holder).__name__}.{name}", getattr(holder, name)


def leaving(call: Callable[..., Any], *arguments: Any) -> str | None:
    """The error of the core that the call raised."""
    try:
        call(*arguments)
    except BarnabasError as error:
        return repr(error)
    except Exception:
        return None
    return None


def holders_of(client: KafkaClient) -> list[Any]:
    topic = client.topics[b"topic"]
    return [
        client,
        client.cluster,
        topic,
        topic.partitions[0],
        next(iter(client.brokers.values())),
        topic.get_simple_consumer(consumer_group=b"group", consumer_timeout_ms=100),
        topic.get_sync_producer(linger_ms=1, max_retries=0, pending_timeout_ms=500),
    ]


def test_no_call_raises_an_error_of_the_core() -> None:
    with EmbeddedBroker() as broker:
        client = KafkaClient(broker.bootstrap, socket_timeout_ms=2000, broker_version="2.0.0")
        holders = holders_of(client)
        found: dict[str, str | None] = {}
        for holder in holders:
            for name, call in calls_of(holder):
                for count in range(4):
                    found[f"{name} of {count} strangers"] = leaving(call, *(Stranger() for _ in range(count)))
        assert len(found) > 100
        assert {name: error for name, error in found.items() if error} == {}
        with contextlib.suppress(Exception):
            for holder in holders[-2:]:
                holder.stop()


def test_no_call_raises_an_error_of_the_core_once_brokers_are_away() -> None:
    with EmbeddedBroker() as broker:
        client = KafkaClient(broker.bootstrap, socket_timeout_ms=1000, broker_version="2.0.0")
        *_, topic, partition, node, consumer, producer = holders_of(client)
        producer.produce(b"one")
        consumer.consume()
        broker.kill()
        found = {
            "produce": leaving(producer.produce, b"two"),
            "consume": leaving(consumer.consume),
            "held": leaving(lambda: consumer.held_offsets),
            "limits": leaving(topic.latest_available_offsets),
            "limit": leaving(partition.latest_available_offset),
            "metadata": leaving(node.request_metadata),
            "groups": leaving(node.list_groups),
            "described": leaving(node.describe_groups, [b"group"]),
            "updated": leaving(client.update_cluster),
            "new client": leaving(KafkaClient, broker.bootstrap),
            "stop of the producer": leaving(producer.stop),
        }
        assert {name: error for name, error in found.items() if error} == {}
        broker.start()
        consumer.stop()

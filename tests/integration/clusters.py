"""What a run can be on: three brokers of Apache Kafka, an embedded broker, or three nodes of it.

Owns what they have in common: nodes by their ids, to be stopped, killed, paused and started, and waiting
until all of them know each other again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from barnabas.testing import ApacheKafkaCluster, EmbeddedBroker

CONFIG = {
    "group.consumer.min.session.timeout.ms": "5000",
    "group.consumer.session.timeout.ms": "5000",
}
# As barnabas.testing has it for Apache Kafka, so that the same plan of harms has the same effect.
EMBEDDED_CONFIG = CONFIG | {"broker.session.timeout.ms": "3000"}


# What begins each, and what ends it.
HARMS = {"kill": ("kill", "start"), "pause": ("pause", "resume"), "restart": ("stop", "start")}


class HarmedNode(Protocol):
    def start(self) -> object: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...


class HarmedCluster(Protocol):
    """`node_ids` are those of Kafka's metadata."""

    @property
    def bootstrap(self) -> str: ...
    @property
    def harms(self) -> Mapping[str, tuple[str, str]]: ...
    @property
    def node_ids(self) -> Sequence[int]: ...
    def node(self, node_id: int) -> HarmedNode: ...
    def wait_until_whole(self) -> None: ...


class ApacheBrokers(ApacheKafkaCluster):
    """Three brokers of Apache Kafka."""

    harms = HARMS

    def __init__(self) -> None:
        super().__init__(config=CONFIG)

    @property
    def node_ids(self) -> Sequence[int]:
        return [node.node_id for node in self.nodes]


class EmbeddedNodes(EmbeddedBroker):
    """Three nodes in one process. One that is killed leaves the process as it is."""

    harms = HARMS | {"part": ("part", "join")}

    def __init__(self) -> None:
        super().__init__(nodes=3, config=EMBEDDED_CONFIG)

    @property
    def node_ids(self) -> Sequence[int]:
        return list(self.nodes)


class OneEmbeddedBroker(EmbeddedBroker):
    """A broker alone: what is done to its node is done to the process."""

    harms = HARMS

    def __init__(self) -> None:
        super().__init__(config=EMBEDDED_CONFIG)

    @property
    def node_ids(self) -> Sequence[int]:
        return [1]

    def node(self, node_id: int) -> HarmedNode:
        assert node_id == 1
        return self


KINDS = {"apache": ApacheBrokers, "embedded": OneEmbeddedBroker, "embedded-3": EmbeddedNodes}


def cluster_of(kind: str) -> AbstractContextManager[HarmedCluster]:
    """A cluster of a kind, which runs in its context."""
    return KINDS[kind]()

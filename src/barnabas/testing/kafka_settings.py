"""The settings of Apache Kafka's brokers for tests: small, quick, and the same for every kind.

Owns the text of a `server.properties`. Starts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CONTROLLER = "CONTROLLER"
PLAINTEXT = "PLAINTEXT"

# Records with timestamps of years ago, as tests write them, are not deleted for their age while a test runs.
KEEPS_OLD_RECORDS = {"log.retention.check.interval.ms": "86400000"}

# What is quick in a group, and small in memory, threads and disk. An older release passes over what it lacks.
_SMALL_AND_QUICK = {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
    "num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "500",
    "num.network.threads": "2",
    "num.io.threads": "3",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.segment.bytes": "67108864",
    "log.index.size.max.bytes": "1048576",
    "log.segment.delete.delay.ms": "1000",
    # By default Kafka looks at the age of records after 30 s, and then every five minutes.
    "log.initial.task.delay.ms": "86400000",
    **KEEPS_OLD_RECORDS,
}
_QUORUM = {
    "process.roles": "broker,controller",
    "controller.listener.names": CONTROLLER,
    "metadata.log.segment.bytes": "8388608",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "broker.heartbeat.interval.ms": "250",
    # Twice a second, as by default, is a third of what an idle broker takes of a processor.
    "metadata.max.idle.interval.ms": "5000",
}


@dataclass(frozen=True, slots=True)
class Listener:
    """One address of a broker: Kafka's name for it, what is spoken there, and its port of 127.0.0.1."""

    name: str
    security_protocol: str
    port: int

    @property
    def address(self) -> str:
        return f"{self.name}://127.0.0.1:{self.port}"


def broker_settings(listeners: Sequence[Listener], log_dir: str, replicas: int) -> dict[str, str]:
    """What every node has. `replicas`: of the internal topics."""
    advertised = [listener.address for listener in listeners if listener.name != CONTROLLER]
    min_insync_replicas = str(max(1, replicas - 1))
    return {
        **_SMALL_AND_QUICK,
        "listeners": ",".join(listener.address for listener in listeners),
        **({"advertised.listeners": ",".join(advertised)} if advertised else {}),
        "listener.security.protocol.map": ",".join(
            f"{listener.name}:{listener.security_protocol}" for listener in listeners
        ),
        "inter.broker.listener.name": PLAINTEXT,
        "log.dirs": log_dir,
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": min_insync_replicas,
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": min_insync_replicas,
    }


def quorum_settings(node_id: int, voters: Mapping[int, int], session_timeout_ms: int) -> dict[str, str]:
    """What a combined broker and controller has besides. `voters`: the controllers' ports by node id."""
    return {
        **_QUORUM,
        "node.id": str(node_id),
        "controller.quorum.voters": ",".join(f"{voter}@127.0.0.1:{port}" for voter, port in voters.items()),
        "broker.session.timeout.ms": str(session_timeout_ms),
    }


def dynamic_quorum_settings(
    node_id: int, roles: str, bootstrap_controller: int, session_timeout_ms: int
) -> dict[str, str]:
    """What a node of a quorum has whose voters may change (KIP-853). `bootstrap_controller`: the port by
    which the quorum is found."""
    return {
        **_QUORUM,
        "process.roles": roles,
        "node.id": str(node_id),
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{bootstrap_controller}",
        "broker.session.timeout.ms": str(session_timeout_ms),
    }


def zookeeper_settings(zookeeper_port: int) -> dict[str, str]:
    """What a broker of the years before KRaft has besides."""
    return {
        "broker.id": "1",
        "zookeeper.connect": f"127.0.0.1:{zookeeper_port}",
        # A broker started again after a kill waits until ZooKeeper forgets the one before it.
        "zookeeper.session.timeout.ms": "6000",
        # The default from 1.0 on.
        "delete.topic.enable": "true",
    }


def properties_text(settings: Mapping[str, str]) -> str:
    """Java's properties format."""
    return "".join(f"{name}={value}\n" for name, value in settings.items())

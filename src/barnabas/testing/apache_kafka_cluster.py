"""A cluster of Apache Kafka, for tests of what happens when brokers come and go.

Owns the nodes and their quorum. A node by itself is `ApacheKafka`.

    with ApacheKafkaCluster() as cluster:
        Producer(cluster.bootstrap)
        cluster.nodes[0].kill()                 # as a crash would
        cluster.nodes[1].pause()                # alive, and silent
        cluster.nodes[1].resume()
        cluster.nodes[0].start()                # the same data, the same address
        cluster.wait_until_whole()              # every broker is back in the metadata of every other
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from barnabas.testing.apache_kafka import ApacheKafka, make_class_archive, new_cluster_id
from barnabas.testing.broker_process import START_ATTEMPTS, start_on_free_ports
from barnabas.testing.distribution import DEFAULT_VERSION
from barnabas.testing.kafka_settings import quorum_settings
from barnabas.testing.metadata_probe import known_broker_ports
from barnabas.testing.process import KeptPorts, ServerStartError

SESSION_TIMEOUT_MS = 3000
WHOLE_TIMEOUT_SECONDS = 180.0


class ApacheKafkaCluster:
    """Combined brokers and controllers on 127.0.0.1, started by `start` or on entering the context.

    `version`: a published release from 3.3 on. `brokers`: how many. With three, topics have replication
    factor 3 and min.insync.replicas 2 unless created otherwise, and so have the internal ones. `config`:
    settings of every broker. `racks`: one for each broker (broker.rack). `heap_mb`: of each JVM.

    Raises: MissingProgramError (no Java 17, no Maven), ServerStartError (quotes a broker's log).
    """

    def __init__(
        self,
        version: str = DEFAULT_VERSION,
        *,
        brokers: int = 3,
        config: Mapping[str, str] | None = None,
        racks: Sequence[str] | None = None,
        heap_mb: int = 384,
    ) -> None:
        if brokers < 1:
            raise ValueError(f"brokers={brokers}: a cluster has at least one")
        if racks is not None and len(racks) != brokers:
            raise ValueError(f"racks={list(racks)!r}: there are {brokers} brokers, name a rack for each")
        self.version = version
        self.nodes: list[ClusterNode] = []
        self._brokers = brokers
        self._config = dict(config or {})
        self._racks = racks
        self._heap_mb = heap_mb
        self._kept_ports = KeptPorts()

    @property
    def bootstrap(self) -> str:
        """`host:port,host:port,host:port`, the same after every restart."""
        return ",".join(node.bootstrap for node in self.nodes)

    def node(self, node_id: int) -> ClusterNode:
        """A node by the id that Kafka's metadata gives it: 1, 2, 3."""
        return self.nodes[node_id - 1]

    def start(self) -> Self:
        """Starts every node that does not run, and waits until all know all.

        Raises: ServerStartError.
        """
        make_class_archive(self.version)
        if self.nodes:
            self._launch_missing()
        else:
            start_on_free_ports(self._first_start, self.close, START_ATTEMPTS)
        return self

    def wait_until_whole(self, timeout: float = WHOLE_TIMEOUT_SECONDS) -> None:
        """Waits until every node runs and is in the metadata of every other; `timeout` is in seconds.

        Raises: ServerStartError.
        """
        ports = {node.port for node in self.nodes}
        deadline = time.monotonic() + timeout
        for node in self.nodes:
            while known_broker_ports(node.port) != ports:
                if not node.is_alive or time.monotonic() > deadline:
                    ended = "" if node.is_alive else ", whose process has ended"
                    raise ServerStartError(
                        f"broker {node.node_id}{ended} does not know all {len(ports)} brokers after "
                        f"{timeout:.0f} s; the end of its log:\n" + "\n".join(node.log.splitlines()[-25:])
                    )
                time.sleep(0.05)

    def close(self) -> None:
        """Ends every node and removes its data."""
        for node in self.nodes:
            node.kill()
        for node in self.nodes:
            node.close()
        self.nodes = []
        self._kept_ports.release()

    def tool(
        self, class_name: str, *arguments: str, input: str | None = None, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Runs one of Kafka's command-line classes of this version; see `KafkaDistribution.tool`."""
        return self.nodes[0].tool(class_name, *arguments, input=input, timeout=timeout)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _first_start(self) -> None:
        ports = self._kept_ports.take(2 * self._brokers)
        voters = {index + 1: port for index, port in enumerate(ports[self._brokers :])}
        cluster_id = new_cluster_id()
        defaults = {
            "default.replication.factor": str(self._brokers),
            "min.insync.replicas": str(max(1, self._brokers - 1)),
        }
        for index in range(self._brokers):
            rack = {} if self._racks is None else {"broker.rack": self._racks[index]}
            self.nodes.append(
                ClusterNode(
                    index + 1,
                    voters,
                    cluster_id,
                    version=self.version,
                    port=ports[index],
                    config={**defaults, **rack, **self._config},
                    heap_mb=self._heap_mb,
                )
            )
        self._launch_missing()

    def _launch_missing(self) -> None:
        # All before the first wait: a quorum needs more than one to become ready.
        launched = [node for node in self.nodes if not node.is_alive]
        for node in launched:
            node.launch()
        for node in launched:
            node.wait_until_ready()
        self.wait_until_whole()


class ClusterNode(ApacheKafka):
    """One broker and controller of an `ApacheKafkaCluster`."""

    def __init__(
        self,
        node_id: int,
        voters: Mapping[int, int],
        cluster_id: str,
        *,
        version: str,
        port: int,
        config: Mapping[str, str],
        heap_mb: int,
    ) -> None:
        super().__init__(version, port=port, config=config, heap_mb=heap_mb)
        self.node_id = node_id
        self._voters = dict(voters)
        self._shared_cluster_id = cluster_id

    @property
    def _name(self) -> str:
        return f"node {self.node_id} of Apache Kafka {self.version} on {self.bootstrap}"

    @property
    def _replicas(self) -> int:
        return len(self._voters)

    @property
    def _cluster_id(self) -> str:
        return self._shared_cluster_id

    def _quorum_settings(self) -> dict[str, str]:
        self._add_controller_listener(self._voters[self.node_id])
        return quorum_settings(self.node_id, self._voters, SESSION_TIMEOUT_MS)

"""A further node of a running `ApacheKafka` whose quorum is dynamic: one more controller, or one more broker.

with ApacheKafka(has_dynamic_quorum=True) as kafka, JoiningNode(kafka, 2, role="controller") as node:
    endpoint = RaftVoterEndpoint("CONTROLLER", "127.0.0.1", node.port)
    admin.add_raft_voter(2, node.directory_id, [endpoint])
"""

from __future__ import annotations

import socket
from typing import Literal

from barnabas.testing.apache_kafka import SESSION_TIMEOUT_MS, ApacheKafka
from barnabas.testing.kafka_settings import CONTROLLER, PLAINTEXT, Listener, dynamic_quorum_settings
from barnabas.testing.metadata_probe import is_broker_ready
from barnabas.testing.process import wait_until_ready


class JoiningNode(ApacheKafka):
    """`kafka`: the node that runs already, made with `has_dynamic_quorum`. A controller follows the quorum
    until somebody makes it a voter.

    Raises: ServerStartError.
    """

    def __init__(
        self,
        kafka: ApacheKafka,
        node_id: int,
        *,
        role: Literal["broker", "controller"],
        heap_mb: int = 384,
    ) -> None:
        super().__init__(kafka.version, heap_mb=heap_mb, has_dynamic_quorum=True)
        self.node_id = node_id
        self._kafka = kafka
        self._role = role

    def wait_until_ready(self) -> None:
        """Returns when it answers. Raises: ServerStartError, with the log's end."""
        wait_until_ready(self._running, self._name, self._is_ready, self._start_timeout_seconds)

    def _is_ready(self) -> bool:
        if self._role == "broker":
            return is_broker_ready(self.port)
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=2).close()
        except OSError:
            return False
        return True

    @property
    def _name(self) -> str:
        return f"{self._role} {self.node_id} of Apache Kafka {self.version} on {self.bootstrap}"

    @property
    def _cluster_id(self) -> str:
        return self._kafka.cluster_id

    @property
    def _format_arguments(self) -> list[str]:
        return ["--no-initial-controllers"] if self._role == "controller" else []

    def _quorum_settings(self) -> dict[str, str]:
        if self._role == "controller":
            self._listeners = [Listener(CONTROLLER, PLAINTEXT, self.port)]
        controller = int(self._kafka.bootstrap_controllers.rpartition(":")[2])
        return {
            **dynamic_quorum_settings(self.node_id, self._role, controller, SESSION_TIMEOUT_MS),
            "listener.security.protocol.map": f"{PLAINTEXT}:{PLAINTEXT},{CONTROLLER}:{PLAINTEXT}",
        }

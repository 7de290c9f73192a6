"""What the property `debug` has a client tell: our core's steps and events, each as lines in librdkafka's
form.

Owns whom a client is followed by, and only while `debug` names anything. What the lines say is in
`cluster_lines`, `group_lines`, `share_lines` and `producing_lines`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.compat.librdkafka.config.client_settings import NOWHERE
from barnabas.compat.librdkafka.log.client_log import ClientLog, DebugLine
from barnabas.compat.librdkafka.log.cluster_lines import ClusterLines
from barnabas.compat.librdkafka.log.group_lines import GroupLines
from barnabas.compat.librdkafka.log.producing_lines import ProducingLines
from barnabas.compat.librdkafka.log.share_lines import ShareLines
from barnabas.events import Event
from barnabas.settings.table import ShareConsumerConfig, parse_server
from barnabas.steps import ConnectionStep, Step
from barnabas.types import Node


class DebugLines:
    """Of one client, which it follows until `end`. It is kept by the connections beneath the client, and so
    keeps neither the client nor the program's callbacks."""

    def __init__(self, client: KafkaClient, log: ClientLog) -> None:
        self._client = client
        self._log = log
        config = client.config
        is_shared = isinstance(config, ShareConsumerConfig)
        self._cluster = ClusterLines(
            config.security_protocol.lower(), config.sasl_mechanism or "", has_local_topics=not is_shared
        )
        protocol: Any = "share" if is_shared else getattr(config, "group_protocol", "classic")
        self._group = GroupLines(self._cluster.broker, protocol)
        self._share = ShareLines(self._broker)
        compression = getattr(config, "compression", None) or "none"
        self._producing = ProducingLines(self._broker, self._cluster.broker, compression)
        for server in config.bootstrap_servers:
            if server != NOWHERE:
                self._tell(self._cluster.added(Node(-1, *parse_server(server))))
        client.steps.add(self._followed)
        client.events.add(self._heard)

    def end(self) -> None:
        """Nothing is told any more."""
        self._client.steps.remove(self._followed)
        self._client.events.remove(self._heard)

    def _broker(self, node_id: int) -> str:
        node = self._client.node(node_id)
        return str(node_id) if node is None else self._cluster.broker(node)

    # On the event loop's thread

    def _followed(self, step: Step) -> None:
        if isinstance(step, ConnectionStep) and f"{step.node.host}:{step.node.port}" == NOWHERE:
            # A client without brokers connects to none.
            return
        for lines in (self._cluster, self._group, self._producing, self._share):
            self._tell(lines.of(step))

    def _heard(self, event: Event) -> None:
        self._tell(self._group.of(event))

    def _tell(self, lines: Iterator[DebugLine]) -> None:
        for line in lines:
            self._log.debug(*line)

"""What a KafkaClient's arguments mean to the core: the settings of the clients that producers and consumers
stand on, and what only such a client can ask.

Must not know topics or consumers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.compat.pykafka._network.security import security_settings
from barnabas.compat.pykafka.exceptions import KafkaException
from barnabas.errors import BarnabasError

__all__ = ["ClusterCore"]

_CLIENT_ID = "pykafka"
_CREATES_TOPICS = "auto.create.topics.enable"


class ClusterCore:
    """Of one Cluster. `servers()`: host:port of brokers to begin with."""

    def __init__(
        self,
        servers: Callable[[], list[str]],
        socket_timeout_ms: int,
        source_address: str,
        ssl_config: Any,
        sasl_authenticator: Any,
    ) -> None:
        self._servers = servers
        self._socket_timeout_ms = socket_timeout_ms
        self._source_address = source_address
        self._ssl_config = ssl_config
        self._sasl_authenticator = sasl_authenticator
        self._creates_topics: bool | None = None

    def settings(self) -> dict[str, Any]:
        """For any of the core's clients; a dictionary of the caller's own.

        Raises: OSError and ssl.SSLError for files of certificates.
        """
        settings: dict[str, Any] = {
            "bootstrap_servers": self._servers(),
            "client_id": _CLIENT_ID,
            "request_timeout_ms": max(int(self._socket_timeout_ms), 1),
            "enable_metrics_push": False,
            **security_settings(self._ssl_config, self._sasl_authenticator),
        }
        if self._source_address:
            settings["source_address"] = self._source_address
        return settings

    def creates_topics(self) -> bool:
        """Whether brokers make a topic that somebody asks for. Asked once; False where they do not tell.

        Raises: KafkaException when no broker answers.
        """
        if self._creates_topics is None:
            self._creates_topics = self._ask_whether_topics_are_created()
        return self._creates_topics

    def _ask_whether_topics_are_created(self) -> bool:
        # Few programs need it, and it is large.
        from barnabas.client.admin.types.configs import ConfigResource, ResourceType
        from barnabas.sync.admin import Admin

        try:
            with Admin(**self.settings()) as admin:
                node = admin.describe_cluster().nodes[0]
                broker = ConfigResource(ResourceType.BROKER, str(node.node_id))
                entry = admin.describe_configs([broker])[broker].get(_CREATES_TOPICS)
        except BarnabasError as error:
            raise KafkaException(str(error)) from None
        return entry is not None and entry.value == "true"

"""KafkaAdminClient, in any generation."""

from __future__ import annotations

import logging
from typing import Any, Self

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.admin._acls import ACLAdminMixin
from barnabas.compat.kafka.admin._cluster import ClusterAdminMixin
from barnabas.compat.kafka.admin._configs import ConfigAdminMixin
from barnabas.compat.kafka.admin._groups import GroupAdminMixin
from barnabas.compat.kafka.admin._partitions import PartitionAdminMixin
from barnabas.compat.kafka.admin._structs import StructAnswers
from barnabas.compat.kafka.admin._topics import TopicAdminMixin
from barnabas.compat.kafka.admin._transactions import TransactionsAdminMixin
from barnabas.compat.kafka.admin._users import UserAdminMixin
from barnabas.compat.kafka.metrics._client_metrics import ClientMetrics
from barnabas.compat.kafka_engine.admin.session import BrokerSession
from barnabas.compat.kafka_engine.config.api_versions import version_spoken
from barnabas.compat.kafka_engine.config.client_settings import client_settings
from barnabas.compat.kafka_engine.config.merging import Settings, merged
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.generations.settings import default_config
from barnabas.compat.kafka_engine.log.client_log import tell_log
from barnabas.compat.kafka_engine.values.failures import failure_of
from barnabas.errors import BarnabasError

log = logging.getLogger("kafka.admin.client")


class DictAnswers(
    ACLAdminMixin,
    ClusterAdminMixin,
    ConfigAdminMixin,
    GroupAdminMixin,
    PartitionAdminMixin,
    TopicAdminMixin,
    TransactionsAdminMixin,
    UserAdminMixin,
):
    """The calls of kafka-python 3, most of whose answers are dictionaries."""


# The calls of the chosen generation come first; those that it does not have come from the others.
_Calls: Any = (
    type("Calls", (DictAnswers, StructAnswers), {})
    if generation().admin_answers_are_dicts
    else type("Calls", (StructAnswers, DictAnswers), {})
)


class KafkaAdminClient(_Calls):
    """Creates, describes, changes and deletes what is in a cluster. All threads may share one.

    Settings are keywords, by default as DEFAULT_CONFIG says: bootstrap_servers ("localhost"), client_id,
    request_timeout_ms (30000), and those for connections, TLS and SASL that all clients have. It has reached
    a broker when it is made.

    Raises: KafkaConfigurationError for a setting that it does not know; NoBrokersAvailable, in generation 3
    KafkaTimeoutError, where no broker answers within api_version_auto_timeout_ms, in generation 3
    bootstrap_timeout_ms.
    """

    DEFAULT_CONFIG = default_config("KafkaAdminClient", kafka_client=None)

    def __init__(self, **configs: Any) -> None:
        self._closed = True
        self.config: dict[str, Any] = merged(
            "KafkaAdminClient", self.DEFAULT_CONFIG, configs, Errors.KafkaConfigurationError
        )
        log.debug("Starting KafkaAdminClient with configuration: %s", Settings(configs))
        try:
            # Nothing of a call is tried again beyond what one request may take.
            settings = client_settings(self.config)
            settings["default_api_timeout_ms"] = settings["request_timeout_ms"]
            self._session = BrokerSession(settings)
        except BarnabasError as error:
            raise failure_of(error) from error
        tell_log(self._session.events)
        self._metrics = ClientMetrics("admin", self.config, self._session.brokers)
        timeout_ms = self.config[generation().admin_bootstrap_setting]
        try:
            self._session.reach_cluster(self.config["bootstrap_servers"], timeout_ms)
        except BaseException:
            self._metrics.close()
            raise
        if generation().admin_finds_api_version and self.config["api_version"] is None:
            self.config["api_version"] = version_spoken(self._session.spoken)
        self._closed = False
        log.debug("KafkaAdminClient started.")

    def close(self) -> None:
        """Closes the connections. May be called twice."""
        if self._closed:
            log.info("KafkaAdminClient already closed.")
            return
        self._closed = True
        self._session.close()
        self._metrics.close()
        log.debug("KafkaAdminClient is now closed.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

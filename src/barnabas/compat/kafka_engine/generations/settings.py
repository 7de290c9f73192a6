"""The settings of each client class and their defaults, by generation: what its DEFAULT_CONFIG has.

Owns the tables, and with which exception a class refuses a setting that it does not know. Knows nothing of
what a setting means.
"""

from __future__ import annotations

import copy
import selectors
import socket
import sys
from collections.abc import Mapping
from typing import Any

from barnabas.compat.kafka_engine.generations import GENERATIONS, generation

__all__ = ["SETTINGS", "UNKNOWN_SETTING_ERRORS", "default_config"]


def _always(*_: Any) -> bool:
    return True


class _Mark:
    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


ABSENT = _Mark("absent")
"""In the column of a generation that does not have the setting."""
PROVIDED = _Mark("a class of the facade")
"""What the class with the DEFAULT_CONFIG puts there itself."""

Defaults = tuple[Any, Any, Any]
"""Of kafka-python 1.2, 2 and 3, in this order, as `GENERATIONS` has them."""


def _all(**defaults: Any) -> dict[str, Defaults]:
    return {name: (value, value, value) for name, value in defaults.items()}


def _since_2(**defaults: Any) -> dict[str, Defaults]:
    return {name: (ABSENT, value, value) for name, value in defaults.items()}


def _only_2(**defaults: Any) -> dict[str, Defaults]:
    return {name: (ABSENT, value, ABSENT) for name, value in defaults.items()}


def _since_3(**defaults: Any) -> dict[str, Defaults]:
    return {name: (ABSENT, ABSENT, value) for name, value in defaults.items()}


def _without_3(table: Mapping[str, Defaults]) -> dict[str, Defaults]:
    return {name: (of_1, of_2, ABSENT) for name, (of_1, of_2, _) in table.items()}


def _no_delay() -> list[tuple[int, int, int]]:
    return [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]


_CLIENT_IDS = [f"kafka-python-{each.version}" for each in GENERATIONS.values()]
_CLIENT_ID: dict[str, Defaults] = {"client_id": (_CLIENT_IDS[0], _CLIENT_IDS[1], _CLIENT_IDS[2])}
_NINE_MINUTES_MS = 9 * 60 * 1000

_SASL = _since_2(
    sasl_mechanism=None,
    sasl_plain_username=None,
    sasl_plain_password=None,
    sasl_kerberos_name=None,
    sasl_kerberos_service_name="kafka",
    sasl_kerberos_domain_name=None,
    sasl_oauth_token_provider=None,
)
_SSL = {
    **_all(
        security_protocol="PLAINTEXT",
        ssl_context=None,
        ssl_check_hostname=True,
        ssl_cafile=None,
        ssl_certfile=None,
        ssl_keyfile=None,
        ssl_crlfile=None,
    ),
    **_since_2(ssl_password=None),
}
_CIPHERS = _since_2(ssl_ciphers=None)
_SOCKETS = {
    **_all(
        reconnect_backoff_ms=50,
        max_in_flight_requests_per_connection=5,
        receive_buffer_bytes=None,
        send_buffer_bytes=None,
    ),
    **_since_2(reconnect_backoff_max_ms=30000, socket_options=_no_delay()),
    **_only_2(sock_chunk_bytes=4096, sock_chunk_buffer_count=1000),
}
_VERSION = {
    **_since_2(api_version=None, selector=selectors.DefaultSelector),
    **_only_2(api_version_auto_timeout_ms=2000),
}
_METADATA = _all(retry_backoff_ms=100, metadata_max_age_ms=300000)
_METRICS = {
    **_since_2(metric_reporters=[]),
    **_since_2(metrics_num_samples=2, metrics_sample_window_ms=30000),
}
_CLIENT: dict[str, Defaults] = {
    **_all(bootstrap_servers="localhost"),
    **_CLIENT_ID,
    **_SOCKETS,
    **_METADATA,
    **_SSL,
    **_SASL,
    **_VERSION,
    **_since_2(socks5_proxy=None),
}
"""What every client has that a program makes itself."""
_OF_PROGRAMS: dict[str, Defaults] = {
    **_CLIENT,
    **_METRICS,
    **_since_2(kafka_client=PROVIDED),
    **_since_3(
        client_dns_lookup="use_all_dns_ips",
        receive_message_max_bytes=100_000_000,
        bootstrap_timeout_ms=30000,
        proxy_url=None,
    ),
}

_CONSUMER: dict[str, Defaults] = {
    **_OF_PROGRAMS,
    **_CIPHERS,
    **_all(
        key_deserializer=None,
        value_deserializer=None,
        fetch_max_wait_ms=500,
        fetch_min_bytes=1,
        max_partition_fetch_bytes=1024 * 1024,
        auto_offset_reset="latest",
        enable_auto_commit=True,
        auto_commit_interval_ms=5000,
        default_offset_commit_callback=_always,
        check_crcs=True,
        partition_assignment_strategy=PROVIDED,
        heartbeat_interval_ms=3000,
        connections_max_idle_ms=_NINE_MINUTES_MS,
        metric_reporters=[],
        metrics_num_samples=2,
        metrics_sample_window_ms=30000,
    ),
    **_since_2(
        group_instance_id=None,
        enable_incremental_fetch_sessions=True,
        fetch_max_bytes=52428800,
        isolation_level="read_uncommitted",
        allow_auto_create_topics=True,
        max_poll_records=500,
        max_poll_interval_ms=300000,
        metrics_enabled=True,
        metric_group_prefix="consumer",
        exclude_internal_topics=True,
    ),
    **_since_3(client_rack=""),
    "group_id": ("kafka-python-default-group", None, None),
    "request_timeout_ms": (40000, 305000, 30000),
    "session_timeout_ms": (30000, 10000, 45000),
    "consumer_timeout_ms": (-1, float("inf"), float("inf")),
    "api_version": ("auto", None, None),
}

_PRODUCER: dict[str, Defaults] = {
    **_OF_PROGRAMS,
    **_CIPHERS,
    **_all(
        client_id=None,
        key_serializer=None,
        value_serializer=None,
        compression_type=None,
        batch_size=16384,
        linger_ms=0,
        partitioner=PROVIDED,
        max_block_ms=60000,
        max_request_size=1048576,
        request_timeout_ms=30000,
    ),
    **_since_2(
        transactional_id=None,
        transaction_timeout_ms=60000,
        delivery_timeout_ms=120000,
        allow_auto_create_topics=True,
        metrics_enabled=True,
    ),
    **_only_2(bootstrap_topics_filter=set()),
    "enable_idempotence": (ABSENT, False, True),
    "acks": (1, 1, -1),
    "retries": (0, float("inf"), float("inf")),
    "buffer_memory": (33554432, ABSENT, ABSENT),
    "connections_max_idle_ms": (600000, _NINE_MINUTES_MS, _NINE_MINUTES_MS),
    "api_version": ("auto", None, None),
}

# kafka-python 1.2 has no KafkaAdminClient: with it, there is the one of 2.
_ADMIN: dict[str, Defaults] = {
    name: (of_2, of_2, of_3)
    for name, (_, of_2, of_3) in {
        **_OF_PROGRAMS,
        **_all(request_timeout_ms=30000, connections_max_idle_ms=_NINE_MINUTES_MS),
    }.items()
}

_KAFKA_CLIENT = _without_3(
    {
        **_CLIENT,
        **_CIPHERS,
        **_since_2(
            bootstrap_topics_filter=set(),
            wakeup_timeout_ms=3000,
            connections_max_idle_ms=_NINE_MINUTES_MS,
            allow_auto_create_topics=True,
            metrics=None,
            metric_group_prefix="",
        ),
        "request_timeout_ms": (40000, 30000, 30000),
    }
)

_BROKER_CONNECTION = _without_3(
    {
        **_CLIENT_ID,
        **_SOCKETS,
        **_SSL,
        **_CIPHERS,
        **_SASL,
        **_VERSION,
        **_since_2(
            client_software_name="kafka-python",
            node_id=0,
            metrics=None,
            metric_group_prefix="",
            socks5_proxy=None,
        ),
        **_only_2(client_software_version=GENERATIONS["2"].version),
        "api_version": ((0, 8, 2), None, ABSENT),
        "request_timeout_ms": (40000, 30000, ABSENT),
        "state_change_callback": (_always, _always, ABSENT),
    }
)

_CONNECTION_OF_3 = _since_3(
    client_id=f"kafka-python-{GENERATIONS['3'].version}",
    client_software_name="kafka-python",
    client_software_version=GENERATIONS["3"].version,
    max_in_flight_requests_per_connection=5,
    receive_message_max_bytes=1000000,
    request_timeout_ms=30000,
    security_protocol="PLAINTEXT",
    metrics=None,
    metric_group_prefix="",
    **{name: defaults[-1] for name, defaults in _SASL.items()},
)
_CONNECTION_MANAGER_OF_3 = {
    **_CONNECTION_OF_3,
    **_since_3(
        bootstrap_servers="localhost:9092",
        reconnect_backoff_ms=50,
        reconnect_backoff_max_ms=30000,
        socket_connection_setup_timeout_ms=10000,
        socket_connection_setup_timeout_max_ms=30000,
        socket_options=[*_no_delay(), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)],
        connections_max_idle_ms=_NINE_MINUTES_MS,
        proxy_url=None,
        api_version=None,
        metadata_max_age_ms=300000,
        client_dns_lookup="use_all_dns_ips",
        **{name: defaults[-1] for name, defaults in _SSL.items()},
    ),
}

_CLUSTER_METADATA: dict[str, Defaults] = {
    **_METADATA,
    **_since_2(bootstrap_servers=[]),
    **_since_3(allow_auto_create_topics=True, client_dns_lookup="use_all_dns_ips"),
}

_FETCHER: dict[str, Defaults] = {
    **_all(
        key_deserializer=None,
        value_deserializer=None,
        fetch_min_bytes=1,
        fetch_max_wait_ms=500,
        max_partition_fetch_bytes=1048576,
        check_crcs=True,
    ),
    **_since_2(
        fetch_max_bytes=52428800,
        max_poll_records=sys.maxsize,
        metrics=None,
        metric_group_prefix="consumer",
        request_timeout_ms=30000,
        retry_backoff_ms=100,
        enable_incremental_fetch_sessions=True,
        isolation_level="read_uncommitted",
    ),
    **_since_3(client_rack="", metadata_max_age_ms=300000),
    "iterator_refetch_records": (1, ABSENT, ABSENT),
    "api_version": ((0, 8, 0), ABSENT, ABSENT),
}

SETTINGS: Mapping[str, Mapping[str, Defaults]] = {
    "KafkaConsumer": _CONSUMER,
    "KafkaProducer": _PRODUCER,
    "KafkaAdminClient": _ADMIN,
    "KafkaClient": _KAFKA_CLIENT,
    "BrokerConnection": _BROKER_CONNECTION,
    "KafkaConnectionManager": _CONNECTION_MANAGER_OF_3,
    "KafkaConnection": _CONNECTION_OF_3,
    "ClusterMetadata": _CLUSTER_METADATA,
    "Fetcher": _FETCHER,
}
"""By the class, then by the setting: its default in each generation."""

UNKNOWN_SETTING_ERRORS: Mapping[str, tuple[str, str, str]] = {
    "KafkaConsumer": ("AssertionError", "KafkaConfigurationError", "KafkaConfigurationError"),
    "KafkaProducer": ("AssertionError", "AssertionError", "ValueError"),
    "KafkaAdminClient": ("KafkaConfigurationError", "KafkaConfigurationError", "KafkaConfigurationError"),
}
"""What these raise for a setting that they do not know; the others ignore it."""


_NEWEST_WITH_ALL = list(GENERATIONS).index("2")
"""The column of classes that this process's generation does not have itself."""


def column() -> int:
    """The place of this process's generation in the tables."""
    return list(GENERATIONS).index(generation().name)


def default_config(client: str, **provided: Any) -> dict[str, Any]:
    """The DEFAULT_CONFIG of a class in this generation. `provided`: what it has classes of the facade for."""
    at = column()
    if all(defaults[at] is ABSENT for defaults in SETTINGS[client].values()):
        at = _NEWEST_WITH_ALL
    config: dict[str, Any] = {}
    for name, defaults in SETTINGS[client].items():
        default = defaults[at]
        if default is ABSENT:
            continue
        if default is PROVIDED:
            default = provided[name]
        config[name] = copy.copy(default)
    return config

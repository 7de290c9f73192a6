"""Every setting of every client, in one table: the fields of these dataclasses.

Names are Kafka's own in snake_case; types, units and defaults are Apache Kafka's Java client's unless the
comment beside a field says otherwise. `load` turns keyword arguments, or the strings of a properties file,
into one of these, and refuses what it does not know. Knows nothing of how a setting is used.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from barnabas.errors import InvalidSettingError, UnknownSettingError

Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]
Partitioner = Literal["murmur2", "murmur2_random", "consistent", "consistent_random", "fnv1a", "fnv1a_random"]
Acks = Literal["all", "0", "1", "-1"]
OffsetReset = Literal["earliest", "latest", "none"]
IsolationLevel = Literal["read_uncommitted", "read_committed"]
Assignor = Literal["range", "roundrobin", "sticky", "cooperative-sticky"]
SecurityProtocol = Literal["PLAINTEXT"]


# The broker remembers this many batches of each producer to tell duplicates (KIP-98).
MAX_IN_FLIGHT_WITH_IDEMPOTENCE = 5


def setting(default: Any, doc: str, *, low: float | None = None, high: float | None = None) -> Any:
    """A field of the table, with the range of its value and one sentence for people."""
    return field(default=default, metadata={"doc": doc, "low": low, "high": high})


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonConfig:
    """Settings that every client has."""

    bootstrap_servers: tuple[str, ...] = setting((), "Brokers to find the cluster by, host:port.")
    client_id: str = setting("barnabas", "Name of this client in the broker's logs, metrics and quotas.")
    request_timeout_ms: int = setting(30_000, "Longest wait for the answer to one request.", low=1)
    default_api_timeout_ms: int = setting(60_000, "Deadline of a call that is given none.", low=1)
    retry_backoff_ms: int = setting(100, "First pause before a retry (KIP-580).", low=0)
    retry_backoff_max_ms: int = setting(1_000, "Longest pause before a retry (KIP-580).", low=0)
    reconnect_backoff_ms: int = setting(50, "First pause before connecting again.", low=0)
    reconnect_backoff_max_ms: int = setting(1_000, "Longest pause before connecting again.", low=0)
    socket_connection_setup_timeout_ms: int = setting(10_000, "Longest wait for a connection.", low=1)
    connections_max_idle_ms: int = setting(540_000, "Idle connections are closed after this.", low=-1)
    metadata_max_age_ms: int = setting(300_000, "Metadata is refreshed at least this often.", low=1)
    security_protocol: SecurityProtocol = setting("PLAINTEXT", "How brokers are spoken to.")
    # Java's defaults, 131072 and 65536, switch off the system's own tuning, which does better.
    send_buffer_bytes: int = setting(-1, "SO_SNDBUF; -1 leaves it to the system.", low=-1)
    receive_buffer_bytes: int = setting(-1, "SO_RCVBUF; -1 leaves it to the system.", low=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig(CommonConfig):
    """Settings of a Producer."""

    acks: Acks = setting("all", "Replicas that must have a record before it counts as delivered.")
    enable_idempotence: bool = setting(True, "No duplicates and no reordering by retries (KIP-98).")
    compression: Codec = setting("none", "Codec of record batches; also called compression_type.")
    compression_level: int | None = setting(None, "Level of the codec; None is its default.")
    batch_size: int = setting(
        1_048_576, "Bytes of a batch, before compression. Java's default is 16384.", low=0
    )
    linger_ms: float = setting(5, "How long a record waits for others to join its batch.", low=0)
    buffer_memory: int = setting(33_554_432 * 2, "Bytes of records that may wait to be sent.", low=1)
    max_block_ms: int = setting(60_000, "How long send may wait for buffer space or metadata.", low=0)
    max_request_size: int = setting(1_048_576, "Bytes of the largest record and request.", low=1)
    max_in_flight_requests_per_connection: int = setting(5, "Requests under way to a broker.", low=1)
    delivery_timeout_ms: int = setting(120_000, "From send to success or failure, retries included.", low=1)
    retries: int = setting(2_147_483_647, "Tries after the first, within delivery_timeout_ms.", low=0)
    partitioner: Partitioner = setting("murmur2", "How keys choose partitions; murmur2 is Java's.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig(CommonConfig):
    """Settings of a Consumer."""

    group_id: str | None = setting(None, "The consumer group; None for a consumer without one.")
    group_instance_id: str | None = setting(None, "Name of a static member (KIP-345).")
    auto_offset_reset: OffsetReset = setting("latest", "Where to begin without a committed offset.")
    enable_auto_commit: bool = setting(True, "Commit what earlier polls returned every now and then.")
    auto_commit_interval_ms: int = setting(5_000, "How often to commit.", low=0)
    partition_assignment_strategy: tuple[Assignor, ...] = setting(
        ("range", "cooperative-sticky"), "Assignors this member offers its group, best first."
    )
    session_timeout_ms: int = setting(45_000, "A member silent for this long is out of the group.", low=1)
    heartbeat_interval_ms: int = setting(3_000, "How often a member says that it is alive.", low=1)
    max_poll_interval_ms: int = setting(
        300_000, "Longest time between polls before the member leaves.", low=1
    )
    max_poll_records: int = setting(500, "Records of one poll that names no limit.", low=1)
    fetch_min_bytes: int = setting(1, "Bytes a broker waits for before it answers a fetch.", low=0)
    fetch_max_bytes: int = setting(52_428_800, "Bytes of one fetch response.", low=1)
    fetch_max_wait_ms: int = setting(500, "How long a broker waits for fetch_min_bytes.", low=0)
    max_partition_fetch_bytes: int = setting(1_048_576, "Bytes of one partition in a fetch response.", low=1)
    queued_max_bytes: int = setting(67_108_864, "Bytes fetched ahead of the caller (not in Java).", low=1)
    isolation_level: IsolationLevel = setting(
        "read_uncommitted", "Whether open and aborted transactions show."
    )
    check_crcs: bool = setting(True, "Verify the checksum of every batch.")
    allow_auto_create_topics: bool = setting(True, "Let the broker create a topic that is subscribed to.")
    client_rack: str | None = setting(None, "Rack of this client, for the closest replica (KIP-392).")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminConfig(CommonConfig):
    """Settings of an Admin."""


ConfigT = TypeVar("ConfigT", bound=CommonConfig)

ALIASES = {"compression_type": "compression", "bootstrap_server": "bootstrap_servers"}


def names(config_type: type[CommonConfig]) -> list[str]:
    """All settings of a client, in the table's order."""
    return [f.name for f in fields(config_type)]


def from_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """`fetch.max.wait.ms` -> `fetch_max_wait_ms`: a properties file's keys as keyword arguments."""
    return {key.replace(".", "_").replace("-", "_"): value for key, value in properties.items()}


def load(config_type: type[ConfigT], settings: Mapping[str, Any]) -> ConfigT:
    """Checks settings against the table. Values may be strings; lists may be comma-separated.

    Raises: UnknownSettingError (names the nearest setting that exists), InvalidSettingError.
    """
    hints = _hints(config_type)
    table = {f.name: f for f in fields(config_type)}
    values: dict[str, Any] = {}
    for given, value in settings.items():
        name = ALIASES.get(given, given)
        if name not in table:
            nearest = difflib.get_close_matches(given, [*table, *ALIASES], n=1, cutoff=0.5)
            hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
            raise UnknownSettingError(f"unknown setting {given!r}{hint}")
        if name in values:
            raise InvalidSettingError(f"setting {name!r} is given twice, once as {given!r}")
        metadata = table[name].metadata
        values[name] = _converted(name, value, hints[name], metadata["low"], metadata["high"])
    config = config_type(**values)
    if isinstance(config, ProducerConfig):
        config = _follow_what_is_given(config, values)
    _check_servers(config)
    _check_together(config)
    return config


@cache
def _hints(config_type: type[CommonConfig]) -> dict[str, Any]:
    return get_type_hints(config_type)


def _converted(name: str, value: Any, hint: Any, low: float | None, high: float | None) -> Any:
    options = get_args(hint)
    if get_origin(hint) is tuple:
        parts: Sequence[Any] = _split(value) if isinstance(value, str) else list(value)
        return tuple(_converted(name, part, options[0], low, high) for part in parts)
    if type(None) in options:
        if value is None:
            return None
        return _converted(name, value, options[0], low, high)
    if get_origin(hint) is Literal:
        text = str(value).lower() if hint is not SecurityProtocol else str(value).upper()
        if text not in options:
            raise InvalidSettingError(f"{name} must be one of {', '.join(options)}, not {value!r}")
        return text
    if hint is bool:
        return _boolean(name, value)
    if hint in (int, float):
        return _number(name, value, hint, low, high)
    if not isinstance(value, str):
        raise InvalidSettingError(f"{name} must be a string, not {value!r}")
    return value


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _boolean(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    raise InvalidSettingError(f"{name} must be true or false, not {value!r}")


def _number(name: str, value: Any, hint: Any, low: float | None, high: float | None) -> Any:
    try:
        if isinstance(value, bool) or (hint is int and int(value) != float(value)):
            raise ValueError
        number = hint(value)
    except (TypeError, ValueError, OverflowError):
        kind = "a whole number" if hint is int else "a number"
        raise InvalidSettingError(f"{name} must be {kind}, not {value!r}") from None
    if number != number or (low is not None and number < low) or (high is not None and number > high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        raise InvalidSettingError(f"{name} must be {bounds}, not {value!r}")
    return number


_SERVER = re.compile(r"(?P<host>\[[^\]]+\]|[^:\s]+):(?P<port>\d{1,5})")


def parse_server(server: str) -> tuple[str, int]:
    """`host:port` or `[ipv6]:port` in its parts; a scheme before it (`PLAINTEXT://`) is left out.

    Raises: InvalidSettingError.
    """
    match = _SERVER.fullmatch(server.rpartition("://")[2])
    if match is None or not 0 < int(match["port"]) < 65_536:
        raise InvalidSettingError(f"bootstrap_servers: {server!r} is not host:port")
    return match["host"].strip("[]"), int(match["port"])


def _check_servers(config: CommonConfig) -> None:
    if not config.bootstrap_servers:
        raise InvalidSettingError("bootstrap_servers is missing: give at least one host:port")
    for server in config.bootstrap_servers:
        parse_server(server)


def _follow_what_is_given(config: ProducerConfig, given: Mapping[str, Any]) -> ProducerConfig:
    """As in Java, a default gives way where a setting that was given contradicts it."""
    contradicts_idempotence = (
        config.acks not in ("all", "-1")
        or config.retries == 0
        or config.max_in_flight_requests_per_connection > MAX_IN_FLIGHT_WITH_IDEMPOTENCE
    )
    if contradicts_idempotence and "enable_idempotence" not in given:
        config = replace(config, enable_idempotence=False)
    if "delivery_timeout_ms" not in given:
        shortest = math.ceil(config.linger_ms + config.request_timeout_ms)
        config = replace(config, delivery_timeout_ms=max(config.delivery_timeout_ms, shortest))
    return config


def _check_together(config: CommonConfig) -> None:
    if isinstance(config, ProducerConfig):
        if config.enable_idempotence and config.acks not in ("all", "-1"):
            raise InvalidSettingError(f"enable_idempotence needs acks='all', not {config.acks!r}")
        if config.enable_idempotence and config.retries == 0:
            raise InvalidSettingError("enable_idempotence needs retries of at least 1")
        if (
            config.enable_idempotence
            and config.max_in_flight_requests_per_connection > MAX_IN_FLIGHT_WITH_IDEMPOTENCE
        ):
            raise InvalidSettingError("enable_idempotence allows max_in_flight_requests_per_connection <= 5")
        if config.delivery_timeout_ms < config.linger_ms + config.request_timeout_ms:
            raise InvalidSettingError("delivery_timeout_ms must be at least linger_ms + request_timeout_ms")
    if isinstance(config, ConsumerConfig) and config.heartbeat_interval_ms >= config.session_timeout_ms:
        raise InvalidSettingError("heartbeat_interval_ms must be below session_timeout_ms")

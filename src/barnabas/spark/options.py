"""The options of the Spark source and sink: names, meanings and defaults of Spark's own Kafka connector.

Spark hands option names over in lower case, whatever the user wrote. Everything here is checked without a
broker; what depends on the partitions that exist is checked in `ranges`. This module must not know Spark.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from barnabas.config import (
    ALIASES,
    CommonConfig,
    ConsumerConfig,
    ProducerConfig,
    from_properties,
    load,
    names,
)
from barnabas.errors import ConfigError
from barnabas.spark.errors import InvalidOptionError, UnsupportedOptionError
from barnabas.spark.java_pattern import compile_java_pattern
from barnabas.spark.offsets import parse_offsets, parse_partitions
from barnabas.spark.ranges import OffsetSpec
from barnabas.types import EARLIEST_OFFSET, LATEST_OFFSET, TopicPartition

logger = logging.getLogger(__name__)

SOURCE_OPTIONS = (
    "subscribe",
    "assign",
    "subscribePattern",
    "startingOffsets",
    "endingOffsets",
    "includeHeaders",
    "failOnDataLoss",
    "maxOffsetsPerTrigger",
    "kafkaConsumer.pollTimeoutMs",
)
SINK_OPTIONS = ("topic", "includeHeaders")
NOT_YET = (
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    "groupIdPrefix",
)
"""Options of Spark's own connector that are not built yet."""

SPARKS_OWN = frozenset({"checkpointlocation", "queryname"})
"""What Spark's DataStreamWriter adds to a sink's options for itself."""

REFUSED_BY_SOURCE = {
    "group.id": "the source keeps its offsets in Spark's checkpoint and joins no consumer group",
    "auto.offset.reset": "say where to begin with startingOffsets",
    "key.deserializer": "keys are read as binary; convert them with DataFrame operations",
    "value.deserializer": "values are read as binary; convert them with DataFrame operations",
    "enable.auto.commit": "the source commits no offsets to Kafka",
    "interceptor.classes": "interceptors are Java classes, and would break the source's guarantees",
}
REFUSED_BY_SINK = {
    "key.serializer": "keys are written as they are; convert them with DataFrame operations",
    "value.serializer": "values are written as they are; convert them with DataFrame operations",
    "interceptor.classes": "interceptors are Java classes",
    "partitioner.class": "it names a Java class; kafka.partitioner takes murmur2, consistent or fnv1a",
}

SOURCE_SETTINGS = {
    "auto_offset_reset": "none",
    "enable_auto_commit": "false",
    "allow_auto_create_topics": "false",
    # Only offsets that exist are read, so a fetch finds its data at once. The one request that may wait is
    # that for what follows the end of a range, and the next task on the connection must not queue behind it.
    "fetch_max_wait_ms": "10",
}


@dataclass(frozen=True, slots=True)
class Assign:
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Subscribe:
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubscribePattern:
    pattern: re.Pattern[str]


Subscription = Assign | Subscribe | SubscribePattern


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What a reader needs to know. `starting_offsets` and `ending_offsets` are None where not given."""

    subscription: Subscription
    consumer_settings: dict[str, str]
    starting_offsets: OffsetSpec | None
    ending_offsets: OffsetSpec | None
    include_headers: bool
    fail_on_data_loss: bool
    max_offsets_per_trigger: int | None
    poll_timeout_ms: int

    def for_batch(self) -> tuple[OffsetSpec, OffsetSpec]:
        """Where a batch query starts and ends. Raises: InvalidOptionError."""
        starting: OffsetSpec = self.starting_offsets or "earliest"
        ending: OffsetSpec = self.ending_offsets or "latest"
        if starting == "latest" or (isinstance(starting, dict) and LATEST_OFFSET in starting.values()):
            raise InvalidOptionError("startingOffsets cannot be latest (-1 in JSON) in a batch query")
        if ending == "earliest" or (isinstance(ending, dict) and EARLIEST_OFFSET in ending.values()):
            raise InvalidOptionError("endingOffsets cannot be earliest (-2 in JSON)")
        if self.max_offsets_per_trigger is not None:
            logger.warning("maxOffsetsPerTrigger means nothing in a batch query and is left out")
        return starting, ending

    def for_streaming(self) -> OffsetSpec:
        """Where a new streaming query starts. Raises: InvalidOptionError."""
        if self.ending_offsets is not None:
            raise InvalidOptionError("endingOffsets is not for streaming queries, which have no end")
        return self.starting_offsets or "latest"


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """What a writer needs to know. With `topic` the column of that name is not looked at."""

    topic: str | None
    producer_settings: dict[str, str]


def include_headers(options: Mapping[str, str]) -> bool:
    """Whether the source's rows have the column `headers`."""
    return _boolean(_by_lower_name(options), "includeHeaders", default=False)


def source_options(options: Mapping[str, str]) -> SourceOptions:
    """Checks the options of a read.

    Raises: InvalidOptionError, UnsupportedOptionError, ConfigError (a `kafka.` setting).
    """
    given = _by_lower_name(options)
    _check_names(given, SOURCE_OPTIONS, NOT_YET, "read")
    if "topic" in given:
        raise InvalidOptionError("topic is an option of the sink; to read a topic use subscribe")
    settings = _kafka_settings(given, ConsumerConfig, REFUSED_BY_SOURCE, "read")
    return SourceOptions(
        subscription=_subscription(given),
        consumer_settings=SOURCE_SETTINGS | settings,
        starting_offsets=_offset_spec(given, "startingOffsets"),
        ending_offsets=_offset_spec(given, "endingOffsets"),
        include_headers=_boolean(given, "includeHeaders", default=False),
        fail_on_data_loss=_boolean(given, "failOnDataLoss", default=True),
        max_offsets_per_trigger=_positive(given, "maxOffsetsPerTrigger", default=None),
        poll_timeout_ms=_positive(given, "kafkaConsumer.pollTimeoutMs", default=None) or 120_000,
    )


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    """Checks the options of a write.

    Raises: InvalidOptionError, UnsupportedOptionError, ConfigError (a `kafka.` setting).
    """
    given = _by_lower_name(options)
    _check_names(given, SINK_OPTIONS, (), "write")
    settings = _kafka_settings(given, ProducerConfig, REFUSED_BY_SINK, "write")
    # A column named headers is always written; the option is taken since the source has it too.
    _boolean(given, "includeHeaders", default=False)
    topic = given.get("topic")
    if topic is not None and not topic.strip():
        raise InvalidOptionError("topic is empty")
    return SinkOptions(topic=None if topic is None else topic.strip(), producer_settings=settings)


def _by_lower_name(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in options.items()}


def _check_names(
    given: Mapping[str, str],
    supported: tuple[str, ...],
    not_yet: tuple[str, ...],
    action: Literal["read", "write"],
) -> None:
    everywhere = {name.lower() for name in (*SOURCE_OPTIONS, *SINK_OPTIONS)}
    own = {name.lower() for name in supported}
    listing = f"supported here: kafka.*, {', '.join(supported)}"
    for name in given:
        if name.startswith("kafka.") or name in own or (action == "write" and name in SPARKS_OWN):
            continue
        if name == "topic":
            continue
        waiting = next((full for full in not_yet if full.lower() == name), None)
        if waiting is not None:
            raise UnsupportedOptionError(f"option {waiting!r} is not supported yet by barnabas; {listing}")
        if name in everywhere:
            raise UnsupportedOptionError(f"option {name!r} means nothing to a {action}; {listing}")
        nearest = difflib.get_close_matches(name, [*own, "kafka.bootstrap.servers"], n=1, cutoff=0.6)
        by_lower = {full.lower(): full for full in (*supported, "kafka.bootstrap.servers")}
        hint = f"; did you mean {by_lower[nearest[0]]!r}?" if nearest else ""
        raise UnsupportedOptionError(f"option {name!r} is not supported by barnabas{hint} ({listing})")


def _kafka_settings(
    given: Mapping[str, str], config_type: type[CommonConfig], refused: Mapping[str, str], action: str
) -> dict[str, str]:
    """The `kafka.` options as keyword arguments of a client, checked by the client's own table."""
    properties = {
        name.removeprefix("kafka.").replace("_", "."): value
        for name, value in given.items()
        if name.startswith("kafka.")
    }
    if not properties.get("bootstrap.servers", "").strip():
        raise InvalidOptionError("kafka.bootstrap.servers is missing: give at least one host:port")
    known = [name.replace("_", ".") for name in (*names(config_type), *ALIASES)]
    for name in properties:
        if name in refused:
            raise InvalidOptionError(f"kafka.{name} cannot be set: {refused[name]}")
        if name not in known:
            nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"; did you mean 'kafka.{nearest[0]}'?" if nearest else ""
            raise UnsupportedOptionError(f"kafka.{name} is not a setting of a {action}{hint}")
    settings = from_properties(properties)
    try:
        load(config_type, settings)
    except ConfigError as error:
        raise InvalidOptionError(f"in the options kafka.*: {error}") from None
    return settings


def _subscription(given: Mapping[str, str]) -> Subscription:
    ways = ("assign", "subscribe", "subscribePattern")
    chosen = [way for way in ways if way.lower() in given]
    if len(chosen) != 1:
        found = " and ".join(chosen) if chosen else "none"
        raise InvalidOptionError(f"exactly one of {', '.join(ways)} must be given; found {found}")
    text = given[chosen[0].lower()]
    if chosen[0] == "assign":
        return Assign(tuple(parse_partitions(text, "assign")))
    if chosen[0] == "subscribe":
        topics = sorted({topic.strip() for topic in text.split(",") if topic.strip()})
        if not topics:
            raise InvalidOptionError("subscribe names no topic; it takes a list such as flights,weather")
        return Subscribe(tuple(topics))
    if not text.strip():
        raise InvalidOptionError("subscribePattern is empty")
    return SubscribePattern(compile_java_pattern(text, "subscribePattern"))


def _offset_spec(given: Mapping[str, str], option: str) -> OffsetSpec | None:
    text = given.get(option.lower())
    if text is None:
        return None
    if text.strip().lower() == "earliest":
        return "earliest"
    if text.strip().lower() == "latest":
        return "latest"
    if not text.strip().startswith("{"):
        raise InvalidOptionError(f"{option} must be earliest, latest or JSON by partition, not {text!r}")
    return parse_offsets(text, option)


def _boolean(given: Mapping[str, str], option: str, *, default: bool) -> bool:
    text = given.get(option.lower())
    if text is None:
        return default
    if text.strip().lower() not in ("true", "false"):
        raise InvalidOptionError(f"{option} must be true or false, not {text!r}")
    return text.strip().lower() == "true"


def _positive(given: Mapping[str, str], option: str, *, default: int | None) -> int | None:
    text = given.get(option.lower())
    if text is None:
        return default
    if not text.strip().isdecimal() or int(text) < 1:
        raise InvalidOptionError(f"{option} must be a whole number above 0, not {text!r}")
    return int(text)

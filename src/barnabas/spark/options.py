"""The options of the Spark source and sink: names, meanings and defaults of Spark's own Kafka connector.

Spark hands option names over in lower case, whatever the user wrote. Everything here is checked without a
broker; what depends on the partitions that exist is checked in `ranges`. This module must not know Spark.
"""

from __future__ import annotations

import difflib
import logging
import re
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeVar

from barnabas.errors import ConfigError
from barnabas.settings.table import (
    ALIASES,
    CommonConfig,
    ConsumerConfig,
    ProducerConfig,
    from_properties,
    load,
)
from barnabas.settings.table import names as setting_names
from barnabas.spark.columns.format_options import (
    DECODING_OPTIONS,
    ENCODING_OPTIONS,
    FORMAT_OPTIONS,
    REGISTRY_PREFIX,
    DecodingOptions,
    FormatOptions,
    decoding_options,
    encoding_options,
)
from barnabas.spark.errors import InvalidOptionError, UnsupportedOptionError
from barnabas.spark.java_pattern import compile_java_pattern
from barnabas.spark.option_table import READING, WRITING, names
from barnabas.spark.option_values import (
    boolean,
    byte_count,
    duration_ms,
    positive,
    timestamp_ms,
    whole_number,
)
from barnabas.spark.planning.offsets import parse_offsets, parse_partitions, parse_timestamps
from barnabas.spark.planning.ranges import AtTime, OffsetSpec
from barnabas.spark.tables import options_for_read, options_for_write
from barnabas.types import EARLIEST_OFFSET, LATEST_OFFSET, TopicPartition
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas.spark.columns.decoding import Decoder
    from barnabas.spark.columns.encoding import Encoder

logger = logging.getLogger(__name__)

SOURCE_OPTIONS = (*names(READING), *FORMAT_OPTIONS, *DECODING_OPTIONS)
SINK_OPTIONS = (*names(WRITING), *FORMAT_OPTIONS, *ENCODING_OPTIONS)
FOR_LIMITED_BATCHES = (
    "minOffsetsPerTrigger",
    "maxOffsetsPerTrigger",
    "maxBytesPerTrigger",
    "maxTriggerDelay",
)
FOR_STREAMING_ONLY = (*FOR_LIMITED_BATCHES, "commitOffsetsToGroup", "boundedStream")

SPARKS_OWN = frozenset({"checkpointlocation", "queryname"})
"""What Spark's DataStreamWriter adds to a sink's options for itself."""

REFUSED_BY_SOURCE = {
    "auto.offset.reset": "say where to begin with startingOffsets",
    "key.deserializer": "say what keys are with key.format",
    "value.deserializer": "say what values are with value.format",
    "enable.auto.commit": "the source commits no offsets to Kafka",
    "interceptor.classes": "interceptors are Java classes, and would break the source's guarantees",
}
REFUSED_BY_SINK = {
    "key.serializer": "say what keys become with key.format",
    "value.serializer": "say what values become with value.format",
    "interceptor.classes": "interceptors are Java classes",
    "transactional.id": "with delivery=exactly-once each task has one of its own; see transactionalIdPrefix",
    "partitioner.class": "it names a Java class; kafka.partitioner takes murmur2, consistent or fnv1a",
}

WITHOUT_MEANING = frozenset(
    {
        "auto.include.jmx.reporter",
        "check.crcs",
        "exclude.internal.topics",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partition.assignment.strategy",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "security.providers",
        "ssl.keymanager.algorithm",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    }
)
"""Settings of Java's clients that tune what only these have, or members of a group, which the source is not.
They change no row."""

SOURCE_SETTINGS = {
    "auto_offset_reset": "none",
    "enable_auto_commit": "false",
    "allow_auto_create_topics": "false",
    # Only offsets that exist are read, so a fetch finds its data at once. The one request that may wait is
    # that for what follows the end of a range, and the next task on the connection must not queue behind it.
    "fetch_max_wait_ms": "10",
    # An executor has a worker for each of its cores, and what they hold counts against its overhead memory.
    "queued_max_bytes": "16777216",
}


Delivery = Literal["at-least-once", "exactly-once"]
OnPartialCommit = Literal["fail", "rewrite", "skip"]
# The first of each is the default.
DELIVERIES: tuple[Delivery, ...] = ("at-least-once", "exactly-once")
ON_PARTIAL_COMMIT: tuple[OnPartialCommit, ...] = ("fail", "rewrite", "skip")
DEFAULT_DECISION_TOPIC = "barnabas-sink-decisions"
# As much as brokers allow by default: a transaction is open until its batch ends.
EXACTLY_ONCE_SETTINGS = {"transaction_timeout_ms": "900000"}

DEFAULT_TRIGGER_DELAY_MS = 15 * 60_000
DEFAULT_POLL_TIMEOUT_MS = 120_000
DEFAULT_OFFSET_RETRIES = 3
DEFAULT_OFFSET_RETRY_INTERVAL_MS = 1000


@frozen
class Assign:
    partitions: tuple[TopicPartition, ...]

    def holds(self, topic: str) -> bool:
        return any(partition.topic == topic for partition in self.partitions)


@frozen
class Subscribe:
    topics: tuple[str, ...]

    def holds(self, topic: str) -> bool:
        return topic in self.topics


@frozen
class SubscribePattern:
    pattern: re.Pattern[str]

    def holds(self, topic: str) -> bool:
        return self.pattern.search(topic) is not None


TopicChoice = Assign | Subscribe | SubscribePattern


@frozen
class SourceOptions:
    """What a reader needs to know. `starting` and `ending` are None where not given, and otherwise what of
    the options for it comes first: one time, times by partition, offsets."""

    subscription: TopicChoice
    consumer_settings: dict[str, str]
    starting: OffsetSpec | None
    ending: OffsetSpec | None
    is_bounded_stream: bool
    include_headers: bool
    fail_on_data_loss: bool
    min_offsets_per_trigger: int | None
    max_offsets_per_trigger: int | None
    max_bytes_per_trigger: int | None
    max_trigger_delay_ms: int
    min_partitions: int | None
    max_partitions: int | None
    max_records_per_partition: int | None
    max_bytes_per_partition: int | None
    committed_group: str | None
    poll_timeout_ms: int
    offset_retries: int
    offset_retry_interval_ms: int
    for_streaming_only: tuple[str, ...]
    """The options given that mean nothing to a batch query."""
    formats: DecodingOptions | None
    decoder: Decoder | None = None
    """Made of `formats` once the types of columns are known."""

    def for_batch(self) -> tuple[OffsetSpec, OffsetSpec]:
        """Where a batch query starts and ends. Raises: InvalidOptionError."""
        starting: OffsetSpec = "earliest" if self.starting is None else self.starting
        ending: OffsetSpec = "latest" if self.ending is None else self.ending
        if starting == "latest" or (isinstance(starting, dict) and LATEST_OFFSET in starting.values()):
            raise InvalidOptionError("startingOffsets cannot be latest (-1 in JSON) in a batch query")
        if ending == "earliest" or (isinstance(ending, dict) and EARLIEST_OFFSET in ending.values()):
            raise InvalidOptionError("endingOffsets cannot be earliest (-2 in JSON)")
        for option in self.for_streaming_only:
            logger.warning("%s means nothing in a batch query and is left out", option)
        return starting, ending

    def for_streaming(self) -> OffsetSpec:
        """Where a new streaming query starts. Raises: InvalidOptionError."""
        if self.is_bounded_stream and self.ending is None:
            raise InvalidOptionError("boundedStream needs an end: give endingTimestamp or endingOffsets")
        if self.ending is not None and not self.is_bounded_stream:
            option = self.ending.option if isinstance(self.ending, AtTime) else "endingOffsets"
            raise InvalidOptionError(
                f"{option} is not for streaming queries, which have no end but with boundedStream"
            )
        return "latest" if self.starting is None else self.starting


@frozen
class SinkOptions:
    """What a writer needs to know. With `topic` the column of that name is not looked at."""

    topic: str | None
    producer_settings: dict[str, str]
    delivery: Delivery
    transactional_id_prefix: str | None
    decision_topic: str
    on_partial_commit: OnPartialCommit
    checkpoint_location: str | None
    formats: tuple[FormatOptions, ...] = ()
    encoder: Encoder | None = None
    """Made of `formats` once the types of columns are known."""


def include_headers(options: Mapping[str, str]) -> bool:
    """Whether the source's rows have the column `headers`."""
    return boolean(_by_lower_name(options), "includeHeaders", default=False)


def source_options(options: Mapping[str, str]) -> SourceOptions:
    """Checks the options of a read.

    Raises: InvalidOptionError, UnsupportedOptionError, ConfigError (a `kafka.` setting).
    """
    given = options_for_read(_by_lower_name(options), SOURCE_OPTIONS, SINK_OPTIONS)
    _check_names(given, SOURCE_OPTIONS, "read")
    if "topic" in given:
        raise InvalidOptionError("topic is an option of the sink; to read a topic use subscribe")
    settings = _kafka_settings(given, ConsumerConfig, REFUSED_BY_SOURCE, "read")
    least, most = positive(given, "minOffsetsPerTrigger"), positive(given, "maxOffsetsPerTrigger")
    if least is not None and most is not None and least > most:
        raise InvalidOptionError(
            f"minOffsetsPerTrigger ({least}) must not be above maxOffsetsPerTrigger ({most})"
        )
    fewest, highest = positive(given, "minPartitions"), positive(given, "maxPartitions")
    if fewest is not None and highest is not None and fewest > highest:
        raise InvalidOptionError(f"minPartitions ({fewest}) must not be above maxPartitions ({highest})")
    subscription = _subscription(given)
    starting, ending = _starting(given), _ending(given)
    _check_order(starting, ending)
    retries = whole_number(given, "fetchOffset.numRetries")
    interval_ms = whole_number(given, "fetchOffset.retryIntervalMs")
    return SourceOptions(
        subscription=subscription,
        consumer_settings=SOURCE_SETTINGS | _group(given) | settings,
        starting=starting,
        ending=ending,
        is_bounded_stream=boolean(given, "boundedStream", default=False),
        include_headers=boolean(given, "includeHeaders", default=False),
        fail_on_data_loss=boolean(given, "failOnDataLoss", default=True),
        min_offsets_per_trigger=least,
        max_offsets_per_trigger=most,
        max_bytes_per_trigger=byte_count(given, "maxBytesPerTrigger"),
        max_trigger_delay_ms=duration_ms(given, "maxTriggerDelay", default=DEFAULT_TRIGGER_DELAY_MS),
        min_partitions=fewest,
        max_partitions=highest,
        max_records_per_partition=positive(given, "maxRecordsPerPartition"),
        max_bytes_per_partition=byte_count(given, "maxBytesPerPartition"),
        committed_group=_text(given, "commitOffsetsToGroup"),
        poll_timeout_ms=positive(given, "kafkaConsumer.pollTimeoutMs") or DEFAULT_POLL_TIMEOUT_MS,
        offset_retries=DEFAULT_OFFSET_RETRIES if retries is None else retries,
        offset_retry_interval_ms=DEFAULT_OFFSET_RETRY_INTERVAL_MS if interval_ms is None else interval_ms,
        for_streaming_only=tuple(name for name in FOR_STREAMING_ONLY if name.lower() in given),
        formats=_formats(given, subscription),
    )


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    """Checks the options of a write.

    Raises: InvalidOptionError, UnsupportedOptionError, ConfigError (a `kafka.` setting).
    """
    given = options_for_write(_by_lower_name(options), SOURCE_OPTIONS, SINK_OPTIONS)
    _check_names(given, SINK_OPTIONS, "write")
    settings = _kafka_settings(given, ProducerConfig, REFUSED_BY_SINK, "write")
    # A column named headers is always written; the option is taken since the source has it too.
    boolean(given, "includeHeaders", default=False)
    topic = given.get("topic")
    if topic is not None and not topic.strip():
        raise InvalidOptionError("topic is empty")
    delivery: Delivery = _choice(given, "delivery", DELIVERIES)
    if delivery == "exactly-once":
        settings = EXACTLY_ONCE_SETTINGS | settings
    return SinkOptions(
        topic=None if topic is None else topic.strip(),
        producer_settings=settings,
        delivery=delivery,
        transactional_id_prefix=_text(given, "transactionalIdPrefix"),
        decision_topic=_text(given, "decisionTopic") or DEFAULT_DECISION_TOPIC,
        on_partial_commit=_choice(given, "onPartialCommit", ON_PARTIAL_COMMIT),
        checkpoint_location=given.get("checkpointlocation"),
        formats=encoding_options(given, None if topic is None else topic.strip()),
    )


def _by_lower_name(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in options.items()}


def _check_names(
    given: Mapping[str, str], supported: tuple[str, ...], action: Literal["read", "write"]
) -> None:
    everywhere = {name.lower() for name in (*SOURCE_OPTIONS, *SINK_OPTIONS)}
    own = {name.lower() for name in supported}
    listing = f"supported here: kafka.*, schema.registry.*, {', '.join(supported)}"
    for name in given:
        if name.startswith("kafka.") or name in own or (action == "write" and name in SPARKS_OWN):
            continue
        if name == "topic" or name.startswith(REGISTRY_PREFIX):
            continue
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
    known = [name.replace("_", ".") for name in (*setting_names(config_type), *ALIASES)]
    for name in properties:
        if name in refused:
            raise InvalidOptionError(f"kafka.{name} cannot be set: {refused[name]}")
        if name in WITHOUT_MEANING:
            logger.warning("kafka.%s is for Java's clients alone and is left out", name)
        elif name not in known:
            nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"; did you mean 'kafka.{nearest[0]}'?" if nearest else ""
            raise UnsupportedOptionError(f"kafka.{name} is not a setting of a {action}{hint}")
    settings = from_properties({n: v for n, v in properties.items() if n not in WITHOUT_MEANING})
    try:
        load(config_type, settings)
    except ConfigError as error:
        raise InvalidOptionError(f"in the options kafka.*: {error}") from None
    return settings


def _subscription(given: Mapping[str, str]) -> TopicChoice:
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


def _formats(given: Mapping[str, str], subscription: TopicChoice) -> DecodingOptions | None:
    """Raises: InvalidOptionError, also where dead letters would be read again."""
    formats = decoding_options(given, _only_topic(subscription))
    topic = None if formats is None else formats.dead_letter_topic
    if topic is not None and subscription.holds(topic):
        raise InvalidOptionError(f"deadLetterTopic is {topic!r}, which is read itself")
    return formats


def _only_topic(subscription: TopicChoice) -> str | None:
    match subscription:
        case Assign(partitions):
            topics = {partition.topic for partition in partitions}
        case Subscribe(names):
            topics = {*names}
        case SubscribePattern():
            return None
    return topics.pop() if len(topics) == 1 else None


def _starting(given: Mapping[str, str]) -> OffsetSpec | None:
    strategy = given.get("startingoffsetsbytimestampstrategy", "error").strip().lower()
    if strategy not in ("error", "latest"):
        raise InvalidOptionError(
            f"startingOffsetsByTimestampStrategy must be error or latest, not {strategy!r}"
        )
    is_required = strategy == "error"
    return _at_time(given, "starting", is_required=is_required) or _offset_spec(given, "startingOffsets")


def _ending(given: Mapping[str, str]) -> OffsetSpec | None:
    return _at_time(given, "ending", is_required=False) or _offset_spec(given, "endingOffsets")


def _check_order(starting: OffsetSpec | None, ending: OffsetSpec | None) -> None:
    """What can be told without asking for the partitions. Raises: InvalidOptionError."""
    if not isinstance(starting, dict) or not isinstance(ending, dict):
        return
    for partition, start in starting.items():
        end = ending.get(partition, LATEST_OFFSET)
        if 0 <= end < start:
            raise InvalidOptionError(
                f"{partition}: startingOffsets says {start}, which is after endingOffsets, {end}"
            )


def _at_time(given: Mapping[str, str], edge: str, *, is_required: bool) -> AtTime | None:
    """What the options with a time say, of which the one for all partitions comes first."""
    for_all, by_partition = f"{edge}Timestamp", f"{edge}OffsetsByTimestamp"
    timestamp = timestamp_ms(given, for_all)
    text = given.get(by_partition.lower())
    timestamps = None if text is None else parse_timestamps(text, by_partition)
    if timestamp is not None:
        return AtTime(timestamp, for_all, is_required)
    return None if timestamps is None else AtTime(timestamps, by_partition, is_required)


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


def _group(given: Mapping[str, str]) -> dict[str, str]:
    """The source joins no group and commits to none; brokers may ask for the right to use its id."""
    prefix = _text(given, "groupIdPrefix")
    return {} if prefix is None else {"group_id": f"{prefix}-{uuid.uuid4()}"}


ChoiceT = TypeVar("ChoiceT", bound=str)


def _choice(given: Mapping[str, str], option: str, choices: tuple[ChoiceT, ...]) -> ChoiceT:
    text = given.get(option.lower(), choices[0]).strip().lower()
    for choice in choices:
        if text == choice:
            return choice
    raise InvalidOptionError(f"{option} must be one of {', '.join(choices)}, not {text!r}")


def _text(given: Mapping[str, str], option: str) -> str | None:
    text = given.get(option.lower())
    if text is not None and not text.strip():
        raise InvalidOptionError(f"{option} is empty")
    return None if text is None else text.strip()

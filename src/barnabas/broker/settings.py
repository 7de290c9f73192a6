"""The broker's and the topics' settings: Kafka's names, types, defaults and meanings, in one table each.

Owns names and values only; what a setting does is with whoever reads it. A topic's setting falls back to the
broker's of the name in `broker_name`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from barnabas.broker.log.settings import LogSettings
from barnabas.broker_errors import InvalidConfigError

MAX_INT = (1 << 31) - 1
MAX_LONG = (1 << 63) - 1
CODECS = ("uncompressed", "gzip", "snappy", "lz4", "zstd", "producer")


class SettingType(IntEnum):
    """Kafka's numbers for the types of settings, as DescribeConfigs gives them."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


class SettingSource(IntEnum):
    """Where a value comes from, with Kafka's numbers."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    STATIC_BROKER = 4
    DEFAULT = 5


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `low` and `high` bound numbers; `choices` are the words that strings and lists take."""

    name: str
    type: SettingType
    default: str
    doc: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    broker_name: str = ""
    dynamic: bool = True
    """Whether it may be changed while the broker runs."""

    def check(self, value: str) -> str:
        """The value as it is kept. Raises: InvalidConfigError."""
        try:
            _CHECKS[self.type](self, value)
        except ValueError as error:
            raise InvalidConfigError(f"invalid value {value!r} for setting {self.name}: {error}") from None
        return value.strip()


def _check_boolean(setting: Setting, value: str) -> None:
    if value.strip().lower() not in ("true", "false"):
        raise ValueError("it must be true or false")


def _check_number(setting: Setting, value: str) -> None:
    try:
        number = float(value) if setting.type is SettingType.DOUBLE else int(value)
    except ValueError:
        raise ValueError("it must be a number") from None
    high = MAX_INT if setting.type is SettingType.INT else MAX_LONG
    if (setting.low is not None and number < setting.low) or number > (setting.high or high):
        raise ValueError(f"it must be from {setting.low} to {setting.high or high}")


def _check_words(setting: Setting, value: str) -> None:
    words = value.split(",") if setting.type is SettingType.LIST else [value]
    for word in words:
        if setting.choices and word.strip() not in setting.choices:
            raise ValueError(f"it must be one of {', '.join(setting.choices)}")


_CHECKS: Mapping[SettingType, Callable[[Setting, str], None]] = {
    SettingType.BOOLEAN: _check_boolean,
    SettingType.STRING: _check_words,
    SettingType.LIST: _check_words,
    SettingType.INT: _check_number,
    SettingType.LONG: _check_number,
    SettingType.DOUBLE: _check_number,
}


def _table(*settings: Setting) -> dict[str, Setting]:
    return {setting.name: setting for setting in settings}


_INT, _LONG, _DOUBLE = SettingType.INT, SettingType.LONG, SettingType.DOUBLE
_BOOLEAN, _STRING, _LIST = SettingType.BOOLEAN, SettingType.STRING, SettingType.LIST
_POLICIES = ("delete", "compact")
_TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")

TOPIC_SETTINGS = _table(
    Setting(
        "cleanup.policy",
        _LIST,
        "delete",
        "How old records go: by age and size, or by key.",
        choices=_POLICIES,
        broker_name="log.cleanup.policy",
    ),
    Setting(
        "compression.type",
        _STRING,
        "producer",
        "Codec of the batches on disk; producer keeps the producer's.",
        choices=CODECS,
        broker_name="compression.type",
    ),
    Setting(
        "delete.retention.ms",
        _LONG,
        "86400000",
        "How long tombstones stay.",
        low=0,
        broker_name="log.cleaner.delete.retention.ms",
    ),
    Setting(
        "file.delete.delay.ms",
        _LONG,
        "60000",
        "Kept for clients; files go at once.",
        low=0,
        broker_name="log.segment.delete.delay.ms",
    ),
    Setting(
        "flush.messages",
        _LONG,
        str(MAX_LONG),
        "Records between forced writes to the disk.",
        low=1,
        broker_name="log.flush.interval.messages",
    ),
    Setting(
        "flush.ms",
        _LONG,
        str(MAX_LONG),
        "Longest time between forced writes to the disk.",
        low=0,
        broker_name="log.flush.interval.ms",
    ),
    Setting(
        "index.interval.bytes",
        _INT,
        "4096",
        "Bytes between entries of the offset index.",
        low=0,
        broker_name="log.index.interval.bytes",
    ),
    Setting(
        "max.compaction.lag.ms",
        _LONG,
        str(MAX_LONG),
        "Longest time a record may stay uncompacted.",
        low=1,
        broker_name="log.cleaner.max.compaction.lag.ms",
    ),
    Setting(
        "max.message.bytes", _INT, "1048588", "Largest record batch.", low=0, broker_name="message.max.bytes"
    ),
    Setting(
        "message.timestamp.after.max.ms",
        _LONG,
        "3600000",
        "How far ahead of the broker's clock a timestamp may be.",
        low=0,
        broker_name="log.message.timestamp.after.max.ms",
    ),
    Setting(
        "message.timestamp.before.max.ms",
        _LONG,
        str(MAX_LONG),
        "How far behind the broker's clock a timestamp may be.",
        low=0,
        broker_name="log.message.timestamp.before.max.ms",
    ),
    Setting(
        "message.timestamp.type",
        _STRING,
        "CreateTime",
        "Whose timestamps records carry.",
        choices=_TIMESTAMP_TYPES,
        broker_name="log.message.timestamp.type",
    ),
    Setting(
        "min.cleanable.dirty.ratio",
        _DOUBLE,
        "0.5",
        "Share of uncompacted bytes at which compaction runs.",
        low=0,
        high=1,
        broker_name="log.cleaner.min.cleanable.ratio",
    ),
    Setting(
        "min.compaction.lag.ms",
        _LONG,
        "0",
        "Shortest time a record stays uncompacted.",
        low=0,
        broker_name="log.cleaner.min.compaction.lag.ms",
    ),
    Setting(
        "min.insync.replicas",
        _INT,
        "1",
        "Replicas in sync that acks=all needs, or all if there are fewer.",
        low=1,
        broker_name="min.insync.replicas",
    ),
    Setting(
        "preallocate",
        _BOOLEAN,
        "false",
        "Kept for clients; files grow as they are written.",
        broker_name="log.preallocate",
    ),
    Setting(
        "retention.bytes",
        _LONG,
        "-1",
        "Bytes of a partition that stay; -1 is without limit.",
        low=-1,
        broker_name="log.retention.bytes",
    ),
    Setting(
        "retention.ms",
        _LONG,
        "604800000",
        "How long records stay; -1 is for ever.",
        low=-1,
        broker_name="log.retention.ms",
    ),
    Setting(
        "segment.bytes", _INT, "1073741824", "Size of a log file.", low=1024, broker_name="log.segment.bytes"
    ),
    Setting(
        "segment.index.bytes",
        _INT,
        "10485760",
        "Kept for clients; indexes grow as needed.",
        low=4,
        broker_name="log.index.size.max.bytes",
    ),
    Setting(
        "segment.jitter.ms",
        _LONG,
        "0",
        "Kept for clients; there is no herd to scatter.",
        low=0,
        broker_name="log.roll.jitter.ms",
    ),
    Setting(
        "segment.ms", _LONG, "604800000", "Longest time span of a log file.", low=1, broker_name="log.roll.ms"
    ),
    Setting(
        "unclean.leader.election.enable",
        _BOOLEAN,
        "false",
        "Let a replica lead that may lack records, where no other is there.",
        broker_name="unclean.leader.election.enable",
    ),
)

_BROKER_ONLY = _table(
    Setting(
        "allow.everyone.if.no.acl.found",
        _BOOLEAN,
        "false",
        "Whether everybody may use what no ACL is for.",
        dynamic=False,
    ),
    Setting(
        "auto.leader.rebalance.enable",
        _BOOLEAN,
        "true",
        "Whether leaders go back to where they should be by themselves.",
        dynamic=False,
    ),
    Setting(
        "authorizer.class.name",
        _STRING,
        "",
        "Who checks what clients may do; empty is nobody.",
        choices=("", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
        dynamic=False,
    ),
    Setting(
        "auto.create.topics.enable", _BOOLEAN, "true", "Create topics that clients ask for.", dynamic=False
    ),
    Setting("broker.id", _INT, "1", "The number of this node.", low=1, high=1, dynamic=False),
    Setting(
        "broker.session.timeout.ms",
        _INT,
        "9000",
        "How long a node may not be heard of before the others do without it.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "default.replication.factor", _INT, "1", "Copies of each partition.", low=1, high=32767, dynamic=False
    ),
    Setting("delete.topic.enable", _BOOLEAN, "true", "Allow topics to be deleted.", dynamic=False),
    Setting(
        "group.consumer.heartbeat.interval.ms",
        _INT,
        "500",
        "How often members of the consumer protocol shall be heard of; Kafka's is 5000.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "group.consumer.max.size",
        _INT,
        str(MAX_INT),
        "Most members of a group of the consumer protocol.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "group.consumer.session.timeout.ms",
        _INT,
        "45000",
        "How long a member of the consumer protocol may not be heard of.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "group.initial.rebalance.delay.ms",
        _INT,
        "0",
        "How long a new group waits for more members; Kafka waits 3000.",
        low=0,
        dynamic=False,
    ),
    Setting(
        "group.max.session.timeout.ms",
        _INT,
        "1800000",
        "Longest session a member may ask for.",
        low=1,
        dynamic=False,
    ),
    Setting("group.max.size", _INT, str(MAX_INT), "Most members of a group.", low=1, dynamic=False),
    Setting(
        "group.min.session.timeout.ms",
        _INT,
        "1000",
        "Shortest session a member may ask for; Kafka's is 6000.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "leader.imbalance.check.interval.seconds",
        _LONG,
        "300",
        "How often leaders go back to where they should be.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "log.cleaner.backoff.ms",
        _LONG,
        "15000",
        "Time between looks for logs to compact.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "log.flush.offset.checkpoint.interval.ms",
        _INT,
        "60000",
        "Time between checkpoints.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "log.retention.check.interval.ms",
        _LONG,
        "300000",
        "Time between looks for old segments.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "log.retention.hours",
        _INT,
        "168",
        "How long records stay, unless minutes or ms say so.",
        low=-1,
        dynamic=False,
    ),
    Setting(
        "log.retention.minutes", _INT, "", "How long records stay, unless ms says so.", low=-1, dynamic=False
    ),
    Setting(
        "log.roll.hours",
        _INT,
        "168",
        "Longest time span of a log file, unless ms says so.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "num.partitions", _INT, "1", "Partitions of topics that say nothing of it.", low=1, dynamic=False
    ),
    Setting(
        "offset.metadata.max.bytes",
        _INT,
        "4096",
        "Largest note beside a committed offset.",
        low=0,
        dynamic=False,
    ),
    Setting(
        "offsets.retention.check.interval.ms",
        _LONG,
        "600000",
        "Time between looks for old offsets.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "offsets.retention.minutes",
        _INT,
        "10080",
        "How long offsets stay once a group is empty.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "offsets.topic.num.partitions",
        _INT,
        "1",
        "Partitions of __consumer_offsets; Kafka's 50 spread over brokers.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "offsets.topic.replication.factor",
        _INT,
        "3",
        "Copies of committed offsets, or as many as there are nodes.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "offsets.topic.segment.bytes",
        _INT,
        "104857600",
        "Size of a log file of __consumer_offsets.",
        low=1024,
        dynamic=False,
    ),
    Setting(
        "producer.id.expiration.ms",
        _INT,
        "86400000",
        "How long an idle producer is remembered.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "replica.selector.class",
        _STRING,
        "",
        "Who tells a consumer which replica is nearest; empty is nobody.",
        choices=("", "org.apache.kafka.common.replica.RackAwareReplicaSelector"),
        dynamic=False,
    ),
    Setting(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        _INT,
        "10000",
        "Time between looks for transactions that have been open for too long.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "transaction.max.timeout.ms",
        _INT,
        "900000",
        "Longest time that a producer may ask for its transactions.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        _INT,
        "3600000",
        "Time between looks for transactional ids that nobody uses any more.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "transaction.state.log.num.partitions",
        _INT,
        "1",
        "Partitions of __transaction_state; Kafka's 50 spread over brokers.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "transaction.state.log.replication.factor",
        _INT,
        "3",
        "Copies of what is known of transactions, or as many as there are nodes.",
        low=1,
        dynamic=False,
    ),
    Setting(
        "transaction.state.log.segment.bytes",
        _INT,
        "104857600",
        "Size of a log file of __transaction_state.",
        low=1024,
        dynamic=False,
    ),
    Setting(
        "transactional.id.expiration.ms",
        _INT,
        "604800000",
        "How long a transactional id that nobody uses is remembered.",
        low=1,
        dynamic=False,
    ),
    Setting("super.users", _STRING, "", "Who may do everything: User:a;User:b.", dynamic=False),
    Setting("socket.request.max.bytes", _INT, "104857600", "Largest request.", low=1, dynamic=False),
    Setting(
        "connections.max.idle.ms",
        SettingType.LONG,
        "600000",
        "How long a connection may stay open without a request.",
        low=1,
        dynamic=False,
    ),
)


def _broker_table() -> dict[str, Setting]:
    table = dict(_BROKER_ONLY)
    for setting in TOPIC_SETTINGS.values():
        table[setting.broker_name] = Setting(
            setting.broker_name,
            setting.type,
            setting.default,
            setting.doc,
            setting.low,
            setting.high,
            setting.choices,
        )
    return dict(sorted(table.items()))


BROKER_SETTINGS = _broker_table()
_HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Value:
    """A setting's value and where it comes from."""

    setting: Setting
    value: str
    source: SettingSource


class BrokerSettings:
    """The broker's settings: those it was started with, those changed since, defaults.

    Raises: InvalidConfigError for an unknown name or a bad value.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self._static = checked(given, BROKER_SETTINGS)
        self.dynamic: dict[str, str] = {}

    def get(self, name: str) -> Value:
        setting = BROKER_SETTINGS[name]
        if name in self.dynamic:
            return Value(setting, self.dynamic[name], SettingSource.DYNAMIC_BROKER)
        if name in self._static:
            return Value(setting, self._static[name], SettingSource.STATIC_BROKER)
        return self._from_other_unit(setting) or Value(setting, setting.default, SettingSource.DEFAULT)

    def _from_other_unit(self, setting: Setting) -> Value | None:
        """log.retention.ms and log.roll.ms may have been given in minutes or hours."""
        for name, unit_ms in _OTHER_UNITS.get(setting.name, ()):
            if name in self._static:
                count = int(self._static[name])
                return Value(setting, str(-1 if count < 0 else count * unit_ms), SettingSource.STATIC_BROKER)
        return None

    def number(self, name: str) -> int:
        return int(self.get(name).value)

    def flag(self, name: str) -> bool:
        return self.get(name).value.lower() == "true"


_OTHER_UNITS: Mapping[str, tuple[tuple[str, int], ...]] = {
    "log.retention.ms": (("log.retention.minutes", 60_000), ("log.retention.hours", _HOUR_MS)),
    "log.roll.ms": (("log.roll.hours", _HOUR_MS),),
}


@dataclass(frozen=True, slots=True)
class ProduceRules:
    """What is asked of every batch for a topic, at hand without a look-up. Times in milliseconds."""

    max_message_bytes: int
    min_in_sync_replicas: int
    compression_type: str
    set_append_time: bool
    timestamp_after_max_ms: int
    timestamp_before_max_ms: int
    needs_keys: bool
    """The topic is compacted, where a record without a key has no meaning."""


class TopicSettings:
    """A topic's settings: its own, else the broker's, else defaults."""

    def __init__(self, own: Mapping[str, str], broker: BrokerSettings) -> None:
        self._own = own
        self._broker = broker

    def get(self, name: str) -> Value:
        setting = TOPIC_SETTINGS[name]
        if name in self._own:
            return Value(setting, self._own[name], SettingSource.TOPIC)
        value = self._broker.get(setting.broker_name)
        return Value(setting, value.value, value.source)

    def number(self, name: str) -> int:
        return int(self.get(name).value)

    def text(self, name: str) -> str:
        return self.get(name).value

    def flag(self, name: str) -> bool:
        return self.get(name).value.lower() == "true"

    def produce_rules(self) -> ProduceRules:
        return ProduceRules(
            max_message_bytes=self.number("max.message.bytes"),
            min_in_sync_replicas=self.number("min.insync.replicas"),
            compression_type=self.text("compression.type"),
            set_append_time=self.text("message.timestamp.type") == "LogAppendTime",
            timestamp_after_max_ms=self.number("message.timestamp.after.max.ms"),
            timestamp_before_max_ms=self.number("message.timestamp.before.max.ms"),
            needs_keys="compact" in self._policies(),
        )

    def _policies(self) -> set[str]:
        return {word.strip() for word in self.text("cleanup.policy").split(",")}

    def log_settings(self) -> LogSettings:
        policies = self._policies()
        return LogSettings(
            segment_bytes=self.number("segment.bytes"),
            segment_ms=self.number("segment.ms"),
            index_interval_bytes=self.number("index.interval.bytes"),
            retention_bytes=self.number("retention.bytes"),
            retention_ms=self.number("retention.ms"),
            deletes="delete" in policies,
            compacts="compact" in policies,
            flush_messages=self.number("flush.messages"),
            flush_ms=self.number("flush.ms"),
            min_compaction_lag_ms=self.number("min.compaction.lag.ms"),
            max_compaction_lag_ms=self.number("max.compaction.lag.ms"),
            min_cleanable_dirty_ratio=float(self.text("min.cleanable.dirty.ratio")),
            delete_retention_ms=self.number("delete.retention.ms"),
            producer_id_expiration_ms=self._broker.number("producer.id.expiration.ms"),
        )


def checked(given: Mapping[str, str | None], table: Mapping[str, Setting]) -> dict[str, str]:
    """The settings that have a value, checked. Raises: InvalidConfigError."""
    return {name: lookup(name, table).check(value) for name, value in given.items() if value is not None}


def lookup(name: str, table: Mapping[str, Setting]) -> Setting:
    """The setting of that name. Raises: InvalidConfigError, with the nearest name that exists."""
    setting = table.get(name)
    if setting is not None:
        return setting
    nearest = difflib.get_close_matches(name, table, 1)
    hint = f"; did you mean {nearest[0]}?" if nearest else ""
    raise InvalidConfigError(f"unknown setting {name}{hint}")


def parse_assignment(text: str) -> tuple[str, str]:
    """`name=value` as its two parts. Raises: InvalidConfigError."""
    matched = re.fullmatch(r"\s*([\w.]+)\s*=(.*)", text)
    if matched is None:
        raise InvalidConfigError(f"{text!r} is not of the form name=value")
    return matched[1], matched[2].strip()

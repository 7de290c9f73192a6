"""The broker's and the topics' settings: Kafka's names, types, defaults and meanings, in one table each.

Owns names and values only; what a setting does is with whoever reads it. A topic's setting falls back to the
broker's of the name in `broker_name`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.broker.configs.group_settings import GROUP_BROKER_SETTINGS
from barnabas.broker.configs.listener_settings import LISTENER_SETTINGS, prefixed_setting
from barnabas.broker.configs.setting_kinds import (
    MAX_INT,
    MAX_LONG,
    Setting,
    SettingSource,
    SettingType,
    Value,
    checked,
    table_of,
)
from barnabas.broker.log.settings import LogSettings

CODECS = ("uncompressed", "gzip", "snappy", "lz4", "zstd", "producer")

_INT, _LONG, _DOUBLE = SettingType.INT, SettingType.LONG, SettingType.DOUBLE
_BOOLEAN, _STRING, _LIST = SettingType.BOOLEAN, SettingType.STRING, SettingType.LIST
_POLICIES = ("delete", "compact")
_TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")

_NOT_THROTTLED = "Kept for tools that move replicas, which are copied as fast as they can be."

TOPIC_SETTINGS = table_of(
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
    Setting("follower.replication.throttled.replicas", SettingType.LIST, "", _NOT_THROTTLED),
    Setting(
        "index.interval.bytes",
        _INT,
        "4096",
        "Bytes between entries of the offset index.",
        low=0,
        broker_name="log.index.interval.bytes",
    ),
    Setting("leader.replication.throttled.replicas", SettingType.LIST, "", _NOT_THROTTLED),
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

_BROKER_ONLY = table_of(
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
        "offsets.commit.timeout.ms",
        _INT,
        "5000",
        "How long what a group's coordinator writes may take to get to the replicas.",
        low=1,
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
    Setting("follower.replication.throttled.rate", _LONG, str(MAX_LONG), _NOT_THROTTLED, low=0),
    Setting("leader.replication.throttled.rate", _LONG, str(MAX_LONG), _NOT_THROTTLED, low=0),
    Setting("replica.alter.log.dirs.io.max.bytes.per.second", _LONG, str(MAX_LONG), _NOT_THROTTLED, low=0),
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
    table = {**_BROKER_ONLY, **GROUP_BROKER_SETTINGS, **LISTENER_SETTINGS}
    for setting in TOPIC_SETTINGS.values():
        if not setting.broker_name:
            continue
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


class BrokerSettings:
    """The broker's settings: those it was started with, those changed since, defaults.

    Raises: InvalidConfigError for an unknown name or a bad value.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        listeners = {name: setting for name in given if (setting := prefixed_setting(name)) is not None}
        self._static = checked(given, {**BROKER_SETTINGS, **listeners})
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

    def of_listener(self, name: str, listener: str, mechanism: str = "") -> str:
        """The value that holds for a mechanism on a listener, else for the listener, else for all."""
        prefix = f"listener.name.{listener.lower()}."
        for place in (f"{prefix}{mechanism.lower()}.", prefix):
            if place + name in self._static:
                return self._static[place + name]
        return self.get(name).value


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
        if not setting.broker_name:
            return Value(setting, setting.default, SettingSource.DEFAULT)
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

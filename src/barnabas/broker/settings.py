"""Topics' settings: Kafka's names, types, defaults and meanings, in one table.

Owns names and values only; what a setting does is with whoever reads it. A topic's setting falls back to the
broker's of the name in `broker_name`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from barnabas.broker.configs.broker_values import BrokerSettings
from barnabas.broker.configs.inherited_settings import InheritedSettings
from barnabas.broker.configs.setting_forms import gzip_level, replicas
from barnabas.broker.configs.setting_kinds import (
    MAX_LONG,
    Setting,
    SettingSource,
    SettingType,
    hint,
    table_of,
)
from barnabas.broker.log.settings import LogSettings
from barnabas.broker_errors import InvalidConfigError

CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")

_INT, _LONG, _DOUBLE = SettingType.INT, SettingType.LONG, SettingType.DOUBLE
_BOOLEAN, _STRING, _LIST = SettingType.BOOLEAN, SettingType.STRING, SettingType.LIST
_POLICIES = ("compact", "delete")
_TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")

LEAST_SEGMENT_BYTES = 1 << 20
"""As topics may be told by segment.bytes."""
LEAST_SEGMENT_BYTES_BEFORE_4 = 14

_NOT_THROTTLED = "Kept for tools that move replicas, which are copied as fast as they can be."
_NOT_TIERED = "Kept for clients; there is no tiered storage."


def _of_topics_alone(name: str, kind: SettingType, default: str, doc: str, **rules: Any) -> Setting:
    return Setting(name, kind, default, doc, has_default=False, **rules)


def _throttled(whose: str) -> Setting:
    name = f"{whose}.replication.throttled.replicas"
    return _of_topics_alone(name, _LIST, "", _NOT_THROTTLED, form=partial(replicas, name))


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
        "compression.gzip.level",
        _INT,
        "-1",
        "How hard gzip tries where compression.type is gzip: 1 to 9; -1 leaves it to gzip.",
        form=gzip_level,
        broker_name="compression.gzip.level",
    ),
    Setting(
        "compression.lz4.level",
        _INT,
        "9",
        "Kept for clients; lz4 is compressed in one way.",
        low=1,
        high=17,
        broker_name="compression.lz4.level",
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
        "compression.zstd.level",
        _INT,
        "3",
        "How hard zstd tries where compression.type is zstd.",
        low=-131072,
        high=22,
        broker_name="compression.zstd.level",
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
        has_default=False,
    ),
    _throttled("follower"),
    Setting(
        "index.interval.bytes",
        _INT,
        "4096",
        "Bytes between entries of the offset index.",
        low=0,
        broker_name="log.index.interval.bytes",
    ),
    _of_topics_alone(
        "internal.segment.bytes",
        _INT,
        "",
        "Size of a segment, as small as tests want it; counts before segment.bytes.",
        hidden=True,
    ),
    _throttled("leader"),
    Setting(
        "local.retention.bytes", _LONG, "-2", _NOT_TIERED, low=-2, broker_name="log.local.retention.bytes"
    ),
    Setting("local.retention.ms", _LONG, "-2", _NOT_TIERED, low=-2, broker_name="log.local.retention.ms"),
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
    _of_topics_alone("remote.log.copy.disable", _BOOLEAN, "false", _NOT_TIERED),
    _of_topics_alone("remote.log.delete.on.disable", _BOOLEAN, "false", _NOT_TIERED),
    _of_topics_alone(
        "remote.storage.enable", _BOOLEAN, "false", "Refused where true: there is no tiered storage."
    ),
    Setting(
        "retention.bytes",
        _LONG,
        "-1",
        "Bytes of a partition that stay; -1 is without limit.",
        broker_name="log.retention.bytes",
    ),
    Setting(
        "retention.ms",
        _LONG,
        "604800000",
        "How long records stay; -1 is for ever.",
        low=-1,
        broker_name="log.retention.ms",
        has_default=False,
    ),
    Setting(
        "segment.bytes",
        _INT,
        "1073741824",
        "Size of a segment, a file of the log.",
        low=LEAST_SEGMENT_BYTES,
        broker_name="log.segment.bytes",
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
        has_default=False,
    ),
    Setting(
        "segment.ms",
        _LONG,
        "604800000",
        "Longest time span of a log file.",
        low=1,
        broker_name="log.roll.ms",
        has_default=False,
    ),
    Setting(
        "unclean.leader.election.enable",
        _BOOLEAN,
        "false",
        "Let a replica lead that may lack records, where no other is there.",
        broker_name="unclean.leader.election.enable",
    ),
)


def of_topic(name: str, least_segment_bytes: int = LEAST_SEGMENT_BYTES) -> Setting:
    """What a topic's setting is. Raises: InvalidConfigError, with the nearest name that exists."""
    if name not in TOPIC_SETTINGS:
        raise InvalidConfigError(f"Unknown topic config name: {name}{hint(name, TOPIC_SETTINGS)}")
    setting = TOPIC_SETTINGS[name]
    return replace(setting, low=least_segment_bytes) if name == "segment.bytes" else setting


@dataclass(frozen=True, slots=True)
class ProduceRules:
    """What is asked of every batch for a topic, at hand without a look-up. Times in milliseconds."""

    max_message_bytes: int
    min_in_sync_replicas: int
    compression_type: str
    compression_level: int | None
    """None is the codec's own."""
    set_append_time: bool
    timestamp_after_max_ms: int
    timestamp_before_max_ms: int
    needs_keys: bool
    """The topic is compacted, where a record without a key has no meaning."""


def check_topic_settings(own: Mapping[str, str]) -> None:
    """What is more than a topic's settings one by one. Raises: InvalidConfigError."""
    if own.get("remote.storage.enable", "").lower() == "true":
        raise InvalidConfigError(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
    least, most = (
        int(own.get(name, TOPIC_SETTINGS[name].default))
        for name in ("min.compaction.lag.ms", "max.compaction.lag.ms")
    )
    if least > most:
        raise InvalidConfigError(
            f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
        )


class TopicSettings(InheritedSettings):
    """A topic's settings: its own, else the broker's, else defaults."""

    def __init__(self, own: Mapping[str, str], broker: BrokerSettings) -> None:
        super().__init__(own, broker, TOPIC_SETTINGS, SettingSource.TOPIC)

    def produce_rules(self) -> ProduceRules:
        return ProduceRules(
            max_message_bytes=self.number("max.message.bytes"),
            min_in_sync_replicas=self.number("min.insync.replicas"),
            compression_type=self.text("compression.type"),
            compression_level=self._compression_level(),
            set_append_time=self.text("message.timestamp.type") == "LogAppendTime",
            timestamp_after_max_ms=self.number("message.timestamp.after.max.ms"),
            timestamp_before_max_ms=self.number("message.timestamp.before.max.ms"),
            needs_keys="compact" in self._policies(),
        )

    def _compression_level(self) -> int | None:
        name = f"compression.{self.text('compression.type')}.level"
        if name not in TOPIC_SETTINGS or self.get(name).source is SettingSource.DEFAULT:
            return None
        level = self.number(name)
        return None if name == "compression.gzip.level" and level == -1 else level

    def _policies(self) -> set[str]:
        return {word.strip() for word in self.text("cleanup.policy").split(",")}

    def log_settings(self) -> LogSettings:
        policies = self._policies()
        return LogSettings(
            segment_bytes=self.number(
                "internal.segment.bytes" if "internal.segment.bytes" in self._own else "segment.bytes"
            ),
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

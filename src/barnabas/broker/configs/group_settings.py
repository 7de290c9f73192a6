"""The settings of groups (KIP-848, KIP-932, KIP-1071): each group's own, which fall back to the broker's, and
the bounds that the broker sets for them.

Owns names, defaults and bounds. What a setting does is with whoever reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from barnabas.broker.configs.setting_kinds import (
    MAX_INT,
    Setting,
    SettingSource,
    SettingType,
    Value,
    table_of,
)
from barnabas.broker_errors import InvalidConfigError

_BOOLEAN, _STRING, _INT = SettingType.BOOLEAN, SettingType.STRING, SettingType.INT
_DAY_MS, _HOUR_MS, _MINUTE_MS, _SECOND_MS = 86_400_000, 3_600_000, 60_000, 1_000
_DURATION = re.compile(
    r"by_duration:P(?=[\dT])(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)


class _Bounded(NamedTuple):
    """A number that groups may set for themselves, within what the broker lets them. Without `least` or
    `most` there is no such bound."""

    group_type: str
    name: str
    default: int
    least: int | None
    most: int | None
    doc: str
    low: int = 1
    dynamic: bool = False
    short_name: str = ""
    """What the bounds call it, where that is not `name`."""

    @property
    def own_name(self) -> str:
        return f"{self.group_type}.{self.name}"

    @property
    def broker_name(self) -> str:
        return f"group.{self.group_type}.{self.name}"

    def bound_name(self, which: str) -> str:
        return f"group.{self.group_type}.{which}.{self.short_name or self.name}"


_HEARTBEATS = "How often members shall be heard of; Kafka's is 5000."
_SESSIONS = "How long a member may not be heard of."
_ASSIGNMENTS = "Time between assignments at least; Kafka's is 1000."

_BOUNDED = (
    *(
        number
        for kind in ("consumer", "share", "streams")
        for number in (
            _Bounded(kind, "assignment.interval.ms", 0, 0, 15_000, _ASSIGNMENTS, 0, dynamic=True),
            _Bounded(kind, "heartbeat.interval.ms", 500, 100, 15_000, _HEARTBEATS),
            _Bounded(kind, "session.timeout.ms", 45_000, 45_000, 60_000, _SESSIONS),
        )
    ),
    _Bounded("share", "delivery.count.limit", 5, 2, 10, "How often a record is delivered at most.", 2),
    _Bounded("share", "partition.max.record.locks", 2000, 100, 4000, "Records of a partition in hand.", 100),
    _Bounded("share", "record.lock.duration.ms", 30_000, 15_000, 60_000, "How long a record is lent.", 1000),
    _Bounded(
        *("streams", "initial.rebalance.delay.ms", 0, None, None),
        "How long a new group waits for more members; Kafka waits 3000.",
        low=0,
    ),
    _Bounded(
        *("streams", "num.standby.replicas", 0, None, 2, "Copies of each task's state."),
        low=0,
        short_name="standby.replicas",
    ),
)


def _offset_reset(value: str) -> None:
    if value not in ("earliest", "latest") and not _DURATION.fullmatch(value):
        raise ValueError(
            f"Invalid value `{value}` for configuration share.auto.offset.reset. The value must be either "
            "'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
        )


def lookback_ms(offset_reset: str) -> int | None:
    """How far back `by_duration:` reaches, in milliseconds; None for what is no duration."""
    matched = _DURATION.fullmatch(offset_reset)
    if matched is None:
        return None
    units = (_DAY_MS, _HOUR_MS, _MINUTE_MS, _SECOND_MS)
    return int(sum(float(count or 0) * unit for count, unit in zip(matched.groups(), units, strict=True)))


GROUP_SETTINGS = table_of(
    *sorted(
        (
            *(
                Setting(
                    number.own_name,
                    _INT,
                    str(number.default),
                    number.doc,
                    low=number.low,
                    broker_name=number.broker_name,
                )
                for number in _BOUNDED
            ),
            Setting(
                "share.auto.offset.reset",
                _STRING,
                "latest",
                "Where a share group begins: earliest, latest, by_duration:PnDTnHnMn.nS before now.",
                form=_offset_reset,
            ),
            Setting(
                "share.isolation.level",
                _STRING,
                "read_uncommitted",
                "Whether records of transactions come before, or without, their commit.",
                choices=("read_committed", "read_uncommitted"),
            ),
            Setting(
                "share.renew.acknowledge.enable", _BOOLEAN, "true", "Whether members may hold records longer."
            ),
        ),
        key=lambda setting: setting.name,
    )
)


def _broker_settings() -> Iterator[Setting]:
    for number in _BOUNDED:
        yield Setting(
            number.broker_name,
            _INT,
            str(number.default),
            number.doc,
            low=number.low,
            dynamic=number.dynamic,
        )
        for which, bound in (("min", number.least), ("max", number.most)):
            if bound is not None:
                doc = f"The {which}imum that a group may set for {number.own_name}."
                yield Setting(number.bound_name(which), _INT, str(bound), doc, low=number.low, dynamic=False)
    for kind, most in (("consumer", MAX_INT), ("share", 200), ("streams", MAX_INT)):
        doc = f"Most members of a {kind} group."
        yield Setting(f"group.{kind}.max.size", _INT, str(most), doc, low=1, dynamic=False)
    doc = "Most sessions of members that fetch from this broker."
    yield Setting("group.share.max.share.sessions", _INT, "2000", doc, low=1, dynamic=False)
    doc = "Partitions of __share_group_state; Kafka's 50 spread over brokers."
    name = "share.coordinator.state.topic.num.partitions"
    yield Setting(name, _INT, "1", doc, low=1, dynamic=False)
    doc = "Copies of __share_group_state, or as many as there are nodes."
    name = "share.coordinator.state.topic.replication.factor"
    yield Setting(name, _INT, "3", doc, low=1, dynamic=False)
    doc = "Time between looks for what is needless in __share_group_state."
    name = "share.coordinator.state.topic.prune.interval.ms"
    yield Setting(name, _INT, "300000", doc, low=1, dynamic=False)
    doc = "Size of a log file of __share_group_state."
    name = "share.coordinator.state.topic.segment.bytes"
    yield Setting(name, _INT, "104857600", doc, low=1024, dynamic=False)
    doc = "Records of changes of a share partition's state between two of all of it."
    name = "share.coordinator.snapshot.update.records.per.snapshot"
    yield Setting(name, _INT, "500", doc, low=0, dynamic=False)
    doc = "How long a change of a share partition's state may take to get to the replicas."
    yield Setting("share.coordinator.write.timeout.ms", _INT, "5000", doc, low=1, dynamic=False)


GROUP_BROKER_SETTINGS = table_of(*_broker_settings())


class BrokerValues(Protocol):
    """The broker's settings, as far as groups fall back to them."""

    def get(self, name: str) -> Value: ...

    def number(self, name: str) -> int: ...


class GroupSettings:
    """A group's settings: its own, else the broker's, else defaults."""

    def __init__(self, own: Mapping[str, str], broker: BrokerValues) -> None:
        self._own = own
        self._broker = broker

    def get(self, name: str) -> Value:
        setting = GROUP_SETTINGS[name]
        if name in self._own:
            return Value(setting, self._own[name], SettingSource.GROUP)
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


def check_bounds(own: Mapping[str, str], broker: BrokerValues) -> None:
    """Raises: InvalidConfigError where a group's settings are outside what the broker lets it have."""
    for number in _BOUNDED:
        if number.own_name not in own:
            continue
        value = int(own[number.own_name])
        if number.least is not None and value < broker.number(bound := number.bound_name("min")):
            raise InvalidConfigError(f"{number.own_name} must be greater than or equal to {bound}")
        if number.most is not None and value > broker.number(bound := number.bound_name("max")):
            raise InvalidConfigError(f"{number.own_name} must be less than or equal to {bound}")
    settings = GroupSettings(own, broker)
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if settings.number(session) <= settings.number(heartbeat):
            raise InvalidConfigError(f"{session} must be greater than {heartbeat}")

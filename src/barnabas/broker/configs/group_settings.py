"""The settings of groups (KIP-848, KIP-932, KIP-1071): each group's own, which fall back to the broker's, and
the bounds that the broker sets for them.

Owns names, defaults and bounds. What a setting does is with whoever reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from barnabas.broker.configs.broker_settings import BROKER_SETTINGS
from barnabas.broker.configs.inherited_settings import InheritedSettings, TypedSettings
from barnabas.broker.configs.setting_kinds import (
    Setting,
    SettingSource,
    SettingType,
    table_of,
)
from barnabas.broker_errors import InvalidConfigError

_BOOLEAN, _STRING, _INT = SettingType.BOOLEAN, SettingType.STRING, SettingType.INT
_DAY_MS, _HOUR_MS, _MINUTE_MS, _SECOND_MS = 86_400_000, 3_600_000, 60_000, 1_000
_DURATION = re.compile(
    r"by_duration:P(?=[\dT])(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)


class _Bounded(NamedTuple):
    """A number that groups may set for themselves, within what the broker lets them."""

    group_type: str
    name: str
    doc: str
    low: int = 1
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


_BOUNDED = (
    *(
        number
        for kind in ("consumer", "share", "streams")
        for number in (
            _Bounded(kind, "assignment.interval.ms", "Time between assignments at least.", 0),
            _Bounded(kind, "heartbeat.interval.ms", "How often members send heartbeats."),
            _Bounded(
                kind, "session.timeout.ms", "How long a member may send no heartbeat before it is removed."
            ),
        )
    ),
    _Bounded("share", "delivery.count.limit", "How often a record is delivered at most.", 2),
    _Bounded(
        "share", "partition.max.record.locks", "How many records of a partition may be locked at once.", 100
    ),
    _Bounded("share", "record.lock.duration.ms", "How long a record is lent.", 1000),
    _Bounded("streams", "initial.rebalance.delay.ms", "How long a new group waits for more members.", 0),
    _Bounded("streams", "num.standby.replicas", "Copies of each task's state.", 0, "standby.replicas"),
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
                    BROKER_SETTINGS[number.broker_name].default,
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


def group_settings(own: Mapping[str, str], broker: TypedSettings) -> InheritedSettings:
    """A group's settings: its own, else the broker's, else defaults."""
    return InheritedSettings(own, broker, GROUP_SETTINGS, SettingSource.GROUP)


def check_bounds(own: Mapping[str, str], broker: TypedSettings) -> None:
    """Raises: InvalidConfigError where a group's settings are outside what the broker lets it have."""
    for number in _BOUNDED:
        if number.own_name not in own:
            continue
        value = int(own[number.own_name])
        bound = number.bound_name("min")
        if bound in BROKER_SETTINGS and value < broker.number(bound):
            raise InvalidConfigError(f"{number.own_name} must be greater than or equal to {bound}")
        bound = number.bound_name("max")
        if bound in BROKER_SETTINGS and value > broker.number(bound):
            raise InvalidConfigError(f"{number.own_name} must be less than or equal to {bound}")
    settings = group_settings(own, broker)
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if settings.number(session) <= settings.number(heartbeat):
            raise InvalidConfigError(f"{session} must be greater than {heartbeat}")

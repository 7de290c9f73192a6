"""The settings of brokers: Kafka's names, types, defaults, rules and words, all of them.

Owns the table, which `kafka_settings.json` holds as Kafka has it, and what names have to do with each other.
What a setting does here is said in `broker_meanings`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from barnabas.broker.configs.broker_meanings import MEANINGS
from barnabas.broker.configs.setting_forms import gzip_level
from barnabas.broker.configs.setting_kinds import Setting, SettingType, table_of

_PREFIXED = re.compile(r"listener\.name\.(?P<listener>[^.]*)\.(?P<base>.*)")
_OF_MECHANISMS = (
    *("sasl.jaas.config", "sasl.login.callback.handler.class", "sasl.login.class"),
    *("sasl.server.callback.handler.class", "connections.max.reauth.ms"),
)
"""They may be set for one mechanism on a listener as well."""

LISTENERS, PROTOCOL_MAP = "listeners", "listener.security.protocol.map"
MIN_IN_SYNC = "min.insync.replicas"
OF_ALL_LISTENERS = frozenset(("max.connections", "max.connection.creation.rate", "num.network.threads"))
"""Of what may be set for one listener, this may be set for all brokers at once."""
KEYS_AND_TRUST = frozenset(
    (
        *("ssl.key.password", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.location"),
        *("ssl.keystore.password", "ssl.keystore.type", "ssl.truststore.certificates"),
        *("ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type"),
    )
)
"""While a broker runs they are changed of one listener, and in force there at once."""


def _read() -> tuple[dict[str, Setting], dict[str, str], frozenset[str]]:
    """The settings, what Kafka says of them, and those that are changed of one broker only."""
    settings: dict[str, Setting] = {}
    documentation: dict[str, str] = {}
    per_broker: set[str] = set()
    rows: list[dict[str, Any]] = json.loads(Path(__file__).with_name("kafka_settings.json").read_bytes())
    for row in rows:
        name: str = row["name"]
        settings[name] = Setting(
            name,
            SettingType[row["type"]],
            row["default"] or "",
            MEANINGS.get(name, ""),
            low=row.get("low"),
            high=row.get("high"),
            choices=tuple(row.get("words", ())),
            dynamic="changes" in row,
            form=gzip_level if name == "compression.gzip.level" else None,
            has_default=row["default"] is not None,
            hidden=row.get("internal", False),
        )
        documentation[name] = row["documentation"]
        if row.get("changes") == "per-broker":
            per_broker.add(name)
    return settings, documentation, frozenset(per_broker)


BROKER_SETTINGS, DOCUMENTATION, PER_BROKER = _read()

_quota = partial(Setting, type=SettingType.LONG, default="", low=0, has_default=False, hidden=True)
QUOTA_SETTINGS = table_of(
    *(
        _quota(name=name, doc="Kept for tools that move replicas, which are copied as fast as they can be.")
        for name in (
            *("follower.replication.throttled.rate", "leader.replication.throttled.rate"),
            "replica.alter.log.dirs.io.max.bytes.per.second",
        )
    )
)
"""Told of where they are set; nobody begins with them."""

_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
START_SETTINGS: Mapping[str, Setting] = {
    **BROKER_SETTINGS,
    **QUOTA_SETTINGS,
    **table_of(
        Setting(
            "allow.everyone.if.no.acl.found",
            SettingType.BOOLEAN,
            "false",
            "Whether everybody may use what no ACL is for.",
        ),
        Setting("super.users", SettingType.STRING, "", "Who may do everything: User:a;User:b."),
        replace(BROKER_SETTINGS["authorizer.class.name"], choices=("", _AUTHORIZER)),
        replace(BROKER_SETTINGS["broker.id"], low=1, high=1),
        # Kafka's is 1 MiB. Programs that test with small segments say so once, not topic by topic.
        replace(BROKER_SETTINGS["log.segment.bytes"], low=1024),
        replace(BROKER_SETTINGS["replica.selector.class"], choices=("", _RACK_AWARE)),
    ),
}
"""What a broker may be started with: Kafka's, of which some have fewer values or more here, and those that
Kafka's authorizer has besides."""

_SYNONYMS = {
    name: names
    for names in (
        ("log.roll.ms", "log.roll.hours"),
        ("log.roll.jitter.ms", "log.roll.jitter.hours"),
        ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    )
    for name in names
} | {"log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")}


def own_synonyms(name: str) -> tuple[str, ...]:
    """All that say the same in other units, the one that counts first."""
    return _SYNONYMS.get(name, (name,))


def synonyms(name: str) -> tuple[str, ...]:
    """`own_synonyms`, and of a listener's setting the one of all listeners."""
    parts = listener_and_base(name)
    if parts is None:
        return own_synonyms(name)
    base = parts[1]
    return name, next((each for each in _OF_MECHANISMS if base.endswith(each)), base)


def listener_and_base(name: str) -> tuple[str, str] | None:
    """Of `listener.name.LISTENER.SETTING`, the listener in lower case, and the rest."""
    found = _PREFIXED.fullmatch(name)
    return None if found is None else (found["listener"], found["base"])


def setting_of(name: str) -> Setting:
    """Of any name: one that Kafka does not know is somebody's own, and a secret."""
    known = BROKER_SETTINGS.get(name) or QUOTA_SETTINGS.get(name)
    if known is not None:
        return known
    base = BROKER_SETTINGS.get(synonyms(name)[-1])
    if base is not None:
        return replace(base, name=name, dynamic=False, hidden=True)
    return Setting(name, SettingType.UNKNOWN, "", "", dynamic=False, has_default=False, hidden=True)


def start_setting(name: str) -> Setting | None:
    """The setting that a broker may be started with, one of a listener included, if there is such a one."""
    if listener_and_base(name) is None:
        return START_SETTINGS.get(name)
    found = setting_of(name)
    return None if found.type is SettingType.UNKNOWN else found

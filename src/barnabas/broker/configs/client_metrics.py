"""What clients are asked to tell of themselves (KIP-714): the settings of a subscription.

Owns names and rules, in Kafka's words. Must not know requests, nor where subscriptions are kept.
"""

from __future__ import annotations

import string
from collections.abc import Mapping

from barnabas._kernel import NamePattern
from barnabas.broker.configs.setting_kinds import Setting, SettingType, table_of
from barnabas.broker.name_pattern import name_pattern
from barnabas.broker_errors import InvalidConfigError, InvalidRequestError

LONGEST_MATCH = 4096
PRINTABLE = frozenset(string.printable)
INTERVAL, MATCH, METRICS = "interval.ms", "match", "metrics"
SHORTEST_INTERVAL_MS, LONGEST_INTERVAL_MS = 100, 3_600_000
CLIENT_INSTANCE_ID, CLIENT_ID = "client_instance_id", "client_id"
CLIENT_SOFTWARE_NAME, CLIENT_SOFTWARE_VERSION = "client_software_name", "client_software_version"
CLIENT_SOURCE_ADDRESS, CLIENT_SOURCE_PORT = "client_source_address", "client_source_port"
MATCHED_BY = frozenset(
    (
        *(CLIENT_INSTANCE_ID, CLIENT_ID, CLIENT_SOFTWARE_NAME, CLIENT_SOFTWARE_VERSION),
        *(CLIENT_SOURCE_ADDRESS, CLIENT_SOURCE_PORT),
    )
)

CLIENT_METRICS_SETTINGS = table_of(
    Setting(INTERVAL, SettingType.INT, "300000", "How often clients push, in milliseconds."),
    Setting(MATCH, SettingType.LIST, "", "Which clients: name=expression, all of which must hold."),
    Setting(METRICS, SettingType.LIST, "", "Prefixes of the metrics' names; * for all."),
)


def words_of(value: str) -> list[str]:
    """The members of a setting that is a list."""
    return [word.strip() for word in value.split(",") if word.strip()]


def patterns_of(match: str, characters: frozenset[str] = PRINTABLE) -> dict[str, NamePattern]:
    """What a client must be like, each by name, to be matched with what is made of these characters. They are
    RE2's, which take linear time; Kafka's are Java's. Raises: InvalidConfigError."""
    if len(match) > LONGEST_MATCH:
        raise InvalidConfigError(
            f"Illegal client matching pattern: it has {len(match)} characters, {LONGEST_MATCH} at most"
        )
    found: dict[str, NamePattern] = {}
    for word in words_of(match):
        name, equals, pattern = (part.strip() for part in word.partition("="))
        try:
            if not equals or name not in MATCHED_BY:
                raise ValueError
            found[name] = name_pattern(pattern, characters)
        except ValueError:
            raise InvalidConfigError(f"Illegal client matching pattern: {word}") from None
    return found


def check_subscription(settings: Mapping[str, str]) -> None:
    """Raises: InvalidRequestError, InvalidConfigError."""
    interval = settings.get(INTERVAL)
    if interval is not None and not SHORTEST_INTERVAL_MS <= int(interval) <= LONGEST_INTERVAL_MS:
        raise InvalidRequestError(
            f"Invalid value {interval} for {INTERVAL}, interval must be between {SHORTEST_INTERVAL_MS} and "
            f"{LONGEST_INTERVAL_MS} (1 hour)"
        )
    patterns_of(settings.get(MATCH, ""))

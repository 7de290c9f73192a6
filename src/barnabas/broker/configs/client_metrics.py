"""What clients are asked to tell of themselves (KIP-714): the settings of a subscription.

Owns names and rules, in Kafka's words. Must not know requests, nor where subscriptions are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from barnabas.broker.configs.setting_kinds import Setting, SettingType, table_of
from barnabas.broker_errors import InvalidConfigError, InvalidRequestError

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


def patterns_of(match: str) -> dict[str, re.Pattern[str]]:
    """What a client must be like, each by name. Raises: InvalidConfigError."""
    found: dict[str, re.Pattern[str]] = {}
    for word in words_of(match):
        name, equals, pattern = (part.strip() for part in word.partition("="))
        try:
            if not equals or name not in MATCHED_BY:
                raise ValueError
            found[name] = re.compile(pattern)
        except (ValueError, re.error):
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

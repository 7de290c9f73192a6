"""What a client's configuration says of its log lines: which there are, and what they look like. Writes
none.
"""

from __future__ import annotations

from typing import cast

from barnabas.compat.librdkafka.config.properties import OF_TOPICS
from barnabas.compat.librdkafka.config.property_rules import LOG_DEBUG, PropertyValues
from barnabas.values import frozen

CONTEXTS = (
    *("generic", "broker", "topic", "metadata", "feature", "queue", "msg", "protocol", "cgrp", "security"),
    *("fetch", "interceptor", "plugin", "consumer", "admin", "eos", "mock", "assignor", "conf", "telemetry"),
)
"""Those of the property `debug`, in the order of their bits."""

_SECRETS = ("password", "secret", "passphrase", "username", "key.pem", "oauthbearer.config")


@frozen
class LogProperties:
    """`level`: the highest that is told, as in syslog. `contexts`: those of `debug`. `listing`: what the
    context `conf` tells of the configuration."""

    level: int = 6
    contexts: frozenset[str] = frozenset()
    names_threads: bool = True
    tells_closed_connections: bool = True
    features: str = ""
    listing: tuple[str, ...] = ()

    @property
    def debug_bits(self) -> int:
        return sum(1 << bit for bit, context in enumerate(CONTEXTS) if context in self.contexts)


def log_properties(values: PropertyValues) -> LogProperties:
    """With any context librdkafka tells everything, whatever log_level says."""
    given = values["debug"]
    contexts = frozenset(CONTEXTS if "all" in given else given)
    return LogProperties(
        LOG_DEBUG if contexts else values["log_level"],
        contexts,
        values["log.thread.name"],
        values["log.connection.close"],
        _shown("builtin.features", values["builtin.features"]),
        _listing(values) if "conf" in contexts else (),
    )


def _listing(values: PropertyValues) -> tuple[str, ...]:
    names = values.given_names()
    lines = ["Client configuration:"]
    lines += [f"  {name} = {_shown(name, values[name])}" for name in names if name not in OF_TOPICS]
    of_topics = [f"  {name} = {_shown(name, values[name])}" for name in names if name in OF_TOPICS]
    if of_topics:
        lines += ["Default topic configuration:", *of_topics]
    return tuple(lines)


def _shown(name: str, value: object) -> str:
    if any(part in name for part in _SECRETS):
        return "[redacted]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, cast("tuple[str, ...]", value)))
    return f"{value:g}" if isinstance(value, float) else str(value)

"""The callbacks that a client of any kind is configured with. Calls none of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from barnabas.compat.librdkafka.config.configuration import Configuration
from barnabas.compat.librdkafka.config.log_properties import LogProperties, log_properties
from barnabas.compat.librdkafka.config.property_rules import LogLine
from barnabas.compat.librdkafka.values.errors import KafkaError
from barnabas.compat.librdkafka.values.models import ThrottleEvent
from barnabas.values import frozen


@frozen
class ClientCallbacks:
    """What a program wants to be called, how often statistics are made (0: never), which log lines there are,
    and those about the configuration."""

    error_cb: Callable[[KafkaError], object] | None = None
    throttle_cb: Callable[[ThrottleEvent], object] | None = None
    stats_cb: Callable[[str], object] | None = None
    logger: Any = None
    statistics_interval_ms: int = 0
    warnings: Sequence[LogLine] = ()
    log: LogProperties = LogProperties()


def client_callbacks(configuration: Configuration) -> ClientCallbacks:
    """The callbacks that clients of all kinds have."""
    callbacks = configuration.callbacks
    return ClientCallbacks(
        callbacks.get("error_cb"),
        callbacks.get("throttle_cb"),
        callbacks.get("stats_cb"),
        configuration.logger,
        configuration.values["statistics.interval.ms"],
        configuration.warnings,
        log_properties(configuration.values),
    )

"""The settings of KafkaConsumer: which are refused, and what they are to the core.

Takes the configuration as `given` merged it. Knows no consumer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from barnabas.compat.kafka_engine.config.client_settings import client_settings, milliseconds
from barnabas.compat.kafka_engine.consume.assignors import core_assignor
from barnabas.compat.kafka_engine.consume.refusals import refusal
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.values.errors import CLASSES

log = logging.getLogger("kafka.consumer.group")
_state_log = logging.getLogger("kafka.consumer.subscription_state")

_OLD_RESETS = {"smallest": "earliest", "largest": "latest"}
_RESETS = ("earliest", "latest", "none")
_ISOLATION_LEVELS = ("read_uncommitted", "read_committed")


def check_settings(config: dict[str, Any]) -> None:
    """Puts what is meant in the place of old names. Raises: KafkaConfigurationError."""
    reset = config["auto_offset_reset"]
    if reset in _OLD_RESETS:
        log.warning("use auto_offset_reset=%s (%s is deprecated)", _OLD_RESETS[reset], reset)
        config["auto_offset_reset"] = _OLD_RESETS[reset]
    if generation().connections_outlast_requests:
        idle, request, wait = (
            config[name] for name in ("connections_max_idle_ms", "request_timeout_ms", "fetch_max_wait_ms")
        )
        if not wait < request < idle:
            raise CLASSES["KafkaConfigurationError"](
                f"connections_max_idle_ms ({idle}) must be larger than request_timeout_ms ({request}) which "
                f"must be larger than fetch_max_wait_ms ({wait})."
            )


def check_group_settings(config: Mapping[str, Any]) -> None:
    """What is looked at once brokers have answered. Raises: KafkaConfigurationError."""
    request, session = config["request_timeout_ms"], config["session_timeout_ms"]
    if generation().requests_outlast_sessions and config["group_id"] is not None and request <= session:
        raise CLASSES["KafkaConfigurationError"](
            f"Request timeout ({request}) must be larger than session timeout ({session})"
        )
    if config.get("group_instance_id") is not None and config["group_id"] is None:
        raise CLASSES["KafkaConfigurationError"]("group_instance_id requires group_id")
    if config["group_id"] is not None and not config["partition_assignment_strategy"]:
        raise CLASSES["KafkaConfigurationError"]("Coordinator requires assignors")
    if config["enable_auto_commit"] and config["group_id"] is None:
        logging.getLogger("kafka.coordinator.consumer").warning("group_id is None: disabling auto-commit.")


def consumer_settings(config: Mapping[str, Any], topics: Callable[[], Iterable[str]]) -> dict[str, Any]:
    """For `barnabas.settings.table.load`. `topics`: those that are subscribed to at present.

    Raises: what `client_settings` raises; KafkaConfigurationError.
    """
    isolation_level = config.get("isolation_level", _ISOLATION_LEVELS[0])
    if isolation_level not in _ISOLATION_LEVELS:
        raise refusal("isolation level")
    reset = config["auto_offset_reset"]
    if reset not in _RESETS:
        _state_log.warning("Unrecognized offset_reset_strategy, using NONE")
        reset = "none"
    request_ms = milliseconds(config["request_timeout_ms"], 1)
    settings = {
        **client_settings(config),
        "group_id": config["group_id"],
        "auto_offset_reset": reset,
        "enable_auto_commit": bool(config["enable_auto_commit"]),
        "auto_commit_interval_ms": milliseconds(config["auto_commit_interval_ms"], 0),
        "session_timeout_ms": milliseconds(config["session_timeout_ms"], 1),
        "heartbeat_interval_ms": milliseconds(config["heartbeat_interval_ms"], 1),
        "fetch_min_bytes": config["fetch_min_bytes"],
        "fetch_max_wait_ms": milliseconds(config["fetch_max_wait_ms"], 0),
        "check_crcs": bool(config["check_crcs"]),
        "isolation_level": isolation_level,
        "default_api_timeout_ms": request_ms,
        "partition_assignment_strategy": [
            core_assignor(each, topics) for each in config["partition_assignment_strategy"]
        ]
        or ["range"],
        "exclude_internal_topics": bool(config.get("exclude_internal_topics", True)),
    }
    for name in ("group_instance_id", "client_rack", "fetch_max_bytes"):
        if config.get(name):
            settings[name] = config[name]
    if "max_poll_interval_ms" in config:
        settings["max_poll_interval_ms"] = milliseconds(config["max_poll_interval_ms"], 1)
    if config["max_partition_fetch_bytes"] != _DEFAULT_PARTITION_BYTES:
        settings["max_partition_fetch_bytes"] = config["max_partition_fetch_bytes"]
    return settings


# Whoever leaves it as it is gets the core's, which is larger, for the reason that is written there.
_DEFAULT_PARTITION_BYTES = 1024 * 1024

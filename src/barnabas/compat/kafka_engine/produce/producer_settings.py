"""What the settings of a KafkaProducer mean: which exclude each other, and what they are to the core.

Owns the rules of idempotence of each generation. Takes the configuration as `given.merged` made it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

from barnabas.compat.kafka_engine.config.api_versions import Version
from barnabas.compat.kafka_engine.config.client_settings import client_settings, milliseconds
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.values.errors import CLASSES

CODECS = ("gzip", "snappy", "lz4", "zstd")
DEFAULT_MAX_REQUEST_SIZE = 1048576
BUFFER_MEMORY = 64 * 1024 * 1024
_MOST_RETRIES = 2**31 - 1
_MOST_IN_FLIGHT = 5
_IDEMPOTENT_SINCE = (0, 11)
_IN_FLIGHT = "max_in_flight_requests_per_connection"


def check_codec(codec: Any) -> None:
    """Raises: ValueError; AssertionError in generation 1.2."""
    if codec is not None and codec not in CODECS:
        if generation().codecs_are_checked_early:
            raise ValueError(f"Not supported codec: {codec}")
        raise AssertionError("Unrecognized compression type")


def settle_idempotence(
    config: dict[str, Any], given: Collection[str], version: Version | None, log: logging.Logger, who: str
) -> None:
    """Puts what the settings say together of `enable_idempotence` into the configuration. `given`: the
    names that the program gave; `version`: the `api_version` that it gave, if any.

    Raises: KafkaConfigurationError for what excludes each other; AssertionError in generation 2 for brokers
    that are too old.
    """
    is_wanted = "enable_idempotence" in given
    if config.get("transactional_id"):
        if is_wanted and not config["enable_idempotence"]:
            raise _configuration_error("Cannot set transactional_id without enable_idempotence.")
        config["enable_idempotence"] = is_wanted = True
    if not config.get("enable_idempotence"):
        return
    is_old = version is not None and version < _IDEMPOTENT_SINCE
    if generation().idempotence_is_overridden:
        _settle_default(config, given, is_wanted, log, who)
        if is_old and config["enable_idempotence"]:
            _settle_old_brokers(config, version, is_wanted, log, who)
    elif is_old:
        raise AssertionError("Transactional/Idempotent producer requires >= Kafka 0.11 Brokers")
    else:
        _settle_wish(config, given, log, who)
    if config.get("enable_idempotence"):
        kind = "a transactional" if config["transactional_id"] else "an idempotent"
        log.info("%s: Instantiated %s producer.", who, kind)


def _settle_default(
    config: dict[str, Any], given: Collection[str], is_wanted: bool, log: logging.Logger, who: str
) -> None:
    conflicts = [
        f"{name}={config[name]!r}"
        for name, excludes in (
            ("acks", config["acks"] != -1),
            ("retries", config["retries"] == 0),
            (_IN_FLIGHT, config[_IN_FLIGHT] > _MOST_IN_FLIGHT),
        )
        if name in given and excludes
    ]
    if not conflicts:
        return
    told = ", ".join(conflicts)
    if is_wanted:
        raise _configuration_error(f"enable_idempotence=True is incompatible with user-provided {told}")
    log.warning(
        "%s: Idempotence will be disabled because user-provided config conflicts with"
        " idempotent defaults: %s",
        who,
        told,
    )
    config["enable_idempotence"] = False


def _settle_old_brokers(
    config: dict[str, Any], version: Version | None, is_wanted: bool, log: logging.Logger, who: str
) -> None:
    if is_wanted:
        raise _configuration_error(
            f"Idempotent/Transactional producer requires broker >= 0.11 (got api_version={version})"
        )
    log.warning("%s: Idempotence will be disabled because broker api_version %s < (0, 11)", who, version)
    config["enable_idempotence"] = False


def _settle_wish(config: dict[str, Any], given: Collection[str], log: logging.Logger, who: str) -> None:
    if config["retries"] == 0:
        raise _configuration_error("Must set 'retries' to non-zero when using the idempotent producer.")
    in_flight = generation().idempotent_requests_in_flight
    if _IN_FLIGHT not in given:
        log.info(
            "%s: Overriding the default '%s' to %d since idempontence is enabled.", who, _IN_FLIGHT, in_flight
        )
        config[_IN_FLIGHT] = in_flight
    elif config[_IN_FLIGHT] != in_flight:
        raise _configuration_error(
            f"Must set '{_IN_FLIGHT}' to {in_flight} in order to use the idempotent producer. Otherwise we "
            "cannot guarantee idempotence."
        )
    if "acks" not in given:
        log.info("%s: Overriding the default 'acks' config to 'all' since idempotence is enabled", who)
        config["acks"] = -1
    elif config["acks"] != -1:
        raise _configuration_error(
            "Must set 'acks' config to 'all' in order to use the idempotent producer. Otherwise we cannot "
            "guarantee idempotence"
        )


def check_times(config: Mapping[str, Any]) -> None:
    """Raises: KafkaConfigurationError."""
    if "delivery_timeout_ms" in config and (
        config["delivery_timeout_ms"] < config["linger_ms"] + config["request_timeout_ms"]
    ):
        raise _configuration_error("Must set delivery_timeout_ms higher than linger_ms + request_timeout_ms")


def _configuration_error(text: str) -> Exception:
    return CLASSES["KafkaConfigurationError"](text)


def producer_settings(config: Mapping[str, Any], given: Collection[str]) -> dict[str, Any]:
    """For `barnabas.client.produce.producer.Producer`. `given`: the names that the program gave: what
    has no meaning but for how fast records go out keeps the core's default otherwise.

    Raises: as `client_settings`.
    """
    retries = int(min(config["retries"], _MOST_RETRIES))
    settings: dict[str, Any] = {
        **client_settings(config),
        "acks": "all" if config["acks"] == -1 else config["acks"],
        "enable_idempotence": bool(config.get("enable_idempotence")),
        # Another one is refused, if not before then by send.
        "compression": config["compression_type"] if config["compression_type"] in CODECS else "none",
        "retries": retries,
        "linger_ms": config["linger_ms"],
        "max_block_ms": milliseconds(config["max_block_ms"], 0),
        "delivery_timeout_ms": _delivery_timeout_ms(config, retries),
        _IN_FLIGHT: config[_IN_FLIGHT],
        "partitioner_adaptive_partitioning_enable": False,
    }
    if "batch_size" in given:
        settings["batch_size"] = config["batch_size"]
    if config["max_request_size"] != DEFAULT_MAX_REQUEST_SIZE:
        settings["max_request_size"] = max(1, int(config["max_request_size"]))
    # Where the original knows no bound of its own there is one all the same, of several of the largest.
    largest = 4 * int(config["max_request_size"])
    settings["buffer_memory"] = config.get("buffer_memory", max(BUFFER_MEMORY, largest))
    if config.get("transactional_id"):
        settings["transactional_id"] = config["transactional_id"]
        settings["transaction_timeout_ms"] = config["transaction_timeout_ms"]
    return settings


def _delivery_timeout_ms(config: Mapping[str, Any], retries: int) -> int:
    """Without a limit of its own, a record has the time of all its tries, and of one before the first."""
    if "delivery_timeout_ms" in config:
        return milliseconds(config["delivery_timeout_ms"], 1)
    tries = (retries + 2) * config["request_timeout_ms"] + retries * config["retry_backoff_ms"]
    return milliseconds(config["linger_ms"] + tries, 1)

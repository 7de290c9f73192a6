"""What every client's settings mean as settings of the core.

Settings that say how kafka-python itself works (its selector, its sockets' chunks, how many requests of a
consumer may be under way) have no meaning here. Takes the configuration as `given` merged it, of whichever
generation, with only the names that this one has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.compat.kafka_engine.config.security import security_settings
from barnabas.compat.kafka_engine.config.servers import core_servers

_NEVER_MS = -1


def client_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """For `barnabas.settings.table.load`. What is None there, or missing, keeps the core's default.

    Raises: ValueError for an address of a broker that is none; as `security_settings`.
    """
    settings: dict[str, Any] = {
        "bootstrap_servers": core_servers(config["bootstrap_servers"]),
        "enable_metrics_push": False,
        **_times(config),
        **_sockets(config),
        **security_settings(config),
    }
    client_id = config.get("client_id")
    if client_id is not None:
        settings["client_id"] = client_id.decode() if isinstance(client_id, bytes) else str(client_id)
    proxy = config.get("proxy_url") or config.get("socks5_proxy")
    if proxy is not None:
        settings["proxy_url"] = proxy
    for name in ("client_dns_lookup", "allow_auto_create_topics"):
        if config.get(name) is not None:
            settings[name] = config[name]
    return settings


def _times(config: Mapping[str, Any]) -> dict[str, Any]:
    reconnect_ms = milliseconds(config["reconnect_backoff_ms"], 0)
    # Without a longest pause they are all alike.
    longest_ms = milliseconds(config.get("reconnect_backoff_max_ms", reconnect_ms), 0)
    times = {
        "reconnect_backoff_ms": reconnect_ms,
        "reconnect_backoff_max_ms": max(longest_ms, reconnect_ms),
        "request_timeout_ms": milliseconds(config["request_timeout_ms"], 1),
    }
    if "retry_backoff_ms" in config:
        retry_ms = milliseconds(config["retry_backoff_ms"], 0)
        times |= {"retry_backoff_ms": retry_ms, "retry_backoff_max_ms": retry_ms}
    if "metadata_max_age_ms" in config:
        times["metadata_max_age_ms"] = milliseconds(config["metadata_max_age_ms"], 1)
    if "connections_max_idle_ms" in config:
        idle_ms = milliseconds(config["connections_max_idle_ms"], _NEVER_MS)
        times["connections_max_idle_ms"] = idle_ms if idle_ms > 0 else _NEVER_MS
    return times


_LONGEST_MS = 2**31 - 1


def milliseconds(value: float, least: int) -> int:
    """Whole ones; what has no end lasts 24 days."""
    return max(least, int(min(value, _LONGEST_MS)))


def _sockets(config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: config[name]
        for name in ("send_buffer_bytes", "receive_buffer_bytes")
        if config.get(name) is not None
    }

"""The arguments of a SimpleConsumer as settings of the core's.

Knows no offsets: the SimpleConsumer looks them up and commits them itself. What reaches brokers, and how, is
the cluster's.
"""

from __future__ import annotations

from typing import Any

__all__ = ["consumer_settings"]


def consumer_settings(consumer: Any) -> dict[str, Any]:
    return {
        **consumer._cluster._core.settings(),
        "enable_auto_commit": False,
        "auto_offset_reset": "none",
        "fetch_min_bytes": consumer._fetch_min_bytes,
        "fetch_max_wait_ms": consumer._fetch_wait_max_ms,
        "max_partition_fetch_bytes": consumer._fetch_message_max_bytes,
        "allow_auto_create_topics": False,
    }

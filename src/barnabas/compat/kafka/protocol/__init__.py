"""What programs see of Kafka's protocol."""

from __future__ import annotations

import importlib
from typing import Any

from barnabas.compat.kafka.protocol.api_key import ApiKey

API_KEYS = {key.value: key.name for key in ApiKey}
"""The names of requests by their numbers."""

_LEGACY = (
    *("ALL_CODECS", "ATTRIBUTE_CODEC_MASK", "CODEC_GZIP", "CODEC_NONE", "CODEC_SNAPPY", "KafkaProtocol"),
    *("create_gzip_message", "create_message", "create_message_set", "create_snappy_message"),
)


def __getattr__(name: str) -> Any:
    """Programs for kafka-python 1.2 make messages with what is in `legacy`."""
    if name not in _LEGACY:
        raise AttributeError(f"module 'kafka.protocol' has no attribute {name!r}")
    return getattr(importlib.import_module("barnabas.compat.kafka.protocol.legacy"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LEGACY})

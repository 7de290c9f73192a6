"""The requests of Kafka's protocol, by their numbers."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from barnabas.protocol.api_key import ApiKey as _CoreApiKey

ApiKey: Any = IntEnum(
    "ApiKey",
    {"".join(word.capitalize() for word in key.name.split("_")): key.value for key in _CoreApiKey},
    module=__name__,
)
"""Kafka's names and numbers of requests."""

"""The serializer of JSON."""

from __future__ import annotations

import json
from typing import Any

from barnabas.compat.kafka.serializer.abstract import Headers
from barnabas.compat.kafka.serializer.default import DefaultSerializer


class JsonSerializer(DefaultSerializer):
    """What `json` writes and reads; None passes."""

    def serialize(self, topic: str, headers: Headers, data: Any) -> Any:
        return None if data is None else super().serialize(topic, headers, json.dumps(data))

    def deserialize(self, topic: str, headers: Headers, data: Any) -> Any:
        return None if data is None else json.loads(super().deserialize(topic, headers, data))

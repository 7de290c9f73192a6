"""Values as JSON."""

from __future__ import annotations

import json
from typing import Any

from barnabas.compat.kafka.serializer.default import DefaultSerializer


class JsonSerializer(DefaultSerializer):
    """What `json` writes and reads; None as None. In generation 3."""

    def serialize(self, topic: str, headers: Any, data: Any) -> Any:
        return None if data is None else super().serialize(topic, headers, json.dumps(data))

    def deserialize(self, topic: str, headers: Any, data: Any) -> Any:
        text = super().deserialize(topic, headers, data)
        return None if text is None else json.loads(text)

"""`kafka.KafkaClient` of kafka-python 1.2, which is SimpleClient still."""

from __future__ import annotations

import warnings
from typing import Any

from barnabas.compat.kafka.client import SimpleClient


class KafkaClient(SimpleClient):
    """SimpleClient by its older name."""

    __module__ = "barnabas.compat.kafka"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "The legacy KafkaClient interface has been moved to kafka.SimpleClient - this import will break "
            "in a future release",
            DeprecationWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)

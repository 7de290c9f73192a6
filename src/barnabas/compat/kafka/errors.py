"""The errors of kafka-python, as the chosen generation has them. Names of other generations are there too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.compat.kafka_engine.values.errors import CLASSES, PUBLIC_NAMES
from barnabas.compat.kafka_engine.values.errors import RETRY_BACKOFF_ERROR_TYPES as RETRY_BACKOFF_ERROR_TYPES
from barnabas.compat.kafka_engine.values.errors import RETRY_ERROR_TYPES as RETRY_ERROR_TYPES
from barnabas.compat.kafka_engine.values.errors import RETRY_REFRESH_ERROR_TYPES as RETRY_REFRESH_ERROR_TYPES
from barnabas.compat.kafka_engine.values.errors import check_error as check_error
from barnabas.compat.kafka_engine.values.errors import for_code as for_code
from barnabas.compat.kafka_engine.values.errors import kafka_errors as kafka_errors

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


globals().update(CLASSES)

__all__ = PUBLIC_NAMES  # pyright: ignore[reportUnsupportedDunderAll] each generation has its own

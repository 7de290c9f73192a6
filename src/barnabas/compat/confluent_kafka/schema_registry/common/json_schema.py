# pyright: basic
"""What programs know JSON schemas and values by."""

from __future__ import annotations

import decimal
import logging

__all__ = ["JsonMessage", "JsonSchema"]

JSON_TYPE = "JSON"

JsonMessage = None | str | float | int | decimal.Decimal | bool | list | dict
JsonSchema = bool | dict

# By the original's name: programs configure logging by it.
log = logging.getLogger("confluent_kafka.schema_registry.common.json_schema")

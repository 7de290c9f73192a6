"""The works of confluent-kafka, the very same code, on `barnabas.compat.confluent_kafka`."""

from __future__ import annotations

import sys

from barnabas.compat import confluent_kafka

# Before the module with the works looks for the real one.
sys.modules["confluent_kafka"] = confluent_kafka

from bench.clients.confluent import WORKS  # noqa: E402

__all__ = ["WORKS"]

"""Messages of magic 0 and 1."""

from barnabas.compat.kafka_engine.wire.legacy_records import *  # noqa: F403

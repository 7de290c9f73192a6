"""Record batches of magic 2, and what is in them."""

from barnabas.compat.kafka_engine.wire.default_records import *  # noqa: F403

"""What batches of records, and the records in them, have in common in all formats of messages."""

from barnabas.compat.kafka_engine.wire.record_bases import *  # noqa: F403

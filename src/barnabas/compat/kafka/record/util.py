"""Numbers of variable length, and checksums, as record batches have them."""

from barnabas.compat.kafka_engine.wire.varints import *  # noqa: F403

"""The works of pykafka on its extension around librdkafka."""

from __future__ import annotations

from functools import partial

from tests.compat.pykafka.packages import genuine

from bench.clients.pykafka import consume_iterated, produce_async, produce_sync

# Without limits of its own librdkafka takes up to 2 GB of messages in advance, and refuses them by then.
QUEUE = {"queued_max_messages": 10, "fetch_message_max_bytes": 60 * 1024 * 1024}


def is_built() -> bool:
    """Whether librdkafka's headers were there when pykafka was installed."""
    return any((genuine() / "pykafka" / "rdkafka").glob("_rd_kafka*.so"))


WORKS = {
    "consume/pykafka": partial(consume_iterated, use_rdkafka=True, **QUEUE),
    "produce/pykafka": partial(produce_async, use_rdkafka=True),
    "produce/pykafka_sync": partial(produce_sync, use_rdkafka=True),
}

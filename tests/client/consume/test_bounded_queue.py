"""What a consumer fetches ahead is bounded by queued_max_bytes; a larger record comes nevertheless."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from barnabas import Consumer, Producer

pytestmark = pytest.mark.integration
QUEUED_MAX_BYTES = 200_000


@pytest.fixture
def filled(broker: Any, make_topic: Callable[..., str]) -> str:
    """A topic with 3 MB, in batches of 20 kB."""
    topic = make_topic(broker)
    with Producer(broker.bootstrap, batch_size=20_000, compression="none") as producer:
        for number in range(3_000):
            producer.send(topic, b"%d" % number + bytes(1_000))
    return topic


def test_a_small_queue_bounds_what_a_request_asks_for(broker: Any, filled: str) -> None:
    settings = {"queued_max_bytes": QUEUED_MAX_BYTES, "max_poll_records": 1}
    with Consumer(broker.bootstrap, topics=[filled], auto_offset_reset="earliest", **settings) as consumer:
        most = read = 0
        while read < 3_000:
            read += len(consumer.poll(timeout=30, max_records=1 if read < 100 else 100))
            most = max(most, consumer.stats().queued_bytes)
    # A batch that is only begun counts as a whole.
    assert 0 < most < 2 * QUEUED_MAX_BYTES


def test_a_record_that_is_larger_than_the_queue_comes_nevertheless(
    broker: Any, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(broker)
    values = [bytes(10), bytes(700_000), bytes(20), bytes(600_000), bytes(30)]
    with Producer(broker.bootstrap, compression="none") as producer:
        for value in values:
            producer.send(topic, value).result(60)
    settings = {"queued_max_bytes": 50_000, "max_partition_fetch_bytes": 1_000}
    with Consumer(broker.bootstrap, topics=[topic], auto_offset_reset="earliest", **settings) as consumer:
        read: list[Any] = []
        while len(read) < len(values):
            read += consumer.poll(timeout=30)
    assert [record.value for record in read] == values

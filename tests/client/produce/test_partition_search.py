from __future__ import annotations

import asyncio
from typing import Any

import pyarrow
import pytest
from tests.waiting import NEVER_MS, NEVER_SECONDS

from barnabas import Producer, aio
from barnabas.client.produce import partition_search
from barnabas.errors import NoSuchPartitionError, UnusableRecordError


@pytest.fixture
def _short_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_search, "NEW_PARTITION_SECONDS", 0.5)


def rows(*partitions: int) -> pyarrow.Table:
    return pyarrow.table({"value": [b"%d" % p for p in partitions], "partition": list(partitions)})


def test_a_record_waits_for_a_partition_that_is_about_to_be_added(broker: Any, make_topic: Any) -> None:
    topic = make_topic(broker, partitions=1)

    async def main() -> None:
        async with aio.Producer(broker.bootstrap) as producer, aio.Admin(broker.bootstrap) as admin:
            await (await producer.send(topic, b"v"))
            sending = [
                asyncio.ensure_future(producer.send(topic, b"v", partition=2)),
                asyncio.ensure_future(producer.send_arrow(topic, rows(0, 2, 1))),
            ]
            # Both have asked by then, and were told of one partition.
            done, _ = await asyncio.wait(sending, timeout=1)
            assert not done
            await admin.create_partitions({topic: 3})
            record, table = await asyncio.gather(*sending)
            assert (await record).partition == 2
            assert await table == 3

    asyncio.run(main())


@pytest.mark.usefixtures("_short_search")
def test_a_partition_that_nobody_adds_is_refused_by_name(broker: Any, make_topic: Any) -> None:
    topic = make_topic(broker, partitions=2)
    reason = f"topic {topic} has no partition 7; its partitions are 0 to 1"

    async def main() -> None:
        async with aio.Producer(broker.bootstrap) as producer:
            with pytest.raises(NoSuchPartitionError, match=f"^{reason}$"):
                await producer.send(topic, b"v", partition=7)
            with pytest.raises(NoSuchPartitionError, match=f"^row 1: {reason}$"):
                await producer.send_arrow(topic, rows(0, 7))

    asyncio.run(main())
    with Producer(broker.bootstrap) as producer:
        with pytest.raises(NoSuchPartitionError, match=f"^{reason}$"):
            producer.send(topic, b"v", partition=7)
        with pytest.raises(NoSuchPartitionError, match=f"^row 0: {reason}$"):
            producer.send_arrow(topic, rows(7, 0))


def test_what_can_be_no_record_of_any_topic_is_refused_at_once(
    broker: Any, make_topic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One that was searched for would be searched for until the test is ended.
    monkeypatch.setattr(partition_search, "NEW_PARTITION_SECONDS", NEVER_SECONDS)
    topic = make_topic(broker)
    old = pyarrow.table({"value": [b"v"], "timestamp": [-5]})

    async def main() -> None:
        async with aio.Producer(broker.bootstrap, max_block_ms=NEVER_MS) as producer:
            await (await producer.send(topic, b"v"))
            with pytest.raises(UnusableRecordError, match="timestamp -5 ms is before 1970"):
                await producer.send(topic, b"v", timestamp=-5)
            with pytest.raises(UnusableRecordError, match="row 0: timestamp -5 ms is before 1970"):
                await producer.send_arrow(topic, old)
            with pytest.raises(UnusableRecordError, match="has no partition -1"):
                await producer.send(topic, b"v", partition=-1)

    asyncio.run(main())
    with Producer(broker.bootstrap) as producer:
        producer.send(topic, b"v").result(30)
        with pytest.raises(UnusableRecordError, match="timestamp -5 ms is before 1970"):
            producer.send(topic, b"v", timestamp=-5)
        with pytest.raises(UnusableRecordError, match="no column value"):
            producer.send_arrow(topic, pyarrow.table({"key": [b"k"]}))

"""What one wake of a producer's sender costs, by the number of partitions whose records linger, or are under
way.

    python -m bench.sender_wakes [--json]

Needs no broker: nothing is due, so nothing is sent. It should be the same whatever their number.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time

from barnabas import aio

PARTITIONS = (1, 100, 1_000, 10_000)
WAKES = 101


async def microseconds_a_wake(partition_count: int, *, are_under_way: bool) -> float:
    """The median. Calls the sender as its event loop does."""
    producer = aio.Producer("127.0.0.1:9", linger_ms=600_000, batch_size=1_000)
    producer.accumulator.set_partition_count("topic", partition_count)
    for partition in range(partition_count):
        producer.accumulator.append("topic", partition, None, b"value", None, None)
    sender = producer._sender
    if are_under_way:
        sender.identity.use(1, 0)
        sender._close_batches()
        for queue in sender.queues():
            queue.set_producer_id(1, 0)
            queue.sent(queue.waiting[0])
    seconds: list[float] = []
    for _ in range(WAKES):
        began_at = time.perf_counter()
        sender._cycle()
        seconds.append(time.perf_counter() - began_at)
    await producer.close(0)
    return statistics.median(seconds) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sender_wakes", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures for a script")
    arguments = parser.parse_args()
    figures = {
        what: {
            count: asyncio.run(microseconds_a_wake(count, are_under_way=what == "under way"))
            for count in PARTITIONS
        }
        for what in ("linger", "under way")
    }
    if arguments.json:
        print(json.dumps(figures))
        return
    for what, by_count in figures.items():
        for count, microseconds in by_count.items():
            print(f"{count:>6} partitions, {what}: {microseconds:8.1f} us a wake")


if __name__ == "__main__":
    main()

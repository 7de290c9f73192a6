"""The memory of a process that consumes on and on: `python -m bench.memory BOOTSTRAP TOPIC`.

Reads the topic again and again, as a list of records a call. Prints JSON: bytes resident in the million
records after the first, during which the consumer's queue fills up, and in the last million, each the mean of
what was found after every call: one answer more or less may be on its way at any moment.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from statistics import mean

from barnabas import Consumer, TopicPartition
from bench.works import PARTITIONS

WINDOW_RECORDS = 1_000_000
ALL_RECORDS = 20_000_000


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    bootstrap, topic = sys.argv[1:]
    partitions = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    second: list[int] = []
    last: list[int] = []
    with Consumer(bootstrap) as consumer:
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        consumer.seek_to_beginning(*partitions)
        count = 0
        while count < ALL_RECORDS:
            count += len(consumer.poll(timeout=1.0, max_records=10_000))
            if WINDOW_RECORDS < count <= 2 * WINDOW_RECORDS:
                second.append(resident_bytes())
            elif count > ALL_RECORDS - WINDOW_RECORDS:
                last.append(resident_bytes())
            for partition in partitions:
                if consumer.position(partition) == ends[partition]:
                    consumer.seek_to_beginning(partition)
    figures = {"second_million_bytes": mean(second), "last_million_bytes": mean(last)}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()

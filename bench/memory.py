"""The memory of a process that consumes on and on: `python -m bench.memory BOOTSTRAP TOPIC`.

Reads the topic again and again, as a list of records a call. Prints JSON: bytes resident after the first
million records and after all of them.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from barnabas import Consumer, TopicPartition
from bench.works import PARTITIONS

FIRST_RECORDS = 1_000_000
ALL_RECORDS = 20_000_000


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    bootstrap, topic = sys.argv[1:]
    partitions = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    figures: dict[str, int] = {}
    with Consumer(bootstrap) as consumer:
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        consumer.seek_to_beginning(*partitions)
        count = 0
        while count < ALL_RECORDS:
            count += len(consumer.poll(timeout=1.0, max_records=10_000))
            if "after_first_bytes" not in figures and count >= FIRST_RECORDS:
                figures["after_first_bytes"] = resident_bytes()
            for partition in partitions:
                if consumer.position(partition) == ends[partition]:
                    consumer.seek_to_beginning(partition)
        figures["after_all_bytes"] = resident_bytes()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()

"""A process that handles records in parallel and notes each one in a file; for tests that kill it.

python parallel_member.py BOOTSTRAP GROUP TOPIC FILE PROTOCOL
"""

from __future__ import annotations

import os
import random
import sys
import time
from typing import Any

from barnabas import ParallelConsumer, Record


def main(bootstrap: str, group: str, topic: str, path: str, protocol: str) -> None:
    notes = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def handle(record: Record) -> None:
        time.sleep(random.random() * 0.004)
        key = b"" if record.key is None else record.key
        os.write(notes, b"%d %d %s\n" % (record.partition, record.offset, key))

    settings: Any = {"group_protocol": protocol}
    if protocol == "classic":
        settings |= {"heartbeat_interval_ms": 200, "session_timeout_ms": 1500}
    with ParallelConsumer(
        bootstrap,
        handle,
        group_id=group,
        topics=[topic],
        max_concurrency=8,
        auto_offset_reset="earliest",
        auto_commit_interval_ms=50,
        max_poll_records=50,
        **settings,
    ) as consumer:
        consumer.run()


if __name__ == "__main__":
    main(*sys.argv[1:])

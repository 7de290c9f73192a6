"""A process that is a member of a group and notes what happens to it in a file; for tests that kill it.

    python group_member.py BOOTSTRAP GROUP TOPIC FILE SETTINGS-AS-JSON

Each line is a time (of the machine's monotonic clock), an event and what belongs to it: "up" once it may be
seen by the group, "generation" and who it is there whenever that changes, which also comes first where
partitions change hands. SIGTERM has it close.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

from barnabas import Consumer, TopicPartition
from barnabas.errors import BrokerError, KafkaTimeoutError
from barnabas.types import GroupIdentity


def main(bootstrap: str, group: str, topic: str, path: str, settings: str) -> None:
    notes = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    is_done = False
    known: GroupIdentity | None = None

    def note(event: str, *details: Any) -> None:
        os.write(notes, (" ".join(map(str, (time.monotonic(), event, *details))) + "\n").encode())

    def note_generation() -> None:
        nonlocal known
        identity = consumer.group_metadata()
        if identity != known:
            known = identity
            note("generation", identity.generation, identity.member_id or "nobody")

    def note_partitions(event: str, partitions: list[TopicPartition]) -> None:
        note_generation()
        note(event, *(partition.partition for partition in partitions))

    def finish(*_: Any) -> None:
        nonlocal is_done
        is_done = True

    signal.signal(signal.SIGTERM, finish)
    consumer = Consumer(bootstrap, group_id=group, **json.loads(settings))
    consumer.subscribe(
        [topic],
        on_assigned=lambda partitions: note_partitions("assigned", partitions),
        on_revoked=lambda partitions: note_partitions("revoked", partitions),
        on_lost=lambda partitions: note_partitions("lost", partitions),
    )
    note("up")
    with consumer:
        while not is_done:
            records = consumer.poll(0.05)
            note_generation()
            for record in records:
                note("read", record.partition, record.offset)
            if records:
                try:
                    consumer.commit()
                except BrokerError as error:
                    note("refused", error.name)
                except KafkaTimeoutError:
                    # It was frozen for longer than a commit may take.
                    note("unanswered")
    note("closed")


if __name__ == "__main__":
    main(*sys.argv[1:])

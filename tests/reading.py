"""Reading a known number of records with a Consumer."""

from __future__ import annotations

from tests.waiting import Patience

from barnabas import Consumer, Record


def read(consumer: Consumer, count: int) -> list[Record]:
    """The next `count` records. Fails when they do not come."""
    patience = Patience()
    records: list[Record] = []
    while len(records) < count:
        patience.check(f"{len(records)} of {count} records came")
        records += consumer.poll(0.2, count - len(records))
    return records

"""The works that are measured, and which client does each of them.

A work is named `kind/way`, such as `consume/list`. Each client's module has a function for each of its works,
which takes a `Task` and returns the seconds that it took. Knows nothing of how the runs are arranged.
"""

from __future__ import annotations

from dataclasses import dataclass

PARTITIONS = 2
VALUE_BYTES = 100


@dataclass(frozen=True)
class Task:
    """One measurement: move `records` records of `topic`."""

    bootstrap: str
    topic: str
    records: int


@dataclass(frozen=True)
class Work:
    name: str
    title: str
    share_of_records: dict[str, float]
    """For each client that does this work, the share of the records it is given: slow ones get fewer, so that
    all of them run for seconds, not minutes."""


WORKS = [
    Work(
        "consume/list",
        "consume, a list a call",
        {"barnabas": 1, "confluent-kafka": 1, "aiokafka": 0.5, "kafka-python": 0.1},
    ),
    Work(
        "consume/one",
        "consume, one by one",
        {"barnabas": 1, "confluent-kafka": 0.5, "aiokafka": 0.25, "kafka-python": 0.1},
    ),
    Work("consume/arrow", "consume, Arrow columns", {"barnabas": 1}),
    Work(
        "produce/plain",
        "produce, no callback",
        {"barnabas": 1, "confluent-kafka": 0.5, "aiokafka": 0.1, "kafka-python": 0.02},
    ),
    Work(
        "produce/callback",
        "produce, a callback each",
        {"barnabas": 0.5, "confluent-kafka": 0.5, "aiokafka": 0.1, "kafka-python": 0.02},
    ),
    Work("produce/arrow", "produce, Arrow columns", {"barnabas": 1}),
    Work("spark/read", "Spark batch read", {"barnabas": 1, "spark-jvm": 1}),
    Work("spark/stream", "Spark streaming read, availableNow", {"barnabas": 1, "spark-jvm": 1}),
    Work("spark/write", "Spark batch write", {"barnabas": 0.5, "spark-jvm": 0.5}),
]

ARROW_COMPARED_WITH = {"consume/arrow": "consume/list", "produce/arrow": "produce/plain"}
"""No other client has Arrow columns: their best way of any kind stands in."""


def values() -> list[bytes]:
    """A thousand different values of VALUE_BYTES."""
    return [f"{number:06d}".encode() + b"x" * (VALUE_BYTES - 6) for number in range(1000)]


def keys() -> list[bytes]:
    return [f"k{number}".encode() for number in range(1000)]

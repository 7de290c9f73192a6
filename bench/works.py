"""The works that are measured, who does each of them, and what is wanted of ours.

A work is named `kind/way`, such as `consume/list`. Each client's module has a function for each of its works,
which takes a `Task` and returns a `Measure`. Knows nothing of how the runs are arranged.
"""

from __future__ import annotations

import random
import string
import time
from dataclasses import dataclass, field
from functools import cache

from bench.page_cache import fill_page_cache

PARTITIONS = 2
VALUE_BYTES = 100
VALUE_COUNT = 10_000
OURS = "barnabas"
FACADE = "barnabas, as confluent_kafka"
KAFKA_FACADE = "barnabas, as kafka-python"
PYKAFKA_FACADE = "barnabas, as pykafka"
OWN = (OURS, FACADE, KAFKA_FACADE, PYKAFKA_FACADE)
PEER = "confluent-kafka"
KAFKA_PEER = "kafka-python"
PYKAFKA_PEER = "pykafka"
PYKAFKA_RDKAFKA = "pykafka, use_rdkafka=True"
"""Where its extension was built: librdkafka's headers were there when it was installed."""
PEER_AS_IT_COMES = "confluent-kafka, defaults"
"""With the settings it has by itself; the limits are to be held against the tuned one."""
LIMIT = "raw"
"""No client, but the least that any has to do: requests and answers, and nothing made of them."""
ARROW_TURNS = 2
"""What takes less than a second hits one moment of a machine that others use, too."""


@dataclass(frozen=True)
class Task:
    """One measurement: move `records` records of `topic`, in batches compressed as `compression`."""

    bootstrap: str
    topic: str
    records: int
    compression: str


@dataclass(frozen=True)
class Measure:
    """What one measurement gave. A start-up, up to the first record, is not in it."""

    records: int
    seconds: float
    cpu_seconds: float

    @property
    def rate(self) -> float:
        return self.records / self.seconds

    @property
    def cpu_seconds_per_million(self) -> float:
        return self.cpu_seconds / self.records * 1_000_000


class Stopwatch:
    """Measures from `start` to `stop`, the CPU time of all threads of the process as well."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self._cpu_began = time.process_time()
        self._began = time.perf_counter()

    def stop(self, records: int) -> Measure:
        return Measure(records, time.perf_counter() - self._began, time.process_time() - self._cpu_began)


def is_writing(work: str) -> bool:
    return work.startswith("produce/")


def stopwatch_of_writing() -> Stopwatch:
    """Begins with memory full again, of which a process that starts has some freed."""
    fill_page_cache()
    return Stopwatch()


@dataclass(frozen=True)
class Work:
    name: str
    title: str
    share_of_records: dict[str, float]
    """For each client that does this work, the share of the records it is given: slow ones get fewer, so that
    all of them run for seconds, not minutes."""
    compared_with: str = ""
    """The work of the peer that ours is compared with: its best, where it has no such way."""
    peer: str = PEER
    least_ratio: float = 0
    """To the peer's rate."""
    least_with_codec: dict[str, float] = field(default_factory=dict[str, float])
    """The same where the records are compressed so: what decompresses for both leaves less to gain."""
    least_share_of_limit: float = 0
    turns: int = 1
    """How many times it is measured where others are once."""

    @property
    def peer_work(self) -> str:
        return self.compared_with or self.name

    def least_ratio_of(self, codec: str) -> float:
        return self.least_with_codec.get(codec, self.least_ratio)


CORE_WORKS = [
    Work(
        "consume/list",
        "consume, a list a call",
        {OURS: 4, PEER: 0.5, PEER_AS_IT_COMES: 0.5, "aiokafka": 0.25, "kafka-python": 0.05},
        least_ratio=8,
        least_with_codec={"lz4": 6, "zstd": 4.5},
    ),
    Work(
        "consume/one",
        "consume, one by one",
        {OURS: 4, PEER: 0.5, PEER_AS_IT_COMES: 0.5, "aiokafka": 0.1, "kafka-python": 0.05},
        least_ratio=8,
        least_with_codec={"lz4": 5.5, "zstd": 5.5},
    ),
    Work(
        "consume/arrow",
        "consume, Arrow",
        {OURS: 4, LIMIT: 4},
        compared_with="consume/list",
        least_ratio=15,
        least_with_codec={"lz4": 14, "zstd": 9},
        least_share_of_limit=0.65,
        turns=ARROW_TURNS,
    ),
    Work(
        "produce/plain",
        "produce, no callback",
        {OURS: 1, PEER: 0.5, "aiokafka": 0.05, "kafka-python": 0.01},
        least_ratio=2.2,
        least_with_codec={"zstd": 1.8},
    ),
    Work(
        "produce/callback",
        "produce, a callback each",
        {OURS: 1, PEER: 0.5, "aiokafka": 0.05, "kafka-python": 0.01},
        least_ratio=3,
        least_with_codec={"lz4": 2.5, "zstd": 2.2},
    ),
    Work(
        "produce/arrow",
        "produce, Arrow",
        {OURS: 1, LIMIT: 1},
        compared_with="produce/plain",
        least_ratio=4,
        least_with_codec={"zstd": 3},
        least_share_of_limit=0.8,
        turns=ARROW_TURNS,
    ),
]

START = "start/first"
# The same code on confluent-kafka, or on kafka-python, and on ours.
COMPAT_WORKS = [
    Work("consume/list", "consume(), a list a call", {FACADE: 4, PEER: 0.5}, least_ratio=5),
    Work("consume/one", "poll(), one by one", {FACADE: 4, PEER: 0.5}, least_ratio=4.5),
    Work("produce/plain", "produce(), no callback", {FACADE: 1, PEER: 0.5}, least_ratio=2),
    Work("produce/callback", "produce(), a callback each", {FACADE: 1, PEER: 0.5}, least_ratio=2),
    Work(
        "consume/iterated",
        "kafka: for message in consumer",
        {KAFKA_FACADE: 2, KAFKA_PEER: 0.1},
        peer=KAFKA_PEER,
        least_ratio=20,
    ),
    Work(
        "consume/polled",
        "kafka: poll(max_records=500)",
        {KAFKA_FACADE: 2, KAFKA_PEER: 0.1},
        peer=KAFKA_PEER,
        least_ratio=30,
    ),
    Work(
        "produce/sent",
        "kafka: send(), no callback",
        {KAFKA_FACADE: 1, KAFKA_PEER: 0.05},
        peer=KAFKA_PEER,
        least_ratio=20,
    ),
    Work(
        "produce/called_back",
        "kafka: send(), add_callback each",
        {KAFKA_FACADE: 1, KAFKA_PEER: 0.05},
        peer=KAFKA_PEER,
        least_ratio=15,
    ),
    Work(
        START,
        "kafka: import and first message",
        {KAFKA_FACADE: 0, KAFKA_PEER: 0},
        peer=KAFKA_PEER,
        least_ratio=1,
    ),
]

OLD_KAFKA = "2.8.2"
"""Of the time of pykafka, whose requests those of today do not know."""
# The same code on pykafka and on ours.
PYKAFKA_WORKS = [
    Work(
        "consume/pykafka",
        "pykafka: for message in consumer",
        {PYKAFKA_FACADE: 1, PYKAFKA_PEER: 0.05, PYKAFKA_RDKAFKA: 0.2},
        peer=PYKAFKA_PEER,
        least_ratio=20,
    ),
    Work(
        "produce/pykafka",
        "pykafka: produce()",
        {PYKAFKA_FACADE: 1, PYKAFKA_PEER: 0.05, PYKAFKA_RDKAFKA: 0.2},
        peer=PYKAFKA_PEER,
        least_ratio=15,
    ),
    Work(
        "produce/pykafka_sync",
        "pykafka: produce(), sync=True",
        {PYKAFKA_FACADE: 0.002, PYKAFKA_PEER: 0.001, PYKAFKA_RDKAFKA: 0.001},
        peer=PYKAFKA_PEER,
        least_ratio=1,
    ),
]


@dataclass(frozen=True)
class SerializerWork:
    """Values by a registry's schemas, beside what the peer has for that, one value a call."""

    title: str
    least_ratio: float
    """To the peer's rate."""
    compared_with: str = PEER


COLUMNS_WORK = "columns/avro"
CONSUMER_WORK = "consume/avro"
SERIALIZER_WORKS = {
    "serialize/avro": SerializerWork("serialize, avro, one value a call, the facade", 5),
    "deserialize/avro": SerializerWork("deserialize, avro, one value a call, the facade", 10),
    "serialize/json": SerializerWork("serialize, json, one value a call, the facade", 30),
    "deserialize/json": SerializerWork("deserialize, json, one value a call, the facade", 30),
    "serialize/protobuf": SerializerWork("serialize, protobuf, one value a call, the facade", 4),
    "deserialize/protobuf": SerializerWork("deserialize, protobuf, one value a call, the facade", 6),
    "serialize/avro, native": SerializerWork("serialize, avro, one value a call, barnabas.registry", 5.5),
    "deserialize/avro, native": SerializerWork("deserialize, avro, one value a call, barnabas.registry", 10),
    "serialize/json, native": SerializerWork("serialize, json, one value a call, barnabas.registry", 30),
    "deserialize/json, native": SerializerWork("deserialize, json, one value a call, barnabas.registry", 30),
    "serialize/protobuf, native": SerializerWork(
        "serialize, protobuf, one value a call, barnabas.registry", 4
    ),
    "deserialize/protobuf, native": SerializerWork(
        "deserialize, protobuf, one value a call, barnabas.registry", 6
    ),
    "serialize/avro, asyncio": SerializerWork("serialize, avro, one value a call, the facade for asyncio", 5),
    "deserialize/avro, asyncio": SerializerWork(
        "deserialize, avro, one value a call, the facade for asyncio", 10
    ),
    COLUMNS_WORK: SerializerWork(
        "Avro by registry to Arrow columns, poll_arrow from Kafka",
        20,
        f"{PEER}'s AvroDeserializer, one message a call",
    ),
    CONSUMER_WORK: SerializerWork("DeserializingConsumer, Avro, the facade, poll() from Kafka", 8),
}


@cache
def values() -> list[bytes]:
    """Different values of VALUE_BYTES: letters by chance, which a codec makes about a quarter smaller; and
    smaller by a half where it sees them come again, as nearly all do in a full batch of two partitions."""
    chance = random.Random(1)
    letters = string.ascii_letters + string.digits
    return [
        f"{number:06d}".encode() + "".join(chance.choices(letters, k=VALUE_BYTES - 6)).encode()
        for number in range(VALUE_COUNT)
    ]


@cache
def keys() -> list[bytes]:
    return [f"k{number}".encode() for number in range(VALUE_COUNT)]

"""Holds two source trees of ours against each other, in pairs of runs on one broker: how fast each consumes
in bulk, on an event loop, with enable_partition_eof, over SASL and over TLS.

    python -m bench.trees OTHER/src src
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from barnabas import Consumer, Producer, TopicPartition, aio
from barnabas.testing import ApacheKafka, SecureListeners
from bench.broker import KAFKA_JAVA_OPTIONS, KAFKA_SETTINGS

TOPIC = "records"
PARTITIONS = 4
VALUE_BYTES = 1000
WAYS = ("PLAINTEXT", "PLAINTEXT, asyncio", "PLAINTEXT, partition EOF", "SASL_PLAINTEXT", "SSL")
LOGIN = {"sasl_mechanism": "PLAIN", "sasl_username": "admin", "sasl_password": "admin-secret"}


def settings_of(way: str, certificates: str) -> dict[str, object]:
    protocol, _, rest = way.partition(", ")
    settings: dict[str, object] = {
        "security_protocol": protocol,
        "enable_partition_eof": rest == "partition EOF",
    }
    if protocol.startswith("SASL"):
        settings |= LOGIN
    if protocol.endswith("SSL"):
        settings["ssl_truststore_location"] = certificates
    return settings


def consume(bootstrap: str, records: int, way: str, certificates: str, takes: str) -> float:
    """Records per second, from the first on."""
    if way.endswith("asyncio"):
        return asyncio.run(consume_on_a_loop(bootstrap, records, takes))
    settings = settings_of(way, certificates)
    partitions = [TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)]
    with Consumer(bootstrap, **settings) as consumer:  # pyright: ignore[reportArgumentType]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        first = count = len(consumer.poll(timeout=30, max_records=1))
        began = time.perf_counter()
        if takes == "arrow":
            while count < records:
                count += consumer.poll_arrow(timeout=1).num_rows
        else:
            while count < records:
                count += len(consumer.poll(timeout=1, max_records=10_000))
        return (count - first) / (time.perf_counter() - began)


async def consume_on_a_loop(bootstrap: str, records: int, takes: str) -> float:
    partitions = [TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)]
    async with aio.Consumer(bootstrap) as consumer:
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        first = count = len(await consumer.poll(timeout=30, max_records=1))
        began = time.perf_counter()
        if takes == "arrow":
            while count < records:
                count += (await consumer.poll_arrow(timeout=1)).num_rows
        else:
            while count < records:
                count += len(await consumer.poll(timeout=1, max_records=10_000))
        return (count - first) / (time.perf_counter() - began)


def fill(bootstrap: str, records: int) -> None:
    with Producer(bootstrap, **LOGIN, security_protocol="SASL_PLAINTEXT") as producer:
        value = os.urandom(VALUE_BYTES)
        for number in range(records):
            producer.send(TOPIC, value, partition=number % PARTITIONS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs=2, type=Path, help="folders that hold `barnabas`, the kernel with it")
    parser.add_argument("--records", type=int, default=600_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--takes", choices=("list", "arrow"), nargs="+", default=["list", "arrow"])
    parser.add_argument("--only", choices=WAYS, nargs="+", default=WAYS, help="ways")
    arguments = parser.parse_args()
    config = KAFKA_SETTINGS | {
        "num.partitions": str(PARTITIONS),
        "super.users": "User:admin;User:ANONYMOUS",
    }
    security = SecureListeners()
    with ApacheKafka(
        heap_mb=1024, config=config, java_options=KAFKA_JAVA_OPTIONS, security=security
    ) as kafka:
        fill(kafka.bootstrap_for("SASL_PLAINTEXT"), arguments.records)
        for way in arguments.only:
            for takes in arguments.takes:
                compare(kafka, way, takes, arguments.trees, arguments.records, arguments.rounds)


def compare(kafka: ApacheKafka, way: str, takes: str, trees: list[Path], records: int, rounds: int) -> None:
    rates: list[list[float]] = [[], []]
    for round_number in range(rounds + 1):
        order = (0, 1) if round_number % 2 else (1, 0)
        for place in order:
            protocol = way.partition(",")[0]
            bootstrap = kafka.bootstrap if protocol == "PLAINTEXT" else kafka.bootstrap_for(protocol)
            command = [sys.executable, "-c", WORKER, bootstrap, str(records), way, certificates(kafka), takes]
            environment = os.environ | {"PYTHONPATH": f"{trees[place].resolve()}{os.pathsep}{Path.cwd()}"}
            done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
            # The first round fills caches.
            if round_number:
                rates[place].append(float(done.stdout))
    ratios = [second / first for first, second in zip(*rates, strict=True)]
    first, second = (statistics.median(of_one) for of_one in rates)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(
        f"| {way} | {takes} | {first / 1000:,.0f} | {second / 1000:,.0f} "
        f"| {statistics.median(ratios):.2f} | {spread} |",
        flush=True,
    )


def certificates(kafka: ApacheKafka) -> str:
    return str(kafka.certificates.ca)


WORKER = (
    "import sys; from bench.trees import consume; b, n, *rest = sys.argv[1:]; "
    "print(consume(b, int(n), *rest))"
)


if __name__ == "__main__":
    main()

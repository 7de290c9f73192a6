"""One measurement in a process of its own: `python -m bench.worker CLIENT WORK BOOTSTRAP TOPIC RECORDS`.

Prints the seconds it took as the last line of its output.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module

from bench.works import Task

MODULES = {
    "barnabas": "barnabas_native",
    "confluent-kafka": "confluent",
    "aiokafka": "aio_kafka",
    "kafka-python": "kafka_python",
}
SPARK_FORMATS = {"barnabas": "barnabas", "spark-jvm": "kafka"}


def function_of(client: str, work: str) -> Callable[[Task], float]:
    if work.startswith("spark/"):
        return import_module("bench.clients.spark").works_of(SPARK_FORMATS[client])[work]
    return import_module(f"bench.clients.{MODULES[client]}").WORKS[work]


def main() -> None:
    client, work, bootstrap, topic, records = sys.argv[1:]
    print(function_of(client, work)(Task(bootstrap, topic, int(records))))


if __name__ == "__main__":
    main()

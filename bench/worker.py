"""One measurement in a process of its own, which prints a `Measure` as JSON, as the last line of its output.

python -m bench.worker CLIENT WORK BOOTSTRAP TOPIC RECORDS COMPRESSION
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from typing import Any

from bench.page_cache import fill_page_cache
from bench.works import (
    FACADE,
    KAFKA_FACADE,
    PEER_AS_IT_COMES,
    PYKAFKA_FACADE,
    PYKAFKA_PEER,
    PYKAFKA_RDKAFKA,
    Task,
    is_writing,
)

MODULES = {
    "barnabas": "barnabas_native",
    "confluent-kafka": "confluent",
    FACADE: "confluent_facade",
    PEER_AS_IT_COMES: "confluent_defaults",
    "aiokafka": "aio_kafka",
    "kafka-python": "kafka_python",
    KAFKA_FACADE: "kafka_python_facade",
    PYKAFKA_PEER: "pykafka",
    PYKAFKA_RDKAFKA: "pykafka_rdkafka",
    PYKAFKA_FACADE: "pykafka_facade",
    "raw": "raw",
}


def function_of(client: str, work: str) -> Callable[[Task], Any]:
    return import_module(f"bench.clients.{MODULES[client]}").WORKS[work]


def main() -> None:
    client, work, bootstrap, topic, records, compression = sys.argv[1:]
    function = function_of(client, work)
    if not is_writing(work):
        fill_page_cache()
    print(json.dumps(asdict(function(Task(bootstrap, topic, int(records), compression)))))


if __name__ == "__main__":
    main()

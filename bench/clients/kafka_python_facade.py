"""The works of kafka-python, the very same code, on `barnabas.compat.kafka`."""

from __future__ import annotations

from barnabas.compat import install

# Before the module with the works looks for the real one.
install("kafka")

from bench.clients.kafka_python import WORKS as WORKS_OF_KAFKA_PYTHON  # noqa: E402
from bench.clients.kafka_python import measured_starts  # noqa: E402
from bench.works import START, Measure, Task  # noqa: E402

__all__ = ["WORKS"]


def start_first(task: Task) -> Measure:
    return measured_starts(task, "from barnabas.compat import install; install('kafka')")


WORKS = {**WORKS_OF_KAFKA_PYTHON, START: start_first}

"""confluent-kafka (librdkafka) with the settings it has by itself."""

from __future__ import annotations

from bench.clients.confluent import consume_list, consume_one
from bench.works import Measure, Task


def consume_list_untuned(task: Task) -> Measure:
    return consume_list(task, {})


def consume_one_untuned(task: Task) -> Measure:
    return consume_one(task, {})


WORKS = {"consume/list": consume_list_untuned, "consume/one": consume_one_untuned}

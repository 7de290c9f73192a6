"""A program's ConsumerRebalanceListener as callbacks of the core."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

from barnabas.client.groups.subscription import RebalanceListener
from barnabas.compat.kafka_python.generations import generation
from barnabas.compat.kafka_python.values.errors import CLASSES
from barnabas.compat.kafka_python.values.structs import STRUCTS
from barnabas.types import TopicPartition

log = logging.getLogger("kafka.coordinator.consumer")


def core_listener(listener: Any, group_id: str | None) -> RebalanceListener:
    """Its methods get sets of kafka-python's TopicPartition. What they raise is logged, and, in generation 3,
    raised as a KafkaError by the call in which they ran."""
    if not listener:
        return RebalanceListener()

    def callback(name: str) -> Callable[[list[TopicPartition]], None] | None:
        method = getattr(listener, name, None)
        return None if method is None else lambda partitions: _call(method, group_id, partitions)

    return RebalanceListener(
        callback("on_partitions_assigned"),
        callback("on_partitions_revoked"),
        callback("on_partitions_lost"),
    )


def _call(method: Any, group_id: str | None, partitions: list[TopicPartition]) -> None:
    told = {STRUCTS["TopicPartition"](*partition) for partition in partitions}
    try:
        outcome = method(told)
        if inspect.iscoroutine(outcome):
            asyncio.run(outcome)
    except Exception as error:
        log.exception(
            "User provided rebalance listener %s for group %s failed %s: %s",
            getattr(method, "__self__", method),
            group_id,
            getattr(method, "__name__", method),
            told,
        )
        if generation().listeners_errors_are_raised:
            raise CLASSES["KafkaError"]("User rebalance callback throws an error") from error

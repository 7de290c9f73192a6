"""A program's ConsumerRebalanceListener as callbacks of the core."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

from barnabas.client.groups.subscription import RebalanceListener
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.values.errors import CLASSES
from barnabas.compat.kafka_engine.values.structs import STRUCTS
from barnabas.types import TopicPartition

log = logging.getLogger("kafka.coordinator.consumer")


class ToldListener:
    """`listener`: the program's. `is_eager`: whether its group gives up all partitions before each rebalance,
    of which it is told even where there are none, as kafka-python does.

    The methods get sets of kafka-python's TopicPartition. What they raise is logged, and, in generation 3,
    raised as a KafkaError by the call in which they ran."""

    def __init__(self, listener: Any, group_id: str | None, *, is_eager: bool) -> None:
        self._listener = listener
        self._group_id = group_id
        self._is_eager = is_eager
        self._was_told_of_loss = False
        self.is_silent = False
        """Nothing is told any more: in the call that ends the subscription."""

    def callbacks(self) -> RebalanceListener:
        if not self._listener:
            return RebalanceListener()
        return RebalanceListener(self._assigned, self._revoked, self._callback("on_partitions_lost"))

    def _assigned(self, partitions: list[TopicPartition]) -> None:
        if self._is_eager and not self._was_told_of_loss:
            self._call("on_partitions_revoked", [])
        self._was_told_of_loss = False
        self._call("on_partitions_assigned", partitions)

    def _revoked(self, partitions: list[TopicPartition]) -> None:
        self._was_told_of_loss = True
        self._call("on_partitions_revoked", partitions)

    def _callback(self, name: str) -> Callable[[list[TopicPartition]], None] | None:
        """None where the listener does not have that method."""
        return self._lost if hasattr(self._listener, name) else None

    def _lost(self, partitions: list[TopicPartition]) -> None:
        self._was_told_of_loss = True
        self._call("on_partitions_lost", partitions)

    def _call(self, name: str, partitions: list[TopicPartition]) -> None:
        if self.is_silent:
            return
        told = {STRUCTS["TopicPartition"](*partition) for partition in partitions}
        try:
            outcome = getattr(self._listener, name)(told)
            if inspect.iscoroutine(outcome):
                asyncio.run(outcome)
        except Exception as error:
            log.exception(
                "User provided rebalance listener %s for group %s failed %s: %s",
                *(self._listener, self._group_id, name, told),
            )
            if generation().listeners_errors_are_raised:
                raise CLASSES["KafkaError"]("User rebalance callback throws an error") from error

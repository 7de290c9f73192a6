"""What a consumer does about each error that a broker answers a request about offsets with.

Knows of consumers no more than what has them look at the cluster anew.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from typing import Any

from barnabas.compat.pykafka import exceptions
from barnabas.compat.pykafka.utils.error_handlers import raise_error

__all__ = ["RAISED", "error_handlers"]

log = logging.getLogger("pykafka.simpleconsumer")

RAISED = (exceptions.UnknownTopicOrPartition, exceptions.OffsetMetadataTooLarge)
_OF_CLUSTER = (exceptions.NotLeaderForPartition, exceptions.NotCoordinatorForGroup)
_PASSING = (
    exceptions.UnknownError,
    exceptions.RequestTimedOut,
    exceptions.GroupLoadInProgress,
    exceptions.UnknownMemberId,
    exceptions.RebalanceInProgress,
    exceptions.IllegalGeneration,
)

Handler = Callable[[Any], Any]


def error_handlers(consumer: Any) -> dict[Any, Handler]:
    """By error code. `consumer` is not kept alive."""
    consumer_of = weakref.ref(consumer)
    handlers: dict[Any, Handler] = {}
    for each in RAISED:
        handlers[each.ERROR_CODE] = _raising(each)
    for each in _OF_CLUSTER:
        handlers[each.ERROR_CODE] = _updating(each, consumer_of)
    for each in _PASSING:
        handlers[each.ERROR_CODE] = _passing(each)
    handlers[exceptions.OffsetOutOfRangeError.ERROR_CODE] = _resetting(consumer_of)
    return handlers


def _raising(error: Any) -> Handler:
    return lambda _: raise_error(error)


def _updating(error: Any, consumer_of: Callable[[], Any]) -> Handler:
    def update(_: Any) -> None:
        log.info("Updating cluster in response to %s", error.__name__)
        consumer = consumer_of()
        if consumer is not None:
            consumer._update()

    return update


def _passing(error: Any) -> Handler:
    return lambda _: log.info("Continuing in response to %s", error.__name__)


def _resetting(consumer_of: Callable[[], Any]) -> Handler:
    def reset(parts: Any) -> None:
        log.info("Resetting offsets in response to OffsetOutOfRangeError")
        consumer = consumer_of()
        if consumer is not None:
            consumer.reset_offsets([(owned.partition, consumer._auto_offset_reset) for owned, _ in parts])

    return reset

"""One partition of a topic: who has it, and which offsets there are."""

from __future__ import annotations

import datetime as dt
import logging
import time
import weakref
from typing import Any

from barnabas.compat.pykafka.common import EPOCH, OffsetType
from barnabas.compat.pykafka.exceptions import LeaderNotFoundError
from barnabas.compat.pykafka.protocol import PartitionOffsetRequest

__all__ = ["Partition"]

log = logging.getLogger("pykafka.partition")


class Partition:
    """A partition, which keeps no topic alive. `leader`, and those in `replicas` and `isr`, are Brokers."""

    def __init__(self, topic: Any, id_: int, leader: Any, replicas: Any, isr: Any) -> None:
        self._id = id_
        self._leader = leader
        self._replicas = replicas
        self._isr = isr
        self._topic = weakref.ref(topic)

    def __repr__(self) -> str:
        cls = type(self)
        return f"<{cls.__module__}.{cls.__name__} at {hex(id(self))} (id={self._id})>"

    def __lt__(self, other: Any) -> bool:
        return self._id < other._id

    @property
    def id(self) -> int:
        return self._id

    @property
    def leader(self) -> Any:
        return self._leader

    @property
    def replicas(self) -> Any:
        """The brokers that have it."""
        return self._replicas

    @property
    def isr(self) -> Any:
        """The brokers that have all of it."""
        return self._isr

    @property
    def topic(self) -> Any:
        """None once nobody else knows it any more."""
        return self._topic()

    def fetch_offset_limit(self, offsets_before: Any, max_offsets: int = 1) -> Any:
        """Offsets from before a time, in milliseconds or a datetime of UTC, or those of an OffsetType; asked
        for several times while there is none, and None then."""
        offsets_before = milliseconds_of(offsets_before)
        topic = self.topic
        request = PartitionOffsetRequest(topic.name, self.id, offsets_before, max_offsets)
        for attempt in range(topic._cluster._max_connection_retries):
            if attempt > 0:
                log.debug("Retrying offset limit fetch")
            time.sleep(attempt * 2)
            limits = self._leader.request_offset_limits([request]).topics[topic.name][self._id].offset
            if limits:
                return limits
        return None

    def latest_available_offset(self) -> int:
        """Of the next message."""
        return self.fetch_offset_limit(OffsetType.LATEST)[0]

    def earliest_available_offset(self) -> int:
        return self.fetch_offset_limit(OffsetType.EARLIEST)[0]

    def __hash__(self) -> int:
        return hash((self.topic, self.id))

    def __eq__(self, other: object) -> bool:
        return hash(self) == hash(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def update(self, brokers: Any, metadata: Any) -> None:
        """As a PartitionMetadata has it. `brokers`: by their ids. Raises: LeaderNotFoundError."""
        try:
            if metadata.leader != self._leader.id:
                log.info(
                    "Updating leader for %s from broker %s to broker %s",
                    self,
                    self._leader.id,
                    metadata.leader,
                )
            self._leader = brokers[metadata.leader]
            if _ids(self._replicas) != sorted(metadata.replicas):
                log.info("Updating replicas list for %s", self)
            self._replicas = [brokers[each] for each in metadata.replicas]
            if _ids(self._isr) != sorted(metadata.isr):
                log.info("Updating in sync replicas list for %s", self)
            self._isr = [brokers[each] for each in metadata.isr]
        except KeyError:
            raise LeaderNotFoundError(
                "Replica for partition %s not available. This is probably because none of its replicas are "
                "available.",
                self.id,
            ) from None


def _ids(brokers: Any) -> list[int]:
    return sorted(each.id for each in brokers)


def milliseconds_of(time_or_offset: Any) -> int:
    """Since 1970, of a datetime of UTC; a number is itself."""
    if isinstance(time_or_offset, dt.datetime):
        return round((time_or_offset - EPOCH).total_seconds() * 1000)
    return time_or_offset

"""How many bytes a record of a partition takes on the brokers' disks, on average.

Spark counts rows and not bytes, so a rate in bytes is one in rows times this. Must not know Spark.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, cast

from barnabas.broker_errors import ClusterAuthorizationFailedError
from barnabas.errors import BarnabasError
from barnabas.types import TopicPartition

if TYPE_CHECKING:
    from barnabas.settings.keywords import CommonSettings

ASK_AGAIN_SECONDS = 60.0
API_TIMEOUT_SECONDS = 5.0


class RecordSizes:
    """Asks when a partition is new, and otherwise once a minute at most. A cluster that does not answer, or
    does not allow it, is asked again as seldom: there are no sizes until it does."""

    def __init__(self, bootstrap_servers: str, settings: Mapping[str, object]) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._settings = settings
        self._sizes: dict[TopicPartition, float] = {}
        self._asked_for: set[TopicPartition] = set()
        self._asked_at = 0.0
        self.problem: str | None = None
        """Why there are no sizes."""

    def of(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, float]:
        """Without partitions that are empty."""
        now = time.monotonic()
        if not self._asked_for.issuperset(partitions) or now - self._asked_at > ASK_AGAIN_SECONDS:
            self._asked_for.update(partitions)
            self._asked_at = now
            try:
                self._sizes = self._ask(self._asked_for)
                self.problem = None
            except ClusterAuthorizationFailedError as error:
                self.problem = f"{error}: bytes need the right to describe the cluster"
            except BarnabasError as error:
                self.problem = str(error)
        return self._sizes

    def _ask(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, float]:
        from barnabas.sync.admin import Admin

        timeout = API_TIMEOUT_SECONDS
        with Admin(self._bootstrap_servers, **cast("CommonSettings", self._settings)) as admin:
            topics = set(admin.list_topics(timeout=timeout))
            wanted = [partition for partition in partitions if partition.topic in topics]
            earliest = admin.list_offsets(dict.fromkeys(wanted, "earliest"), timeout=timeout)
            latest = admin.list_offsets(dict.fromkeys(wanted, "latest"), timeout=timeout)
            folders = admin.describe_log_dirs(timeout=timeout)
        # Replicas that lag behind hold less, so the greatest is the leader's or as good.
        bytes_held: dict[TopicPartition, int] = {}
        for of_node in folders.values():
            for folder in of_node.values():
                for partition, replica in folder.replicas.items():
                    bytes_held[partition] = max(bytes_held.get(partition, 0), replica.size_bytes)
        return {
            partition: bytes_held.get(partition, 0) / held
            for partition in wanted
            if (held := latest[partition].offset - earliest[partition].offset) > 0
        }

"""A journal in a compacted topic of any Kafka, beside other registries that have the same one.

Owns who may write: claiming a term, writing in it, and noticing that it is over.
docs/design/registry-journal.md has the protocol, and why two never both write.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from barnabas.broker_errors import (
    InvalidProducerEpochError,
    MessageTooLargeError,
    OutOfOrderSequenceNumberError,
    RecordListTooLargeError,
)
from barnabas.client.admin.admin import Admin
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.errors import BarnabasError, KafkaTimeoutError, RecordTooLargeError
from barnabas.registry_server.journal.group import RegistryGroup
from barnabas.registry_server.journal.journal import (
    Apply,
    JournalError,
    JournalTimeoutError,
    NotLeaderError,
    Record,
)
from barnabas.registry_server.journal.reading import TopicReader
from barnabas.registry_server.journal.terms import NOOP_KEY, TermClaim
from barnabas.registry_server.journal.topic import ensure_topic
from barnabas.registry_server.journal.writing import PartitionWriter
from barnabas.settings.table import CommonConfig, load
from barnabas.types import TopicPartition
from barnabas.values import frozen

logger = logging.getLogger("barnabas.registry_server")

TOPIC = "_schemas"
TERM_IS_ANOTHERS = (InvalidProducerEpochError, OutOfOrderSequenceNumberError)


@frozen
class JournalSettings:
    """Confluent's names and defaults, but for `timeout_ms`: half a second, as there, is too short for a
    broker that comes back."""

    topic: str = TOPIC
    replication_factor: int = 3
    timeout_ms: int = 10_000
    """How long a write may take until it is given up."""
    init_timeout_ms: int = 60_000
    """How long the topic may take to be read from its beginning, and the group to choose."""


class KafkaJournal:
    """`client_settings`: bootstrap_servers, and what else every client of the cluster needs. `group` is
    joined by `start`, and left by `close`."""

    def __init__(
        self,
        client_settings: Mapping[str, Any],
        group: RegistryGroup,
        settings: JournalSettings | None = None,
    ) -> None:
        self._settings = settings or JournalSettings()
        self._client_settings = client_settings
        self._partition = TopicPartition(self._settings.topic, 0)
        self._group = group
        self._client = KafkaClient(load(CommonConfig, client_settings))
        self._admin = Admin(**client_settings)
        self._writer = PartitionWriter(self._client, self._partition, self._settings.timeout_ms)
        self._reader: TopicReader | None = None
        self._claim: TermClaim | None = None
        """The term in which this registry writes, if it does."""
        self._decides_in: TermClaim | None = None
        """The term that it was in when it last caught up."""

    async def start(self, apply: Apply) -> None:
        timeout_ms = self._settings.init_timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await ensure_topic(self._admin, self._settings.topic, self._settings.replication_factor)
                reader = TopicReader(self._admin, self._partition, apply)
                await reader.start(self._client_settings)
                self._reader = reader
                await reader.read_to_end()
            await self._group.start(timeout_ms)
        except TimeoutError as error:
            raise JournalTimeoutError(f"{self._partition} was not read within {timeout_ms} ms") from error
        except JournalError:
            raise
        except BarnabasError as error:
            raise JournalError(f"{self._partition} cannot be read: {error}") from error

    async def cluster_id(self) -> str:
        """Of the Kafka cluster. Raises: BarnabasError."""
        return (await self._admin.describe_cluster()).cluster_id or ""

    def leader_url(self) -> str | None:
        leader = self._group.leader
        return None if leader is None or self._group.leads else leader.url

    async def read_to_end(self) -> None:
        """Returns when all that others had written when this was called has been applied.

        Raises: JournalError.
        """
        reader = self._opened()
        try:
            async with asyncio.timeout(self._settings.timeout_ms / 1000):
                await reader.read_to_end()
        except TimeoutError as error:
            raise JournalTimeoutError(f"{self._partition} was not read in time") from error

    # Writing

    async def caught_up(self) -> None:
        try:
            async with asyncio.timeout(self._settings.timeout_ms / 1000):
                if self._claim is None:
                    await self._claim_term()
                else:
                    await self._group.confirm()
        except TimeoutError as error:
            raise JournalTimeoutError(f"no term of {self._partition} could be claimed in time") from error
        except NotLeaderError:
            self._claim = None
            raise
        self._decides_in = self._claim

    async def append(self, records: Sequence[Record]) -> None:
        claim = self._claim
        if claim is None or claim is not self._decides_in:
            raise self._not_leader("this registry does not write any more")
        reader = self._opened()
        # Unless it is known what became of the records, nothing may be decided before a new term has begun.
        self._claim = None
        try:
            offset = await self._write(claim, records)
            async with asyncio.timeout(self._settings.timeout_ms / 1000):
                await reader.read_to(offset)
        except RecordTooLargeError:
            self._claim = claim
            raise
        except TERM_IS_ANOTHERS as error:
            raise self._not_leader(f"another registry has written since: {error}") from error
        except JournalError:
            raise
        except (KafkaTimeoutError, TimeoutError) as error:
            raise JournalTimeoutError(str(error) or f"{self._partition} was not read in time") from error
        except BarnabasError as error:
            raise JournalError(f"writing to {self._partition} failed: {error}") from error
        self._claim = claim

    async def _write(self, claim: TermClaim, records: Sequence[Record]) -> int:
        """All as one batch where the topic takes one so large; the offset behind the last."""
        try:
            return await self._writer.write(claim.producer, records) + len(records)
        except (MessageTooLargeError, RecordListTooLargeError) as error:
            if len(records) == 1:
                key, value = records[0]
                size = len(key) + len(value or b"")
                raise RecordTooLargeError(f"a record of {size} bytes: {error}") from error
        half = len(records) // 2
        await self._write(claim, records[:half])
        try:
            return await self._write(claim, records[half:])
        except RecordTooLargeError as error:
            raise JournalError(f"of {len(records)} records only the first were written: {error}") from error

    async def _claim_term(self) -> None:
        """Begins a term of this registry's own, with everything applied that older ones have written.

        Raises: NotLeaderError, JournalError."""
        reader = self._opened()
        lowest = 0
        step = 1
        try:
            while True:
                await self._group.confirm(freshly=True)
                await reader.read_to_end()
                known = reader.claim
                term = max(lowest, 0 if known is None else known.term + 1)
                claim = TermClaim(term, uuid.uuid4().hex)
                try:
                    offset = await self._write_claim(claim)
                except TERM_IS_ANOTHERS:
                    # Somebody else's claim is in the log by now; or it was, and a NOOP record of Confluent's
                    # registry took its place.
                    lowest = term + step
                    step *= 2
                    continue
                await reader.read_to(offset + 1)
                if reader.claim == claim:
                    self._claim = claim
                    logger.info("%s is written by this registry: term %d", self._partition, term)
                    return
        except JournalError:
            raise
        except BarnabasError as error:
            raise JournalError(f"no term of {self._partition} could be claimed: {error}") from error

    async def _write_claim(self, claim: TermClaim) -> int:
        record: Record = (NOOP_KEY, claim.encode())
        if claim.closed_first is not None:
            await self._writer.write(claim.closed_first, [record])
        return await self._writer.write(claim.producer, [record])

    def _not_leader(self, message: str) -> NotLeaderError:
        return NotLeaderError(message, self.leader_url())

    def _opened(self) -> TopicReader:
        if self._reader is None:
            raise JournalError("the journal is not open")
        return self._reader

    async def close(self) -> None:
        self._claim = None
        await self._group.close()
        if self._reader is not None:
            await self._reader.close()
        await self._admin.close()
        await self._client.close()

"""The one way from the page to the cluster: an Admin, and what of its answers is kept between requests. What
is read of checkpoints is kept as well.

Lists ask for the figures of the rows that they show. What is about all topics is asked for in pieces, so that
no other page waits for it. Owns the clients and the task. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from barnabas import background
from barnabas.aio import Admin, Consumer, Registry
from barnabas.client.admin.types import GroupListing, LogDirDescription
from barnabas.errors import BarnabasError
from barnabas.types import TopicPartition
from barnabas.ui.figures import (
    Groups,
    Looks,
    Sizes,
    TopicFigures,
    Topics,
    groups_of,
    sizes_of,
    topic_figures,
    topics_of,
)
from barnabas.ui.groups.lag_history import LagHistory
from barnabas.ui.groups.member_counts import MemberCounts
from barnabas.ui.kept import Kept
from barnabas.ui.settings import UiSettings
from barnabas.ui.streaming.watch import QueryWatch
from barnabas.ui.succeeding import succeeded

EXPORTS_AT_ONCE = 2
"""Each may hold a file's rows in memory."""
PIECE = 500
"""Partitions of one request: decoding its answer takes some 20 ms."""


class ClusterAccess:
    """Made on the event loop that it belongs to. Raises: UnknownSettingError, InvalidSettingError."""

    def __init__(self, settings: UiSettings) -> None:
        self.settings = settings
        self.admin = Admin(**settings.client)
        self.registry = (
            None if settings.registry is None else Registry(settings.registry, **settings.registry_settings)
        )
        self.looks = Looks()
        self.exports = asyncio.Semaphore(EXPORTS_AT_ONCE)
        self.lags = LagHistory(settings.sample_seconds)
        fresh = settings.refresh_seconds
        self.topics = Kept("topics", self._ask_topics, fresh)
        self.groups = Kept("groups", self._ask_groups, fresh)
        self.sizes: Kept[Sizes] = Kept("sizes of all topics", self._ask_sizes, fresh)
        self.rates: Kept[Mapping[str, int]] = Kept("ends of all topics", self._ask_ends, fresh)
        self.member_counts = MemberCounts(self.admin, fresh)
        self.queries = QueryWatch(settings, self.ends_there)
        self._rows: dict[str, tuple[float, int | None]] = {}
        self._gone: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def problem(self) -> str | None:
        """Why what lists show is not newer, if something went wrong."""
        return self.topics.problem or self.groups.problem

    async def start(self) -> None:
        """Begins to ask; does not wait for the cluster."""
        self._task = background.start(self._watch_groups(), what="the page's watch of groups")
        self.queries.start()

    async def close(self) -> None:
        """Ends the clients, as well after a `start` that failed."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self.queries.close()
        for kept in (self.groups, self.topics, self.sizes, self.rates):
            await kept.close()
        await self.member_counts.close()
        await asyncio.gather(*self._closing)
        await self.admin.close()
        if self.registry is not None:
            await self.registry.close()

    def close_consumer(self, consumer: Consumer) -> None:
        """Closes it in a task of its own: whoever read may have been cancelled, and could await nothing."""
        task = asyncio.create_task(consumer.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def renewed(self) -> None:
        """Lists show what was before this call, as a change. Raises: BarnabasError."""
        await self.topics.renewed()
        await self.groups.renewed()

    async def figures(self, names: Iterable[str]) -> list[TopicFigures]:
        """Of these topics, those that are not there left out; asks for sizes and ends that are not known or
        old. Raises: BarnabasError."""
        topics, groups = await asyncio.gather(self.topics.get(), self.groups.get())
        found = [topics.described[name] for name in names if name in topics.described]
        now = time.time()
        self._rows = {
            name: row for name, row in self._rows.items() if now - row[0] < self.settings.refresh_seconds
        }
        unknown = [topic for topic in found if topic.name not in self._rows]
        if unknown:
            every = [TopicPartition(topic.name, p.partition) for topic in unknown for p in topic.partitions]
            led = [partition for partition in every if topics.has(partition)]
            sizes, ends = await asyncio.gather(self._sizes(topics, every), self.ends(led))
            self._saw(now, ends)
            for topic in unknown:
                size = None if sizes is None else sizes.of_topics.get(topic.name, 0)
                self._rows[topic.name] = (now, size)
        return [
            topic_figures(
                topic, self._rows.get(topic.name, (now, None))[1], self.looks.rate(topic.name), groups
            )
            for topic in found
        ]

    async def ends(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Of those that have a leader. Raises: BarnabasError."""
        found: dict[TopicPartition, int] = {}
        for begin in range(0, len(partitions), PIECE):
            piece = partitions[begin : begin + PIECE]
            listed = await succeeded(self.admin.list_offsets(dict.fromkeys(piece, "latest")))
            found |= {partition: end.offset for partition, end in listed.items()}
        return found

    async def ends_there(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """As `ends`, of partitions that may be there no more. Raises: BarnabasError."""
        topics = await self.topics.get()
        return await self.ends([partition for partition in sorted(partitions) if topics.has(partition)])

    async def sizes_of(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Empty where the brokers do not tell. Raises: BarnabasError."""
        found = await self._sizes(await self.topics.get(), partitions) if partitions else None
        return {} if found is None else found.of_partitions

    async def log_dirs_of(
        self, partitions: Sequence[TopicPartition]
    ) -> Mapping[int, Mapping[str, LogDirDescription]]:
        """The folders of those brokers that tell, with the replicas of these partitions.
        Raises: BarnabasError."""
        return await self._log_dirs(await self.topics.get(), partitions)

    async def _watch_groups(self) -> None:
        """Charts of lag go on while nobody looks."""
        while True:
            # It is told where it is shown.
            with contextlib.suppress(BarnabasError):
                await self.groups.renewed_or_raise()
            # A cluster that takes long to ask is asked more rarely.
            slower = self.groups.seconds_left - self.settings.refresh_seconds
            await asyncio.sleep(max(self.settings.sample_seconds, slower))

    async def _ask_topics(self) -> Topics:
        cluster = await self.admin.describe_cluster()
        described = await self.admin.describe_topics(internal=True, partition_limit=PIECE)
        self._gone.clear()
        return topics_of(cluster, described)

    async def _ask_groups(self) -> Groups:
        listings = await self.admin.list_groups()
        positions = await self._positions(listings)
        wanted = {partition for found in positions.values() for partition in found}
        topics = self.topics.value or await self.topics.get()
        unknown = {partition.topic for partition in wanted} - topics.described.keys() - self._gone
        if unknown:
            topics = await self.topics.renewed()
            # Groups may have committed in topics that are no more.
            self._gone |= unknown - topics.described.keys()
        now = time.time()
        ends = await self.ends([partition for partition in wanted if topics.has(partition)])
        groups = groups_of(listings, positions, ends)
        self.lags.saw(now, groups)
        return groups

    async def _ask_sizes(self) -> Sizes:
        topics = await self.topics.get()
        every = [TopicPartition(t.name, p.partition) for t in topics.described.values() for p in t.partitions]
        return await self._sizes(topics, every) or Sizes({})

    async def _ask_ends(self) -> Mapping[str, int]:
        topics = await self.topics.get()
        every = [TopicPartition(t.name, p.partition) for t in topics.described.values() for p in t.partitions]
        now = time.time()
        return self._saw(now, await self.ends([p for p in every if topics.has(p)]))

    def _saw(self, now: float, ends: Mapping[TopicPartition, int]) -> Mapping[str, int]:
        sums: dict[str, int] = defaultdict(int)
        for partition, end in ends.items():
            sums[partition.topic] += end
        self.looks.saw_ends(now, sums)
        return sums

    async def _sizes(self, topics: Topics, partitions: Sequence[TopicPartition]) -> Sizes | None:
        """None where the brokers do not tell."""
        pieces: list[Mapping[int, Mapping[str, LogDirDescription]]] = []
        try:
            # Where there are no partitions, there are folders all the same.
            for begin in range(0, len(partitions) or 1, PIECE):
                wanted = partitions[begin : begin + PIECE]
                pieces.append(await self._log_dirs(topics, wanted))
        except BarnabasError:
            # Sizes are for those who may see them, from brokers that know them.
            return None
        return sizes_of(pieces)

    async def _log_dirs(
        self, topics: Topics, partitions: Sequence[TopicPartition]
    ) -> Mapping[int, Mapping[str, LogDirDescription]]:
        # Who does not say which brokers are meant asks for the metadata of all topics.
        nodes = [node.node_id for node in topics.cluster.nodes]
        return await succeeded(self.admin.describe_log_dirs(nodes, partitions=partitions))

    async def _positions(self, groups: list[GroupListing]) -> dict[str, dict[TopicPartition, int]]:
        shared = [group.group_id for group in groups if group.type == "share"]
        others = [group.group_id for group in groups if group.type != "share"]
        found: dict[str, dict[TopicPartition, int]] = {}
        for group_id, offsets in (
            await succeeded(self.admin.list_offsets_of_groups(dict.fromkeys(others)))
        ).items():
            found[group_id] = {partition: committed.offset for partition, committed in offsets.items()}
        if shared:
            starts = await succeeded(self.admin.list_share_group_offsets(dict.fromkeys(shared)))
            for group_id, offsets in starts.items():
                found[group_id] = {p: at.start_offset for p, at in offsets.items() if at.start_offset >= 0}
        return found

"""The Admin for callers without an event loop. Owns nothing but the crossing to the loop's thread."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from barnabas.client import admin as core
from barnabas.client.admin_types import (
    ClusterDescription,
    ConfigEntry,
    ConfigResource,
    CreatedTopic,
    GroupDescription,
    GroupListing,
    ListedOffset,
    NewTopic,
    OffsetSpec,
    TopicDescription,
)
from barnabas.settings import AdminSettings
from barnabas.sync.loop import close_at_exit, loop_thread
from barnabas.types import OffsetAndMetadata, TopicPartition

T = TypeVar("T")


class Admin:
    """Creates, describes, changes and deletes what is in a cluster. Used with `with`, or closed by `close`;
    all threads may share one.

    `bootstrap_servers`: `host:port`, several separated by commas or as a sequence. `settings`: Kafka's names
    in snake_case, see `barnabas.config.AdminConfig`. Every call takes `timeout` in seconds, by default
    default_api_timeout_ms.

    One rule holds for all calls that take several items: if all succeed, the result names each of them; if
    any fails, the error of the first that failed is raised, which names it, and the others have been done.
    Every call raises: KafkaTimeoutError, BootstrapError, and the BrokerError that the broker answered.
    """

    def __init__(self, bootstrap_servers: str | Sequence[str], **settings: Unpack[AdminSettings]) -> None:
        self._thread = loop_thread()

        async def make() -> core.Admin:
            return core.Admin(bootstrap_servers, **settings)

        self._core = self._thread.run(make(), what="admin client")
        close_at_exit(self)

    def create_topics(
        self, topics: Iterable[NewTopic], *, validate_only: bool = False, timeout: float | None = None
    ) -> dict[str, CreatedTopic]:
        """Creates topics; with `validate_only`, only says whether that would work. Returns once the
        controller has them: brokers hear of it a moment later.

        Raises: TopicAlreadyExistsError, InvalidReplicationFactorError, ..."""
        return self._run(self._core.create_topics(topics, validate_only=validate_only, timeout=timeout))

    def delete_topics(self, names: Iterable[str], *, timeout: float | None = None) -> None:
        """Deletes topics with all their records. Raises: UnknownTopicOrPartitionError, ..."""
        self._run(self._core.delete_topics(names, timeout=timeout))

    def create_partitions(
        self, totals: Mapping[str, int], *, validate_only: bool = False, timeout: float | None = None
    ) -> None:
        """Raises the number of partitions of topics to the given totals. Keys then go to other partitions.

        Raises: InvalidPartitionsError (the total is not above the present number), ..."""
        self._run(self._core.create_partitions(totals, validate_only=validate_only, timeout=timeout))

    def list_topics(self, *, internal: bool = False, timeout: float | None = None) -> list[str]:
        """The names of all topics, sorted; with those that Kafka keeps for itself if `internal`."""
        return self._run(self._core.list_topics(internal=internal, timeout=timeout))

    def describe_topics(
        self, names: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> dict[str, TopicDescription]:
        """Partitions, leaders and replicas of topics; None means all topics but Kafka's own.

        Raises: UnknownTopicOrPartitionError, ..."""
        return self._run(self._core.describe_topics(names, timeout=timeout))

    def describe_cluster(self, *, timeout: float | None = None) -> ClusterDescription:
        """The brokers, and which of them is the controller."""
        return self._run(self._core.describe_cluster(timeout=timeout))

    def describe_configs(
        self, resources: Iterable[ConfigResource], *, timeout: float | None = None
    ) -> dict[ConfigResource, dict[str, ConfigEntry]]:
        """The settings of topics and brokers, by name. Raises: UnknownTopicOrPartitionError, ..."""
        return self._run(self._core.describe_configs(resources, timeout=timeout))

    def alter_configs(
        self,
        changes: Mapping[ConfigResource, Mapping[str, str | None]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Sets settings of topics and brokers; a value of None brings the default back. Settings that are not
        named stay as they are (KIP-339). Raises: InvalidConfigError, UnknownTopicOrPartitionError, ..."""
        self._run(self._core.alter_configs(changes, validate_only=validate_only, timeout=timeout))

    def delete_records(
        self, offsets: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Deletes the records below the given offsets; -1 means all there are. Gives each partition's first
        remaining offset. Raises: OffsetOutOfRangeError, PolicyViolationError (a compacted topic), ..."""
        return self._run(self._core.delete_records(offsets, timeout=timeout))

    def list_offsets(
        self, specs: Mapping[TopicPartition, OffsetSpec], *, timeout: float | None = None
    ) -> dict[TopicPartition, ListedOffset]:
        """For each partition the offset of its first record ("earliest"), the one that the next record will
        get ("latest"), that of the record with the greatest timestamp ("max_timestamp"), or of the first
        record at or after a time in milliseconds. Raises: UnknownTopicOrPartitionError, ..."""
        return self._run(self._core.list_offsets(specs, timeout=timeout))

    def list_groups(self, *, timeout: float | None = None) -> list[GroupListing]:
        """All groups of the cluster, sorted by id."""
        return self._run(self._core.list_groups(timeout=timeout))

    def describe_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, GroupDescription]:
        """State, members and assignments of groups of the classic protocol. A group that does not exist is
        described as Dead. Raises: GroupAuthorizationFailedError, ..."""
        return self._run(self._core.describe_groups(group_ids, timeout=timeout))

    def list_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """The committed offsets of a group, of all partitions or of those asked for; a partition without one
        is left out."""
        return self._run(self._core.list_group_offsets(group_id, partitions, timeout=timeout))

    def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata],
        *,
        timeout: float | None = None,
    ) -> None:
        """Commits offsets on behalf of a group without members.

        Raises: UnknownMemberIdError (the group has members), UnknownTopicOrPartitionError, ..."""
        self._run(self._core.alter_group_offsets(group_id, offsets, timeout=timeout))

    def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> None:
        """Forgets committed offsets of a group.

        Raises: GroupSubscribedToTopicError, GroupIdNotFoundError, ..."""
        self._run(self._core.delete_group_offsets(group_id, partitions, timeout=timeout))

    def delete_groups(self, group_ids: Iterable[str], *, timeout: float | None = None) -> None:
        """Deletes groups without members, with their offsets.

        Raises: NonEmptyGroupError, GroupIdNotFoundError, ... of the first that failed; the others are
        deleted."""
        self._run(self._core.delete_groups(group_ids, timeout=timeout))

    def close(self) -> None:
        """Closes the connections. May be called twice."""
        self._run(self._core.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._thread.run(work, what="admin client")

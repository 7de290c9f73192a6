"""The Admin for callers without an event loop. Owns nothing but the crossing to the loop's thread."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from barnabas import fork
from barnabas.client.admin import admin as core
from barnabas.client.admin.credentials import BROKER_DEFAULT_MS
from barnabas.client.admin.group_offsets import Offsets
from barnabas.client.admin.groups import REMOVED_BY_ADMIN
from barnabas.client.admin.types import (
    AbortTransactionSpec,
    AclBinding,
    AclBindingFilter,
    ClassicGroupDescription,
    ClientQuotaEntity,
    ClientQuotaFilter,
    ClusterDescription,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    CreatedTopic,
    DelegationToken,
    ElectionType,
    FeatureMetadata,
    FeatureUpdate,
    GroupDescription,
    GroupListing,
    ListedOffset,
    LogDirDescription,
    MemberToRemove,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    PartitionReassignment,
    ProducerIdAndEpoch,
    ProducerState,
    QuorumInfo,
    RaftVoterEndpoint,
    ReplicaLogDirs,
    ResourceType,
    ScramCredentialInfo,
    ScramDeletion,
    ScramUpsertion,
    SharePartitionOffset,
    StreamsGroupDescription,
    TopicDescription,
    TopicPartitionReplica,
    TransactionDescription,
    TransactionListing,
    VersionRange,
)
from barnabas.client.cluster.lifetimes import Lifetime
from barnabas.client.cluster.observed import Observed
from barnabas.loop_thread import Steps, loop_thread
from barnabas.settings.table import IsolationLevel
from barnabas.stats import ClientStats
from barnabas.sync.crossing import OnLoopThread
from barnabas.types import OffsetAndMetadata, PreparedTransaction, TopicPartition

if TYPE_CHECKING:
    from barnabas.settings.keywords import AdminSettings


class Admin(Observed, OnLoopThread):
    """Creates, describes, changes and deletes what is in a cluster. For all threads; used with `with`, or
    closed by `close`.

    `bootstrap_servers`: `host:port`, several separated by commas or as a sequence. `settings`: Kafka's names
    in snake_case, see `barnabas.settings.table.AdminConfig`. Every call takes `timeout` in seconds, by
    default default_api_timeout_ms. `bootstrap_controllers`, in place of bootstrap_servers, speaks to the
    controllers of KRaft themselves, also while there is no broker; what only brokers know raises
    UnsupportedEndpointTypeError then.

    One rule holds for all calls that take several items: if all succeed, the result names each of them; if
    any fails, the error of the first that failed is raised, which names it, and the others have been done.
    That error's `outcome` has the result or the error of each item.

    Every call raises: TypeError and MisuseError, before anything is sent, for an argument of a wrong type or
    one that no cluster takes; KafkaTimeoutError, BootstrapError, UnsupportedVersionError where the broker is
    too old for it, and the BrokerError that the broker answered. A node id that the cluster does not have is
    waited for until the time-out, as Java's does: KafkaTimeoutError names it.
    """

    _what = "admin client"

    def __init__(
        self, bootstrap_servers: str | Sequence[str] = (), **settings: Unpack[AdminSettings]
    ) -> None:
        self._loop = loop_thread()
        self._generation = fork.current

        async def make() -> core.Admin:
            return core.Admin(bootstrap_servers, **settings)

        self._core = self._run(make())
        self._client = self._core.kafka_client
        self._life = Lifetime(
            self._steps_at_exit, f"admin client {self._core.config.client_id!r}", self._loop, self._client
        )

    def close(self) -> None:
        """Closes the connections. May be called twice."""
        if self._generation == fork.current:
            self._loop.run_steps(self._steps_at_exit(), what=self._what)

    def _steps_at_exit(self) -> Steps:
        """When the interpreter ends."""
        try:
            yield self._core.close()
        finally:
            self._life.end()

    def stats(self) -> ClientStats:
        """Figures of the client and its brokers, as they are now."""
        return self._client.stats()

    # From here on made by codegen/plain_calls.py, of barnabas/client/admin/admin.py

    def create_topics(
        self,
        topics: Iterable[NewTopic],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> dict[str, CreatedTopic]:
        """Creates topics; with `validate_only`, only says whether that would work. Returns once the
        controller has them: brokers hear of it a moment later.

        Raises: TopicAlreadyExistsError, InvalidReplicationFactorError, ...
        """
        return self._run(self._core.create_topics(topics, validate_only=validate_only, timeout=timeout))

    def delete_topics(self, names: Iterable[str], *, timeout: float | None = None) -> None:
        """Deletes topics with all their records. Raises: UnknownTopicOrPartitionError, ..."""
        self._run(self._core.delete_topics(names, timeout=timeout))

    def delete_topics_by_id(self, topic_ids: Iterable[uuid.UUID], *, timeout: float | None = None) -> None:
        """Deletes topics by what `describe_topics` gives as their ids (KIP-516).

        Raises: UnknownTopicIdError, UnsupportedVersionError (before Kafka 2.8), ...
        """
        self._run(self._core.delete_topics_by_id(topic_ids, timeout=timeout))

    def create_partitions(
        self,
        totals: Mapping[str, int | NewPartitions],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Raises the number of partitions of topics to the given totals. Keys then go to other partitions.

        Raises: InvalidPartitionsError (the total is not above the present number), ...
        """
        self._run(self._core.create_partitions(totals, validate_only=validate_only, timeout=timeout))

    def list_topics(self, *, internal: bool = False, timeout: float | None = None) -> list[str]:
        """The names of all topics, sorted; with those that Kafka keeps for itself if `internal`."""
        return self._run(self._core.list_topics(internal=internal, timeout=timeout))

    def describe_topics(
        self,
        names: Iterable[str] | None = None,
        *,
        internal: bool = False,
        include_authorized_operations: bool = False,
        partition_limit: int | None = None,
        timeout: float | None = None,
    ) -> dict[str, TopicDescription]:
        """Partitions, leaders and replicas of topics; None means all topics but Kafka's own, and these as
        well if `internal`. Answers come in pieces of at most `partition_limit` partitions where the broker
        can do so (KIP-966); by default of 2000 for topics that are named, and all topics in one.

        Raises: UnknownTopicOrPartitionError, ...
        """
        return self._run(
            self._core.describe_topics(
                names,
                internal=internal,
                include_authorized_operations=include_authorized_operations,
                partition_limit=partition_limit,
                timeout=timeout,
            )
        )

    def describe_topics_by_id(
        self,
        topic_ids: Iterable[uuid.UUID],
        *,
        include_authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[uuid.UUID, TopicDescription]:
        """Partitions, leaders and replicas of topics by their ids (KIP-516).

        Raises: UnknownTopicIdError, ...
        """
        return self._run(
            self._core.describe_topics_by_id(
                topic_ids, include_authorized_operations=include_authorized_operations, timeout=timeout
            )
        )

    def delete_records(
        self, offsets: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Deletes the records below the given offsets; -1 means all there are. Gives each partition's first
        remaining offset. Raises: OffsetOutOfRangeError, PolicyViolationError (a compacted topic), ...
        """
        return self._run(self._core.delete_records(offsets, timeout=timeout))

    def list_offsets(
        self,
        specs: Mapping[TopicPartition, OffsetSpec],
        *,
        isolation_level: IsolationLevel = "read_uncommitted",
        timeout: float | None = None,
    ) -> dict[TopicPartition, ListedOffset]:
        """Returns for each partition the offset of its first record ("earliest"), the one that the next
        record will get ("latest"; with `isolation_level` read_committed the first of a transaction that is
        open), that of the record with the greatest timestamp ("max_timestamp"), of the first record at or
        after a time in milliseconds, or another place that `OffsetSpec` names. Raises:
        UnknownTopicOrPartitionError, ..."""
        return self._run(self._core.list_offsets(specs, isolation_level=isolation_level, timeout=timeout))

    def client_instance_id(self, *, timeout: float | None = None) -> uuid.UUID:
        """The id that the brokers know this client by in its telemetry (KIP-714). `timeout` in seconds,
        default default_api_timeout_ms.

        Raises: MisuseError (enable_metrics_push is off), NoCommonVersionError (the brokers take no
        telemetry), KafkaTimeoutError, BootstrapError.
        """
        return self._run(self._core.client_instance_id(timeout=timeout))

    def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        timeout: float | None = None,
    ) -> dict[ConfigResource, dict[str, ConfigEntry]]:
        """The settings of topics, brokers and their loggers, groups and client metrics subscriptions, by
        name.

        Raises: UnknownTopicOrPartitionError, ...
        """
        return self._run(
            self._core.describe_configs(
                resources,
                include_synonyms=include_synonyms,
                include_documentation=include_documentation,
                timeout=timeout,
            )
        )

    def alter_configs(
        self,
        changes: Mapping[ConfigResource, Mapping[str, ConfigChange]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Sets settings of topics, brokers and their loggers, groups and client metrics subscriptions; a
        value of None brings the default back, and a `ListChange` adds items to a list or takes some out of
        it. Settings that are not named stay as they are (KIP-339).

        Raises: InvalidConfigError, UnknownTopicOrPartitionError, ...
        """
        self._run(self._core.alter_configs(changes, validate_only=validate_only, timeout=timeout))

    def replace_configs(
        self,
        configs: Mapping[ConfigResource, Mapping[str, str]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Gives topics or brokers exactly these settings: those that are not named go back to the default.
        `alter_configs` changes some; it alone is safe when others change settings at the same time.

        Raises: InvalidConfigError, UnknownTopicOrPartitionError, ...
        """
        self._run(self._core.replace_configs(configs, validate_only=validate_only, timeout=timeout))

    def list_config_resources(
        self, types: Iterable[ResourceType] | None = None, *, timeout: float | None = None
    ) -> list[ConfigResource]:
        """What has a configuration, of these types or of all (KIP-1142). Brokers from 3.7 to 4.0 know client
        metrics subscriptions alone, and must be asked for these. Raises: UnsupportedVersionError, ..."""
        return self._run(self._core.list_config_resources(types, timeout=timeout))

    def list_groups(
        self,
        *,
        states: Iterable[str] = (),
        types: Iterable[str] = (),
        protocol_types: Iterable[str] | None = None,
        timeout: float | None = None,
    ) -> list[GroupListing]:
        """The groups of the cluster, sorted by id: all, or those in one of `states` ("Stable", "Empty", ...;
        KIP-518), of one of `types` ("classic", "consumer", "share", "streams"; KIP-848), of one of
        `protocol_types` ("consumer", "connect", "share", "" for groups that only have offsets; KIP-1043). If
        a broker fails, the outcome is by node id.

        Raises: UnsupportedVersionError (a filter that the broker is too old for), ...
        """
        return self._run(
            self._core.list_groups(states=states, types=types, protocol_types=protocol_types, timeout=timeout)
        )

    def describe_groups(
        self,
        group_ids: Iterable[str],
        *,
        include_authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, GroupDescription]:
        """State, members and assignments of consumers' groups, of the consumer protocol (KIP-848) or of the
        classic one. A group that does not exist is described as Dead.

        Raises: GroupAuthorizationFailedError, ...
        """
        return self._run(
            self._core.describe_groups(
                group_ids, include_authorized_operations=include_authorized_operations, timeout=timeout
            )
        )

    def describe_classic_groups(
        self,
        group_ids: Iterable[str],
        *,
        include_authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, ClassicGroupDescription]:
        """State and members of groups of the classic protocol, whatever they are for: Kafka Connect's are too
        (KIP-1043). Raises: GroupIdNotFoundError (from Kafka 4.0 on; before, the state is Dead), ..."""
        return self._run(
            self._core.describe_classic_groups(
                group_ids, include_authorized_operations=include_authorized_operations, timeout=timeout
            )
        )

    def describe_share_groups(
        self,
        group_ids: Iterable[str],
        *,
        include_authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, GroupDescription]:
        """State, members and assignments of share groups (KIP-932). Raises: GroupIdNotFoundError, ..."""
        return self._run(
            self._core.describe_share_groups(
                group_ids, include_authorized_operations=include_authorized_operations, timeout=timeout
            )
        )

    def describe_streams_groups(
        self,
        group_ids: Iterable[str],
        *,
        include_authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, StreamsGroupDescription]:
        """State, topology and members of groups of Kafka Streams (KIP-1071).

        Raises: GroupIdNotFoundError, ...
        """
        return self._run(
            self._core.describe_streams_groups(
                group_ids, include_authorized_operations=include_authorized_operations, timeout=timeout
            )
        )

    def delete_groups(self, group_ids: Iterable[str], *, timeout: float | None = None) -> None:
        """Deletes groups without members, of any type, with their offsets.

        Raises: NonEmptyGroupError, GroupIdNotFoundError, ...
        """
        self._run(self._core.delete_groups(group_ids, timeout=timeout))

    def remove_members(
        self,
        group_id: str,
        members: Iterable[MemberToRemove] | None = None,
        *,
        reason: str = REMOVED_BY_ADMIN,
        timeout: float | None = None,
    ) -> None:
        """Puts members out of a group (KIP-345); None means all. The outcome is by member. The broker logs
        `reason` (KIP-800). One that is still alive joins again.

        Raises: UnknownMemberIdError, UnsupportedVersionError (before Kafka 2.4), ...
        """
        self._run(self._core.remove_members(group_id, members, reason=reason, timeout=timeout))

    def list_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> Offsets:
        """The committed offsets of a group of consumers or of Kafka Streams, of all partitions or of those
        asked for; a partition without one is left out. `require_stable`: waits for the end of transactions
        that commit some (KIP-447); a partition whose first offset a transaction still holds is waited for
        only where `partitions` names it."""
        return self._run(
            self._core.list_group_offsets(
                group_id, partitions, require_stable=require_stable, timeout=timeout
            )
        )

    def list_offsets_of_groups(
        self,
        groups: Mapping[str, Iterable[TopicPartition] | None],
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> dict[str, Offsets]:
        """`list_group_offsets` of several groups, those of one coordinator in one request (KIP-709)."""
        return self._run(
            self._core.list_offsets_of_groups(groups, require_stable=require_stable, timeout=timeout)
        )

    def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata],
        *,
        timeout: float | None = None,
    ) -> None:
        """Commits offsets on behalf of a group of consumers or of Kafka Streams without members.

        Raises: UnknownMemberIdError (the group has members), UnknownTopicOrPartitionError, ...
        """
        self._run(self._core.alter_group_offsets(group_id, offsets, timeout=timeout))

    def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> None:
        """Forgets committed offsets of a group of consumers or of Kafka Streams.

        Raises: GroupSubscribedToTopicError, GroupIdNotFoundError, ...
        """
        self._run(self._core.delete_group_offsets(group_id, partitions, timeout=timeout))

    def list_share_group_offsets(
        self,
        groups: Mapping[str, Iterable[TopicPartition] | None],
        *,
        timeout: float | None = None,
    ) -> dict[str, dict[TopicPartition, SharePartitionOffset]]:
        """Returns the positions of share groups (KIP-932) in these partitions, or in all (None). One that a
        group has not begun to read is left out. Raises: GroupIdNotFoundError, ..."""
        return self._run(self._core.list_share_group_offsets(groups, timeout=timeout))

    def alter_share_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> None:
        """Sets the offsets from which a share group without members goes on (KIP-932).

        Raises: NonEmptyGroupError, GroupIdNotFoundError, UnknownTopicOrPartitionError, ...
        """
        self._run(self._core.alter_share_group_offsets(group_id, offsets, timeout=timeout))

    def delete_share_group_offsets(
        self, group_id: str, topics: Iterable[str], *, timeout: float | None = None
    ) -> None:
        """Forgets where a share group without members stands in topics (KIP-932).

        Raises: NonEmptyGroupError, GroupIdNotFoundError, UnknownTopicOrPartitionError, ...
        """
        self._run(self._core.delete_share_group_offsets(group_id, topics, timeout=timeout))

    def create_acls(self, acls: Iterable[AclBinding], *, timeout: float | None = None) -> None:
        """Creates rules; one that is there already stays. Raises: SecurityDisabledError (the broker has no
        authorizer), ClusterAuthorizationFailedError, InvalidRequestError, ..."""
        self._run(self._core.create_acls(acls, timeout=timeout))

    def describe_acls(
        self, filter: AclBindingFilter | None = None, *, timeout: float | None = None
    ) -> list[AclBinding]:
        """The rules that a filter matches; None means all. Raises: SecurityDisabledError, ..."""
        return self._run(self._core.describe_acls(filter, timeout=timeout))

    def delete_acls(
        self, filters: Iterable[AclBindingFilter], *, timeout: float | None = None
    ) -> dict[AclBindingFilter, list[AclBinding]]:
        """Deletes the rules that filters match, and gives those that each one deleted.

        Raises: SecurityDisabledError, ClusterAuthorizationFailedError, ...
        """
        return self._run(self._core.delete_acls(filters, timeout=timeout))

    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> dict[str, tuple[ScramCredentialInfo, ...]]:
        """The mechanisms for which users have passwords (KIP-554); None means all users that have any.

        Raises: ResourceNotFoundError (a user that has none), ...
        """
        return self._run(self._core.describe_user_scram_credentials(users, timeout=timeout))

    def alter_user_scram_credentials(
        self, alterations: Iterable[ScramUpsertion | ScramDeletion], *, timeout: float | None = None
    ) -> None:
        """Gives users passwords, or takes them away (KIP-554). Errors and the outcome are by user.

        Raises: ResourceNotFoundError (nothing to delete), UnacceptableCredentialError (too few or too many
        iterations), DuplicateResourceError, MisuseError, ...
        """
        self._run(self._core.alter_user_scram_credentials(alterations, timeout=timeout))

    def create_delegation_token(
        self,
        renewers: Iterable[str] = (),
        *,
        owner: str | None = None,
        max_lifetime_ms: int = BROKER_DEFAULT_MS,
        timeout: float | None = None,
    ) -> DelegationToken:
        """A token for whoever is connected, or for `owner`, that lives for `max_lifetime_ms`, by default
        delegation.token.max.lifetime.ms of the broker (KIP-48, KIP-373). Principals are "User:alice".

        Raises: DelegationTokenAuthDisabledError, DelegationTokenRequestNotAllowedError (the connection is not
        authenticated, or was by a token), ...
        """
        return self._run(
            self._core.create_delegation_token(
                renewers, owner=owner, max_lifetime_ms=max_lifetime_ms, timeout=timeout
            )
        )

    def renew_delegation_token(
        self, hmac: bytes, *, renew_period_ms: int = BROKER_DEFAULT_MS, timeout: float | None = None
    ) -> int:
        """Lets a token live for another `renew_period_ms`, by default delegation.token.expiry.time.ms of the
        broker. Gives the time at which it expires, in milliseconds since 1970.

        Raises: DelegationTokenNotFoundError, DelegationTokenExpiredError,
        DelegationTokenOwnerMismatchError, ...
        """
        return self._run(
            self._core.renew_delegation_token(hmac, renew_period_ms=renew_period_ms, timeout=timeout)
        )

    def expire_delegation_token(
        self, hmac: bytes, *, expiry_time_period_ms: int = BROKER_DEFAULT_MS, timeout: float | None = None
    ) -> int:
        """Lets a token expire in `expiry_time_period_ms`; by default (-1) at once. Gives the time at which it
        expires, in milliseconds since 1970. Raises: as `renew_delegation_token`."""
        return self._run(
            self._core.expire_delegation_token(
                hmac, expiry_time_period_ms=expiry_time_period_ms, timeout=timeout
            )
        )

    def describe_delegation_tokens(
        self, owners: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> list[DelegationToken]:
        """The tokens of `owners` ("User:alice"), or all that this client may see.

        Raises: DelegationTokenAuthDisabledError, DelegationTokenRequestNotAllowedError, ...
        """
        return self._run(self._core.describe_delegation_tokens(owners, timeout=timeout))

    def describe_client_quotas(
        self,
        filters: Iterable[ClientQuotaFilter] = (),
        *,
        strict: bool = False,
        timeout: float | None = None,
    ) -> dict[ClientQuotaEntity, dict[str, float]]:
        """The quotas of entities that meet all `filters` (KIP-546), by name (`producer_byte_rate`, ...).
        `strict`: entities with other types than those of the filters are left out."""
        return self._run(self._core.describe_client_quotas(filters, strict=strict, timeout=timeout))

    def alter_client_quotas(
        self,
        changes: Mapping[ClientQuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Sets quotas (KIP-546); None takes one away. Those that are not named stay as they are.

        Raises: InvalidRequestError (no such quota), ...
        """
        self._run(self._core.alter_client_quotas(changes, validate_only=validate_only, timeout=timeout))

    def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[TopicPartition, bool]:
        """Makes the preferred replica the leader, or, where none is in sync, any one (KIP-460). Tells for
        each partition whether a leader was elected: False where that was not needed. None means all
        partitions; those where it was not needed are then left out.

        Raises: PreferredLeaderNotAvailableError, EligibleLeadersNotAvailableError,
        UnknownTopicOrPartitionError, ...
        """
        return self._run(self._core.elect_leaders(election_type, partitions, timeout=timeout))

    def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Begins to move the replicas of partitions to these brokers, by node ids with the preferred leader
        first; None ends a move that is under way (KIP-455).

        Raises: NoReassignmentInProgressError, InvalidReplicaAssignmentError,
        UnknownTopicOrPartitionError, ...
        """
        self._run(
            self._core.alter_partition_reassignments(
                reassignments,
                allow_replication_factor_change=allow_replication_factor_change,
                timeout=timeout,
            )
        )

    def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, *, timeout: float | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """The moves of replicas that are under way (KIP-455), of these partitions or of all."""
        return self._run(self._core.list_partition_reassignments(partitions, timeout=timeout))

    def describe_log_dirs(
        self,
        node_ids: Iterable[int] | None = None,
        *,
        partitions: Iterable[TopicPartition] | None = None,
        timeout: float | None = None,
    ) -> dict[int, dict[str, LogDirDescription]]:
        """The folders in which brokers keep replicas, by node id and path (KIP-113); None means all brokers.
        With `partitions` only their replicas are listed.

        Raises: ClusterAuthorizationFailedError, ...
        """
        return self._run(self._core.describe_log_dirs(node_ids, partitions=partitions, timeout=timeout))

    def describe_replica_log_dirs(
        self, replicas: Iterable[TopicPartitionReplica], *, timeout: float | None = None
    ) -> dict[TopicPartitionReplica, ReplicaLogDirs]:
        """The folders of single replicas (KIP-113). Raises: ClusterAuthorizationFailedError, ..."""
        return self._run(self._core.describe_replica_log_dirs(replicas, timeout=timeout))

    def alter_replica_log_dirs(
        self, log_dirs: Mapping[TopicPartitionReplica, str], *, timeout: float | None = None
    ) -> None:
        """Begins to move replicas to other folders of the same broker (KIP-113).

        Raises: LogDirNotFoundError, ReplicaNotAvailableError, ...
        """
        self._run(self._core.alter_replica_log_dirs(log_dirs, timeout=timeout))

    def describe_producers(
        self,
        partitions: Iterable[TopicPartition],
        *,
        node_id: int | None = None,
        timeout: float | None = None,
    ) -> dict[TopicPartition, tuple[ProducerState, ...]]:
        """The producers that partitions remember, idempotent and transactional ones (KIP-664), as their
        leaders see them, or the replicas on the broker `node_id`.

        Raises: UnknownTopicOrPartitionError, TopicAuthorizationFailedError, ...
        """
        return self._run(self._core.describe_producers(partitions, node_id=node_id, timeout=timeout))

    def describe_transactions(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, TransactionDescription]:
        """The state of transactional ids (KIP-664). Raises: TransactionalIdNotFoundError,
        TransactionalIdAuthorizationFailedError, ..."""
        return self._run(self._core.describe_transactions(transactional_ids, timeout=timeout))

    def list_transactions(
        self,
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        duration_ms: int | None = None,
        pattern: str | None = None,
        timeout: float | None = None,
    ) -> dict[int, list[TransactionListing]]:
        """The transactional ids that each broker coordinates, by node id (KIP-664): those in one of `states`,
        of one of `producer_ids`, whose transaction has been open for longer than `duration_ms` (KIP-994),
        whose id matches `pattern`, a regular expression of RE2 (KIP-1152).

        Raises: MisuseError (no broker knows such a state), InvalidRegularExpressionError,
        UnsupportedVersionError, ...
        """
        return self._run(
            self._core.list_transactions(
                states=states,
                producer_ids=producer_ids,
                duration_ms=duration_ms,
                pattern=pattern,
                timeout=timeout,
            )
        )

    def abort_transaction(self, spec: AbortTransactionSpec, *, timeout: float | None = None) -> None:
        """Ends a transaction that hangs in one partition, one that its coordinator knows nothing of
        (KIP-664). To abort one that is just open, use `fence_producers`.

        Raises: InvalidProducerEpochError, TransactionCoordinatorFencedError,
        ClusterAuthorizationFailedError, ...
        """
        self._run(self._core.abort_transaction(spec, timeout=timeout))

    def fence_producers(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, ProducerIdAndEpoch]:
        """Shuts out the producers that use these transactional ids now, and aborts their transactions.

        Raises: TransactionalIdAuthorizationFailedError, ...
        """
        return self._run(self._core.fence_producers(transactional_ids, timeout=timeout))

    def end_prepared_transactions(
        self, transactions: Iterable[PreparedTransaction], *, commit: bool, timeout: float | None = None
    ) -> None:
        """Commits or aborts what `Producer.prepare_transaction` has left open. To do the same again, after a
        time-out for instance, is no error.

        Raises: ProducerFencedError (the broker has aborted it, as it was open for longer than
        transaction_timeout_ms, or a producer of the same transactional id began again), InvalidTxnStateError
        (it was ended the other way), TransactionalIdAuthorizationFailedError, ...; `outcome` tells of each.
        """
        self._run(self._core.end_prepared_transactions(transactions, commit=commit, timeout=timeout))

    def force_terminate_transaction(self, transactional_id: str, *, timeout: float | None = None) -> None:
        """Aborts the transaction that is open under a transactional id, prepared or not (KIP-939), and shuts
        out its producer. Raises: TransactionalIdAuthorizationFailedError, ..."""
        self._run(self._core.force_terminate_transaction(transactional_id, timeout=timeout))

    def describe_cluster(
        self,
        *,
        include_authorized_operations: bool = False,
        include_fenced_brokers: bool = False,
        timeout: float | None = None,
    ) -> ClusterDescription:
        """The brokers, and which of them is the controller; with KRaft, any of them, which passes on what is
        for the controller. With bootstrap_controllers, the controllers, and the active one.
        Raises: UnsupportedVersionError (fenced brokers, before Kafka 4.1), ..."""
        return self._run(
            self._core.describe_cluster(
                include_authorized_operations=include_authorized_operations,
                include_fenced_brokers=include_fenced_brokers,
                timeout=timeout,
            )
        )

    def describe_features(
        self, *, node_id: int | None = None, timeout: float | None = None
    ) -> FeatureMetadata:
        """The features that the cluster has settled on, and those that a broker (None: any) supports
        (KIP-584)."""
        return self._run(self._core.describe_features(node_id=node_id, timeout=timeout))

    def describe_api_versions(
        self, *, node_id: int | None = None, timeout: float | None = None
    ) -> dict[str, VersionRange]:
        """Returns the versions of each API that a broker (None: any) speaks, by the API's name in Kafka's
        protocol (KIP-35), as "ListOffsets"; an API that this client does not know has its number for a name.

        Raises: MisuseError (there is no such broker), KafkaTimeoutError, ...
        """
        return self._run(self._core.describe_api_versions(node_id=node_id, timeout=timeout))

    def update_features(
        self,
        updates: Mapping[str, FeatureUpdate],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Raises, lowers or removes the levels of features (KIP-584), `metadata.version` among them. All of
        them or, with brokers from 4.1 on, none.

        Raises: InvalidUpdateVersionError, FeatureUpdateFailedError, ...
        """
        self._run(self._core.update_features(updates, validate_only=validate_only, timeout=timeout))

    def describe_metadata_quorum(self, *, timeout: float | None = None) -> QuorumInfo:
        """The controllers that keep the cluster's metadata, and how far each one is (KIP-595, KIP-853).

        Raises: UnsupportedVersionError (a cluster with ZooKeeper), ...
        """
        return self._run(self._core.describe_metadata_quorum(timeout=timeout))

    def add_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: uuid.UUID,
        endpoints: Iterable[RaftVoterEndpoint],
        *,
        cluster_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Makes a controller that follows a voter (KIP-853). With `cluster_id` only in that cluster.

        Raises: DuplicateVoterError, InconsistentClusterIdError, UnsupportedVersionError (kraft.version 0),
        ...
        """
        self._run(
            self._core.add_raft_voter(
                voter_id, voter_directory_id, endpoints, cluster_id=cluster_id, timeout=timeout
            )
        )

    def remove_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: uuid.UUID,
        *,
        cluster_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Takes a controller out of the voters (KIP-853). With `cluster_id` only in that cluster.

        Raises: VoterNotFoundError, InconsistentClusterIdError, UnsupportedVersionError (kraft.version 0), ...
        """
        self._run(
            self._core.remove_raft_voter(voter_id, voter_directory_id, cluster_id=cluster_id, timeout=timeout)
        )

    def unregister_broker(self, broker_id: int, *, timeout: float | None = None) -> None:
        """Forgets a broker that will not come back. Raises: BrokerIdNotRegisteredError, ..."""
        self._run(self._core.unregister_broker(broker_id, timeout=timeout))

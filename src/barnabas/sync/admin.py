"""The Admin for callers without an event loop. Owns nothing but the crossing to the loop's thread."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from barnabas import fork
from barnabas.client.admin import admin as core
from barnabas.client.cluster.lifetimes import Lifetime, Owned
from barnabas.client.cluster.observed import Observed
from barnabas.loop_thread import Steps, loop_thread
from barnabas.stats import ClientStats

if TYPE_CHECKING:
    from barnabas.settings.keywords import AdminSettings

T = TypeVar("T")
P = ParamSpec("P")


class Admin(Observed, Owned):
    """Creates, describes, changes and deletes what is in a cluster. Used with `with`, or closed by `close`;
    all threads may share one. Its calls are those of `barnabas.aio.Admin`, without `await`.

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

    def __init__(
        self, bootstrap_servers: str | Sequence[str] = (), **settings: Unpack[AdminSettings]
    ) -> None:
        self._thread = loop_thread()
        self._generation = fork.current

        async def make() -> core.Admin:
            return core.Admin(bootstrap_servers, **settings)

        self._core = self._thread.run(make(), what="admin client")
        self._client = self._core.kafka_client
        self._life = Lifetime(
            self._steps_at_exit, f"admin client {self._core.config.client_id!r}", self._thread, self._client
        )

    @staticmethod
    def _waited(
        call: Callable[Concatenate[core.Admin, P], Coroutine[Any, Any, T]],
    ) -> Callable[Concatenate[Admin, P], T]:
        """The same call for callers who wait for its result."""

        @functools.wraps(call)
        def waited(self: Admin, *arguments: P.args, **settings: P.kwargs) -> T:
            return self._thread.run(call(self._core, *arguments, **settings), what="admin client")

        return waited

    create_topics = _waited(core.Admin.create_topics)
    delete_topics = _waited(core.Admin.delete_topics)
    delete_topics_by_id = _waited(core.Admin.delete_topics_by_id)
    create_partitions = _waited(core.Admin.create_partitions)
    list_topics = _waited(core.Admin.list_topics)
    describe_topics = _waited(core.Admin.describe_topics)
    describe_topics_by_id = _waited(core.Admin.describe_topics_by_id)
    delete_records = _waited(core.Admin.delete_records)
    list_offsets = _waited(core.Admin.list_offsets)

    describe_configs = _waited(core.Admin.describe_configs)
    alter_configs = _waited(core.Admin.alter_configs)
    replace_configs = _waited(core.Admin.replace_configs)
    list_config_resources = _waited(core.Admin.list_config_resources)

    list_groups = _waited(core.Admin.list_groups)
    describe_groups = _waited(core.Admin.describe_groups)
    describe_classic_groups = _waited(core.Admin.describe_classic_groups)
    describe_share_groups = _waited(core.Admin.describe_share_groups)
    describe_streams_groups = _waited(core.Admin.describe_streams_groups)
    delete_groups = _waited(core.Admin.delete_groups)
    remove_members = _waited(core.Admin.remove_members)

    list_group_offsets = _waited(core.Admin.list_group_offsets)
    list_offsets_of_groups = _waited(core.Admin.list_offsets_of_groups)
    alter_group_offsets = _waited(core.Admin.alter_group_offsets)
    delete_group_offsets = _waited(core.Admin.delete_group_offsets)
    list_share_group_offsets = _waited(core.Admin.list_share_group_offsets)
    alter_share_group_offsets = _waited(core.Admin.alter_share_group_offsets)
    delete_share_group_offsets = _waited(core.Admin.delete_share_group_offsets)

    create_acls = _waited(core.Admin.create_acls)
    describe_acls = _waited(core.Admin.describe_acls)
    delete_acls = _waited(core.Admin.delete_acls)

    describe_user_scram_credentials = _waited(core.Admin.describe_user_scram_credentials)
    alter_user_scram_credentials = _waited(core.Admin.alter_user_scram_credentials)
    create_delegation_token = _waited(core.Admin.create_delegation_token)
    renew_delegation_token = _waited(core.Admin.renew_delegation_token)
    expire_delegation_token = _waited(core.Admin.expire_delegation_token)
    describe_delegation_tokens = _waited(core.Admin.describe_delegation_tokens)
    describe_client_quotas = _waited(core.Admin.describe_client_quotas)
    alter_client_quotas = _waited(core.Admin.alter_client_quotas)

    elect_leaders = _waited(core.Admin.elect_leaders)
    alter_partition_reassignments = _waited(core.Admin.alter_partition_reassignments)
    list_partition_reassignments = _waited(core.Admin.list_partition_reassignments)
    describe_log_dirs = _waited(core.Admin.describe_log_dirs)
    describe_replica_log_dirs = _waited(core.Admin.describe_replica_log_dirs)
    alter_replica_log_dirs = _waited(core.Admin.alter_replica_log_dirs)

    describe_producers = _waited(core.Admin.describe_producers)
    describe_transactions = _waited(core.Admin.describe_transactions)
    end_prepared_transactions = _waited(core.Admin.end_prepared_transactions)
    list_transactions = _waited(core.Admin.list_transactions)
    abort_transaction = _waited(core.Admin.abort_transaction)
    fence_producers = _waited(core.Admin.fence_producers)
    force_terminate_transaction = _waited(core.Admin.force_terminate_transaction)

    describe_cluster = _waited(core.Admin.describe_cluster)
    describe_features = _waited(core.Admin.describe_features)
    update_features = _waited(core.Admin.update_features)
    describe_metadata_quorum = _waited(core.Admin.describe_metadata_quorum)
    add_raft_voter = _waited(core.Admin.add_raft_voter)
    remove_raft_voter = _waited(core.Admin.remove_raft_voter)
    unregister_broker = _waited(core.Admin.unregister_broker)

    client_instance_id = _waited(core.Admin.client_instance_id)

    def close(self) -> None:
        """Closes the connections. May be called twice."""
        if self._generation == fork.current:
            self._thread.run_steps(self._steps_at_exit(), what="admin client")

    def _steps_at_exit(self) -> Steps:
        """When the interpreter ends."""
        try:
            yield self._core.close()
        finally:
            self._life.end()

    def stats(self) -> ClientStats:
        """Figures of the client and its brokers, as they are now."""
        return self._client.stats()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

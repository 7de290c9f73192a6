"""`AdminClient`. Its calls check their arguments (`_checks`, `_options`), begin what asks the brokers
(`_topic_calls` and the like) in an `AdminSession`, and give futures that are filled when answers are there.
"""

# The constants of KafkaError, and what the modules of this package share, begin with an underscore.
# pyright: reportPrivateUsage=false
from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, NoReturn, Self, TypeVar

from barnabas.compat.confluent_kafka._model import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    TopicCollection,
)
from barnabas.compat.confluent_kafka.admin import (
    _acl_calls,
    _checks,
    _config_calls,
    _group_calls,
    _partition_calls,
    _scram_calls,
    _topic_calls,
)
from barnabas.compat.confluent_kafka.admin._acl import AclBinding, AclBindingFilter
from barnabas.compat.confluent_kafka.admin._cluster import DescribeClusterResult
from barnabas.compat.confluent_kafka.admin._config import ConfigEntry, ConfigResource
from barnabas.compat.confluent_kafka.admin._group import ConsumerGroupDescription, ListConsumerGroupsResult
from barnabas.compat.confluent_kafka.admin._listoffsets import ListOffsetsResultInfo, OffsetSpec
from barnabas.compat.confluent_kafka.admin._options import CallArguments, CallOptions
from barnabas.compat.confluent_kafka.admin._records import DeletedRecords
from barnabas.compat.confluent_kafka.admin._scram import (
    UserScramCredentialAlteration,
    UserScramCredentialsDescription,
)
from barnabas.compat.confluent_kafka.admin._session import AdminSession, Operation
from barnabas.compat.confluent_kafka.admin._topic import TopicDescription
from barnabas.compat.librdkafka.cluster import metadata
from barnabas.compat.librdkafka.cluster.metadata import ClusterMetadata, GroupMetadata
from barnabas.compat.librdkafka.cluster.new_topics import NewPartitions, NewTopic
from barnabas.compat.librdkafka.config.client_callbacks import client_callbacks
from barnabas.compat.librdkafka.config.configuration import Configuration
from barnabas.compat.librdkafka.events.client_events import ClientEvents
from barnabas.compat.librdkafka.events.statistics import AdminStatistics
from barnabas.compat.librdkafka.values.arguments import c_arguments, no_state
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition

_Key = TypeVar("_Key")
_Result = TypeVar("_Result")

ARGUMENTS = CallArguments()
CLOSED = "AdminClient has been closed"
HANDLE_CLOSED = "Handle has been closed"


class AdminClient:
    """Creates, describes, changes and deletes topics, configurations, groups, access rules, passwords and
    records.

    conf    librdkafka's properties, of which `bootstrap.servers` is the one that is needed
    logger  gets what the client logs, when `poll` is called; without it that goes to stderr

    Calls do not wait: they give futures, one for each topic, group and so on where several are asked for, by
    name. `future.result()` gives what the call gives or raises KafkaException. All calls take
    `request_timeout`, in seconds, by default the property `socket.timeout.ms`; those that change topics,
    records and leaders take `operation_timeout`, for how long the broker is to wait until the change shows.

    Arguments that cannot be meant are refused at once: TypeError, ValueError, and RuntimeError after the
    client was closed, by leaving its `with` block.
    """

    _session: AdminSession | None = None
    """None before __init__ and after the end."""
    _events: ClientEvents
    _closes: weakref.finalize[Any, Any]

    def __init__(self, conf: dict[str, Any], **kwargs: Any) -> None:
        if self._session is not None:
            raise RuntimeError("Admin already __init__:ialized")
        configuration = Configuration.parse("admin", (conf,), kwargs)
        values = configuration.values
        # The default in librdkafka's table is for consumers.
        self._allows_auto_create = (
            not values.is_given("allow.auto.create.topics") or values["allow.auto.create.topics"]
        )
        protocol: str = values["security.protocol"]
        prefix = "" if protocol == "plaintext" else f"{protocol}://"
        self._events = events = ClientEvents(
            client_callbacks(configuration), name=configuration.instance_name, prefix=prefix
        )
        self._session = AdminSession(
            configuration,
            events.log,
            lambda admin: events.attach(admin, AdminStatistics(admin.kafka_client, events, values).as_json),
        )
        self._closes = weakref.finalize(self, _close, self._session, self._events)
        self._closes.atexit = False

    # Topics and the cluster

    def create_topics(self, new_topics: list[NewTopic], **kwargs: Any) -> dict[str, Future[None]]:
        """Creates topics; with `validate_only=True` only finds out whether that would work."""
        futures = _futures(topic.topic for topic in new_topics)
        options = ARGUMENTS.create_topics(new_topics, None, **kwargs)
        _checks.check_filled(new_topics, "NewTopic objects")
        options.check_switches()
        session = self._open_for(options)
        _checks.check_new_topics(new_topics)
        work = partial(_topic_calls.create_topics, topics=list(new_topics), options=options)
        return _start(session, work, options, futures, _fill_topics)

    def delete_topics(self, topics: list[str], **kwargs: Any) -> dict[str, Future[None]]:
        """Deletes topics with all their records."""
        futures = _futures(topics)
        options = ARGUMENTS.delete_topics(topics, None, **kwargs)
        _checks.check_filled(topics, "topic strings")
        session = self._open_for(options)
        _checks.check_topic_names(topics)
        work = partial(_topic_calls.delete_topics, names=[str(name) for name in topics], options=options)
        return _start(session, work, options, futures, _fill_topics)

    def create_partitions(
        self, new_partitions: list[NewPartitions], **kwargs: Any
    ) -> dict[str, Future[None]]:
        """Adds partitions to topics; with `validate_only=True` only finds out whether that would work."""
        futures = _futures(topic.topic for topic in new_partitions)
        options = ARGUMENTS.create_partitions(new_partitions, None, **kwargs)
        _checks.check_filled(new_partitions, "NewPartitions objects")
        options.check_switches()
        session = self._open_for(options)
        _checks.check_new_partitions(new_partitions)
        work = partial(_topic_calls.create_partitions, wanted=list(new_partitions), options=options)
        return _start(session, work, options, futures, _fill_topics)

    def describe_topics(self, topics: TopicCollection, **kwargs: Any) -> dict[str, Future[TopicDescription]]:
        """Describes topics; with `include_authorized_operations=True` also what this client may do."""
        names = _checks.topic_names_of(topics)
        futures = _futures(names)
        options = ARGUMENTS.describe(None, names, **kwargs)
        session = self._open_for(options)
        _checks.check_described_topics(names)
        work = partial(_topic_calls.describe_topics, names=list(names), options=options)
        return _start(session, work, options, futures, _fill)

    def describe_cluster(self, **kwargs: Any) -> Future[DescribeClusterResult]:
        """Describes the cluster; with `include_authorized_operations=True` also what this client may do."""
        options = ARGUMENTS.describe_cluster(None, **kwargs)
        return _start_one(
            self._open_for(options), partial(_topic_calls.describe_cluster, options=options), options
        )

    @c_arguments("zd")
    def list_topics(self, topic: str | None = None, timeout: float = -1) -> ClusterMetadata:
        """The cluster with all its topics, or with one. Waits up to `timeout` seconds, without end if it is
        negative. Raises: KafkaException."""
        session = self._open(HANDLE_CLOSED)
        allow_auto_create = self._allows_auto_create
        return session.run(
            lambda requests: metadata.list_topics(
                requests.client, topic, timeout, allow_auto_create=allow_auto_create
            ),
            None,
        )

    @c_arguments("d")
    def cluster_id(self, timeout: float = -1) -> str:
        """The cluster's id. Waits up to `timeout` seconds, without end if it is negative.

        Raises: KafkaException.
        """
        session = self._open(HANDLE_CLOSED)
        return session.run(lambda requests: metadata.cluster_id(requests.client, timeout), None)

    # Configurations

    def describe_configs(
        self, resources: list[ConfigResource], **kwargs: Any
    ) -> dict[ConfigResource, Future[dict[str, ConfigEntry]]]:
        """The entries of topics, groups and of at most one broker, by name. `broker`: whom to ask."""
        _checks.check_keys(resources, ConfigResource, ValueError)
        futures = _futures(resources)
        options = ARGUMENTS.describe_configs(resources, None, **kwargs)
        _checks.check_filled(resources, "ConfigResource objects")
        session = self._open_for(options)
        _checks.check_resources(resources)
        work = partial(_config_calls.describe_configs, resources=list(resources), options=options)
        return _start(session, work, options, futures, _fill)

    def alter_configs(
        self, resources: list[ConfigResource], **kwargs: Any
    ) -> dict[ConfigResource, Future[None]]:
        """Gives resources exactly the settings that they name: all others go back to their defaults. With
        `validate_only=True` only finds out whether that would work. Deprecated: `incremental_alter_configs`
        leaves the others as they are."""
        warnings.warn(
            "alter_configs has been deprecated. Use incremental_alter_configs instead.",
            category=DeprecationWarning,
            stacklevel=2,
        )
        _checks.check_keys(resources, ConfigResource, ValueError)
        futures = _futures(resources)
        options = ARGUMENTS.alter_configs(resources, None, **kwargs)
        _checks.check_filled(resources, "ConfigResource objects")
        options.check_switches()
        session = self._open_for(options)
        _checks.check_resources(resources)
        work = partial(_config_calls.alter_configs, resources=list(resources), options=options)
        return _start(session, work, options, futures, _fill)

    def incremental_alter_configs(
        self, resources: list[ConfigResource], **kwargs: Any
    ) -> dict[ConfigResource, Future[None]]:
        """Changes those settings that the resources' `incremental_configs` name. `validate_only` as in
        `alter_configs`; `broker`: whom to ask."""
        _checks.check_keys(resources, ConfigResource, TypeError)
        futures = _futures(resources)
        options = ARGUMENTS.incremental_alter_configs(resources, None, **kwargs)
        _checks.check_filled(resources, "ConfigResource objects")
        options.check_switches()
        session = self._open_for(options)
        _checks.check_incremental(resources)
        work = partial(_config_calls.incremental_alter_configs, resources=list(resources), options=options)
        return _start(session, work, options, futures, _fill)

    # Access rules

    def create_acls(self, acls: list[AclBinding], **kwargs: Any) -> dict[AclBinding, Future[None]]:
        """Creates access rules; those that are there already stay."""
        _checks.check_all_different(acls, "ACL bindings")
        _checks.check_keys(acls, AclBinding, ValueError)
        futures = _futures(acls)
        options = ARGUMENTS.ask(acls, None, **kwargs)
        _checks.check_filled(acls, "AclBinding objects")
        session = self._open_for(options)
        _checks.check_new_acls(acls)
        work = partial(_acl_calls.create_acls, acls=list(acls), options=options)
        return _start(session, work, options, futures, _fill)

    def describe_acls(self, acl_binding_filter: AclBindingFilter, **kwargs: Any) -> Future[list[AclBinding]]:
        """The access rules that a filter matches."""
        options = ARGUMENTS.ask(acl_binding_filter, None, **kwargs)
        session = self._open_for(options)
        _checks.check_acl_filter(acl_binding_filter)
        work = partial(_acl_calls.describe_acls, wanted=acl_binding_filter, options=options)
        return _start_one(session, work, options)

    def delete_acls(
        self, acl_binding_filters: list[AclBindingFilter], **kwargs: Any
    ) -> dict[AclBindingFilter, Future[list[AclBinding]]]:
        """Deletes the access rules that filters match, and gives those that each one deleted."""
        _checks.check_all_different(acl_binding_filters, "ACL binding filters")
        _checks.check_keys(acl_binding_filters, AclBindingFilter, ValueError)
        futures = _futures(acl_binding_filters)
        options = ARGUMENTS.ask(acl_binding_filters, None, **kwargs)
        _checks.check_filled(acl_binding_filters, "AclBindingFilter objects")
        session = self._open_for(options)
        work = partial(_acl_calls.delete_acls, filters=list(acl_binding_filters), options=options)
        return _start(session, work, options, futures, _fill)

    # Groups

    def list_consumer_groups(self, **kwargs: Any) -> Future[ListConsumerGroupsResult]:
        """The consumer groups of the cluster: all, or those in one of `states` (a set of ConsumerGroupState)
        and of one of `types` (a set of ConsumerGroupType)."""
        states = _checks.check_members(kwargs.pop("states", None), "states", ConsumerGroupState)
        types = _checks.check_members(kwargs.pop("types", None), "types", ConsumerGroupType)
        options = ARGUMENTS.list_consumer_groups(None, **kwargs)
        work = partial(_group_calls.list_consumer_groups, states=states, types=types, options=options)
        future: Future[ListConsumerGroupsResult] = _future()

        def outcome(result: Any, error: KafkaException | None) -> None:
            # What fails is told within the result.
            future.set_result(result or ListConsumerGroupsResult([], [KafkaError(_code_of(error))]))

        self._open_for(options).start(work, options.timeout_ms, outcome)
        return future

    def describe_consumer_groups(
        self, group_ids: list[str], **kwargs: Any
    ) -> dict[str, Future[ConsumerGroupDescription]]:
        """Describes groups with their members; with `include_authorized_operations=True` also what this
        client may do."""
        _checks.check_groups(group_ids, "described")
        futures = _futures(group_ids)
        options = ARGUMENTS.describe(None, group_ids, **kwargs)
        _checks.check_described_groups(group_ids)
        session = self._open_for(options)
        names = [str(group_id) for group_id in group_ids]
        work = partial(_group_calls.describe_consumer_groups, group_ids=names, options=options)
        return _start(session, work, options, futures, _fill_in_order)

    def delete_consumer_groups(self, group_ids: list[str], **kwargs: Any) -> dict[str, Future[None]]:
        """Deletes groups without members, with their offsets."""
        _checks.check_groups(group_ids, "deleted")
        _checks.check_keys(group_ids, str, ValueError)
        futures = _futures(group_ids)
        options = ARGUMENTS.ask(group_ids, None, **kwargs)
        work = partial(_group_calls.delete_consumer_groups, group_ids=list(group_ids), options=options)
        return _start(self._open_for(options), work, options, futures, _fill_in_order)

    def list_consumer_group_offsets(
        self, list_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions], **kwargs: Any
    ) -> dict[str, Future[ConsumerGroupTopicPartitions]]:
        """The committed offsets of one group, in the partitions that the request names or in all. With
        `require_stable=True` waits for transactions that commit some."""
        request = list_consumer_group_offsets_request
        _checks.check_listed_group_offsets(request)
        futures = _futures(wanted.group_id for wanted in request)
        options = ARGUMENTS.list_consumer_group_offsets(request, None, **kwargs)
        work = partial(_partition_calls.list_consumer_group_offsets, wanted=request[0], options=options)
        return _start(self._open_for(options), work, options, futures, _fill_all)

    def alter_consumer_group_offsets(
        self, alter_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions], **kwargs: Any
    ) -> dict[str, Future[ConsumerGroupTopicPartitions]]:
        """Commits offsets for one group, which must not have members. What becomes of each partition is its
        `error` in the result."""
        request = alter_consumer_group_offsets_request
        _checks.check_altered_group_offsets(request)
        futures = _futures(wanted.group_id for wanted in request)
        options = ARGUMENTS.ask(request, None, **kwargs)
        work = partial(_partition_calls.alter_consumer_group_offsets, wanted=request[0], options=options)
        return _start(self._open_for(options), work, options, futures, _fill_all)

    @c_arguments("zd")
    def list_groups(self, group: str | None = None, timeout: float = -1) -> list[GroupMetadata]:
        """All groups or one, with the members that speak the classic protocol. Waits up to `timeout` seconds,
        without end if it is negative. Deprecated: `list_consumer_groups`, `describe_consumer_groups`.

        Raises: KafkaException.
        """
        warnings.warn(
            "list_groups() is deprecated, use list_consumer_groups() and describe_consumer_groups() instead.",
            category=DeprecationWarning,
            stacklevel=3,
        )
        session = self._open(HANDLE_CLOSED)
        return session.run(
            partial(_group_calls.list_groups, group_id=group), metadata.timeout_seconds(timeout)
        )

    # Passwords

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Logs in with these from now on, where the mechanism is PLAIN or SCRAM. Open connections stay."""
        _set_credentials(self, username, password)

    def describe_user_scram_credentials(
        self, users: list[str] | None = None, **kwargs: Any
    ) -> (
        Future[dict[str, UserScramCredentialsDescription]]
        | dict[str, Future[UserScramCredentialsDescription]]
    ):
        """For which mechanisms users have passwords. None: of all users, as one future of a dict."""
        _checks.check_users(users)
        options = ARGUMENTS.ask(users, None, **kwargs)
        session = self._open_for(options)
        work = partial(_scram_calls.describe_user_scram_credentials, users=users, options=options)
        if users is None:
            return _start_one(session, work, options)
        return _start(session, work, options, _futures(users), _fill)

    def alter_user_scram_credentials(
        self, alterations: list[UserScramCredentialAlteration], **kwargs: Any
    ) -> dict[str, Future[None]]:
        """Gives users passwords or takes them away; a future for each user."""
        _checks.check_alterations(alterations)
        futures = _futures(alteration.user for alteration in alterations)
        options = ARGUMENTS.ask(alterations, None, **kwargs)
        work = partial(
            _scram_calls.alter_user_scram_credentials, alterations=list(alterations), options=options
        )
        return _start(self._open_for(options), work, options, futures, _fill)

    # Partitions

    def list_offsets(
        self, topic_partition_offsets: dict[TopicPartition, OffsetSpec], **kwargs: Any
    ) -> dict[TopicPartition, Future[ListOffsetsResultInfo]]:
        """The offsets that specs ask for, of several partitions. `isolation_level`: an IsolationLevel."""
        _checks.check_listed_offsets(topic_partition_offsets, kwargs)
        partitions = [
            TopicPartition(partition.topic, partition.partition, spec._value)
            for partition, spec in topic_partition_offsets.items()
        ]
        level = kwargs["isolation_level"].value if "isolation_level" in kwargs else 0
        options = ARGUMENTS.list_offsets(partitions, None, **kwargs)
        work = partial(
            _partition_calls.list_offsets, partitions=partitions, isolation_level=level, options=options
        )
        return _start(self._open_for(options), work, options, _futures(partitions), _fill)

    def delete_records(
        self, topic_partition_offsets: list[TopicPartition], **kwargs: Any
    ) -> dict[TopicPartition, Future[DeletedRecords]]:
        """Deletes the records of partitions below their `offset`; all of them where that is OFFSET_END."""
        _checks.check_deleted_records(topic_partition_offsets)
        futures = _futures(topic_partition_offsets)
        options = ARGUMENTS.delete_records(topic_partition_offsets, None, **kwargs)
        work = partial(
            _partition_calls.delete_records, partitions=list(topic_partition_offsets), options=options
        )
        return _start(self._open_for(options), work, options, futures, _fill)

    def elect_leaders(
        self, election_type: ElectionType, partitions: list[TopicPartition] | None = None, **kwargs: Any
    ) -> Future[dict[TopicPartition, KafkaError | None]]:
        """Has leaders elected for partitions or, for None, wherever there is something to do. The result has
        the error of each partition, or None."""
        _checks.check_election(election_type, partitions)
        options = ARGUMENTS.elect_leaders(election_type.value, partitions, None, **kwargs)
        work = partial(
            _partition_calls.elect_leaders,
            election_type=election_type.value,
            partitions=partitions,
            options=options,
        )
        return _start_one(self._open_for(options), work, options)

    # The client itself

    @c_arguments("d")
    def poll(self, timeout: float) -> int:
        """Calls the callbacks of the configuration that wait, or waits for one up to `timeout` seconds,
        without end if it is negative. Gives the number of events that it served. Futures do not need it."""
        self._open()
        return self._events.serve(timeout)

    def __len__(self) -> int:
        return 0 if self._session is None else len(self._events)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *arguments: Any) -> None:
        if len(arguments) != 3:
            raise TypeError(f"__exit__ expected 3 arguments, got {len(arguments)}")
        session, self._session = self._session, None
        if session is not None:
            self._closes()

    def __getstate__(self) -> NoReturn:
        raise no_state(self)

    def _open(self, complaint: str = CLOSED) -> AdminSession:
        if self._session is None:
            raise RuntimeError(complaint)
        return self._session

    def _open_for(self, options: CallOptions) -> AdminSession:
        """Raises: RuntimeError, when the client is closed; ValueError for an option that is out of range."""
        session = self._open()
        options.check_ranges()
        return session


@c_arguments("ss")
def _set_credentials(client: AdminClient, username: str, password: str) -> None:
    session = client._open(HANDLE_CLOSED)
    session.set_credentials(username, password)


def _close(session: AdminSession, events: ClientEvents) -> None:
    events.detach()
    session.close()


def _future() -> Future[Any]:
    future: Future[Any] = Future()
    # What is under way cannot be cancelled.
    future.set_running_or_notify_cancel()
    return future


def _futures(keys: Iterable[_Key]) -> dict[_Key, Future[Any]]:
    return {key: _future() for key in keys}


def _start(
    session: AdminSession,
    work: Operation,
    options: CallOptions,
    futures: dict[_Key, Future[Any]],
    fill: Callable[[dict[Any, Future[Any]], Any], None],
) -> dict[_Key, Future[Any]]:
    def outcome(result: Any, error: KafkaException | None) -> None:
        failure: Exception | None = error
        if failure is None:
            try:
                fill(futures, result)
            except RuntimeError as mismatch:
                failure = mismatch
        if failure is not None:
            for future in futures.values():
                future.set_exception(failure)

    session.start(work, options.timeout_ms, outcome)
    return futures


def _start_one(session: AdminSession, work: Operation, options: CallOptions) -> Future[Any]:
    future = _future()

    def outcome(result: Any, error: KafkaException | None) -> None:
        _finish(future, result if error is None else error)

    session.start(work, options.timeout_ms, outcome)
    return future


def _finish(future: Future[Any], result: Any) -> None:
    if isinstance(result, KafkaError):
        future.set_exception(KafkaException(result))
    elif isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)


def _fill(futures: dict[Any, Future[Any]], results: Mapping[Any, Any]) -> None:
    """Gives each future the result of its key."""
    if len(results) != len(futures):
        raise RuntimeError(
            f"Results length {len(results)} is different from future-map length {len(futures)}"
        )
    for key in results:
        if key not in futures:
            raise RuntimeError(f"Key {key} not found in future-map: {futures}")
    for key, result in results.items():
        _finish(futures[key], result)


def _fill_topics(futures: dict[Any, Future[Any]], results: Mapping[Any, Any]) -> None:
    for topic in results:
        if topic not in futures:
            raise RuntimeError(f"Topic {topic} not found in future-map: {futures}")
    for topic, result in results.items():
        _finish(futures[topic], result)


def _fill_in_order(futures: dict[Any, Future[Any]], results: Mapping[Any, Any]) -> None:
    for future, result in zip(futures.values(), results.values(), strict=True):
        _finish(future, result)


def _fill_all(futures: dict[Any, Future[Any]], result: Any) -> None:
    for future in futures.values():
        _finish(future, result)


def _code_of(error: KafkaException | None) -> int:
    return KafkaError._FAIL if error is None else error.args[0].code()

"""The generations of kafka-python, and which of them this process is to see.

Owns the choice, and what a generation is: all that differs between them stands in this folder, as tables
that the documentation is made from. Code asks `generation()` for a value and never for its name. Knows no
client.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from barnabas.compat.kafka_python.generations.admin import (
    ACL_OPERATIONS_OF_2,
    ACL_OPERATIONS_OF_3,
    ACL_RESOURCE_TYPES_OF_2,
    ACL_RESOURCE_TYPES_OF_3,
    ADMIN_NAMES_OF_2,
    ADMIN_NAMES_OF_3,
    CONFIG_RESOURCE_TYPES_OF_2,
    CONFIG_RESOURCE_TYPES_OF_3,
)
from barnabas.compat.kafka_python.generations.consumer import (
    CONSUMER_REFUSALS_OF_1,
    CONSUMER_REFUSALS_OF_2,
    CONSUMER_REFUSALS_OF_3,
)
from barnabas.compat.kafka_python.generations.errors import (
    ERRORS_OF_1,
    ERRORS_OF_2,
    ERRORS_OF_3,
    MORE_NAMES_OF_ERRORS_OF_1,
    ErrorClass,
)
from barnabas.compat.kafka_python.generations.log_lines import LOG_LINES_OF_1, LOG_LINES_OF_2, LOG_LINES_OF_3
from barnabas.compat.kafka_python.generations.metrics import (
    METRIC_NAMES_OF_1,
    METRIC_NAMES_OF_2,
    METRIC_NAMES_OF_3,
)
from barnabas.compat.kafka_python.generations.names import (
    KAFKA_NAMES_OF_1,
    KAFKA_NAMES_OF_2,
    KAFKA_NAMES_OF_3,
)
from barnabas.compat.kafka_python.generations.producer import (
    PARTITIONER_NAMES_OF_1,
    PARTITIONER_NAMES_OF_2,
    PARTITIONER_NAMES_OF_3,
    SEND_REFUSALS_OF_1,
    SEND_REFUSALS_OF_2,
    SEND_REFUSALS_OF_3,
)
from barnabas.compat.kafka_python.generations.structs import (
    STRUCTS_OF_1,
    STRUCTS_OF_2,
    STRUCTS_OF_3,
    StructFields,
)
from barnabas.errors import InvalidSettingError, MisuseError

__all__ = [
    "ENVIRONMENT_VARIABLE",
    "GENERATIONS",
    "Generation",
    "choose",
    "differences",
    "generation",
    "generation_of",
]

ENVIRONMENT_VARIABLE = "BARNABAS_KAFKA_PYTHON"
_FACADE = "barnabas.compat.kafka"


def difference(meaning: str) -> Any:
    """A field of Generation, with the sentence that the documentation has for it."""
    return field(metadata={"meaning": meaning})


@dataclass(frozen=True)
class Generation:
    """How one generation of kafka-python behaves, where they contradict each other."""

    name: str
    """As it is chosen: "1.2", "2" or "3"."""
    version: str
    """Of the release that it is held to, by tests that run both."""
    kafka_names: tuple[str, ...] = difference("What `from kafka import *` gives")
    kafka_client: str = difference("The module that `kafka.KafkaClient` is of")
    consumer_record_fields: tuple[str, ...] = difference("The fields of a ConsumerRecord, in order")
    errors: tuple[ErrorClass, ...] = difference("The classes of kafka.errors")
    errors_of_a_kind_have_a_base: bool = difference(
        "Whether errors that may be tried again descend from RetriableError or InvalidMetadataError"
    )
    authorization_errors_have_a_base: bool = difference(
        "Whether errors of authorization descend from AuthorizationError"
    )
    error_text: str = difference("What str() gives of an error without arguments")
    error_text_with_arguments: str = difference("What str() gives of an error with arguments")
    broker_error_text: str = difference("What str() gives of an error that a broker answered")
    errors_are_equal_by_arguments: bool = difference(
        "Whether errors of the same class and arguments are equal"
    )
    unknown_codes_have_a_class: bool = difference(
        "Whether `for_code` makes a class for a code that it does not know, in place of UnknownError"
    )
    more_names_of_errors: tuple[str, ...] = difference("What else `from kafka.errors import *` gives")
    structs: tuple[StructFields, ...] = difference("The named tuples of kafka.structs")
    more_names_of_structs: tuple[str, ...] = difference("What else `from kafka.structs import *` gives")
    structs_give_errors: bool = difference("Whether `from kafka.structs import *` gives the errors as well")
    no_brokers: tuple[str, ...] = difference("What is raised when no bootstrap server answers, and its text")
    truncated_logs_are_told: bool = difference(
        "Whether a consumer raises LogTruncationError, in place of OffsetOutOfRangeError"
    )
    commit_failed_text: str | None = difference("What a CommitFailedError says that was given nothing to say")
    admin_names: tuple[str, ...] = difference("What `from kafka.admin import *` gives")
    admin_answers_are_dicts: bool = difference(
        "Whether KafkaAdminClient answers with dictionaries, in place of structs of the protocol"
    )
    admin_bootstrap_setting: str = difference(
        "The setting that says how long KafkaAdminClient looks for brokers"
    )
    admin_finds_api_version: bool = difference(
        "Whether KafkaAdminClient puts the version that it found of brokers into its config"
    )
    bootstrap_tells_of_refusals: bool = difference(
        "Whether a KafkaAdminClient that no broker lets in says so, in place of that it found none"
    )
    closed_admin: tuple[Any, ...] = difference(
        "What the calls of a closed KafkaAdminClient raise, and its text"
    )
    cli_arguments_are_shared: bool = difference(
        "Whether `python -m kafka.admin`, `.consumer` and `.producer` take the same arguments for "
        "connections and logging, and commands are in groups"
    )
    cli_consumer_needs_group: bool = difference("Whether `python -m kafka.consumer` needs --group")
    config_resource_types: Mapping[str, int] = difference("The members of ConfigResourceType")
    config_resource_text: str = difference("What str() gives of a ConfigResource")
    acl_resource_types: Mapping[str, int] = difference("The members of ResourceType")
    acl_operations: Mapping[str, int] = difference("The members of ACLOperation")
    consumer_refusals: Mapping[str, tuple[str, str]] = difference(
        "What KafkaConsumer raises for calls that cannot be, and its text"
    )
    connections_outlast_requests: bool = difference(
        "Whether connections_max_idle_ms has to be more than request_timeout_ms, and that more than "
        "fetch_max_wait_ms"
    )
    requests_outlast_sessions: bool = difference(
        "Whether request_timeout_ms has to be more than session_timeout_ms"
    )
    consumer_bootstrap_setting: str = difference(
        "The setting that says how long KafkaConsumer looks for brokers"
    )
    topic_names_are_checked: bool = difference("Whether KafkaConsumer refuses impossible names of topics")
    listeners_errors_are_raised: bool = difference(
        "Whether what a ConsumerRebalanceListener raises comes out of poll(), besides being logged"
    )
    serializers_take_headers: bool = difference(
        "Whether serializers and deserializers get a record's headers, and functions in their place are "
        "warned of"
    )
    commit_result: bool | None = difference(
        "What the future of an asynchronous commit has, and its callback gets"
    )
    commit_failures_tell_why: bool = difference(
        "Whether a CommitFailedError has what the broker answered, in place of advice"
    )
    unknown_topics_have_no_partitions: bool = difference(
        "Whether partitions_for_topic() gives an empty set for a topic that there is not, in place of None"
    )
    listeners_may_be_coroutines: bool = difference(
        "Whether KafkaConsumer.subscribe() takes an AsyncConsumerRebalanceListener"
    )
    positions_have_epochs: bool = difference(
        "Whether a consumer tells the leader epochs of what it commits and finds committed"
    )
    missing_offsets_are_a_set: bool = difference(
        "Whether a NoOffsetForPartitionError has a set of partitions, in place of one"
    )
    listeners_hear_of_closing: bool = difference(
        "Whether a ConsumerRebalanceListener hears of the partitions that a consumer gives up when it closes"
    )
    member_topics_name: str = difference("The field of a member's metadata that has its topics")
    assignors_see_members: str = difference(
        'What an assignor gets of the members: a dict of "structs", of "subscriptions", or a "list"'
    )
    futures_are_done_by_another_thread: bool = difference(
        "Whether futures are done without a call that waits for brokers, by the client's own thread"
    )

    structs_of_messages: str = difference("Whose structs of fixed versions kafka.protocol has, by generation")
    messages_are_unversioned: bool = difference(
        "Whether names such as kafka.protocol.metadata.MetadataRequest are classes whose objects have a "
        "version, in place of lists of structs"
    )
    misfits_are_explained: bool = difference(
        "Whether the ValueError for a value that does not fit its type in a struct says which value it is"
    )
    long_bytes_are_cut: bool = difference(
        "Whether the text of a struct shows the beginning of long bytes only"
    )
    structs_check_their_names: bool = difference(
        "Whether a struct refuses values by names that it does not have, and is None where none is given"
    )
    member_assignment_name: str = difference("The field of a MemberAssignment that has the partitions")
    futures_complete_once: bool = difference(
        "Whether a Future that is complete raises AssertionError where it is completed again"
    )
    failure_without_exception: str = difference("What `Future.failure` raises for what is no exception")
    retriable_errors_have_a_base: bool = difference(
        "Whether `Future.retriable` looks for RetriableError, in place of an attribute `retriable`"
    )
    futures_have_attributes: bool = difference("Whether a program may set attributes of its own of a Future")
    record_metadata_has_sizes: bool = difference(
        "Whether a RecordMetadata tells of a checksum and sizes as well, and of the record's own timestamp "
        "where the topic has no other"
    )
    log_append_time: int = difference("What `Message.timestamp_type` is where the broker gave the time")
    partitioner_names: tuple[str, ...] = difference("What `from kafka.partitioner import *` gives")
    murmur2_takes_anything: bool = difference(
        "Whether `murmur2` hashes the text of what is no bytes, in place of raising TypeError"
    )
    partitioners_see_cluster: bool = difference(
        "Whether a producer's partitioner has a method `partition` that gets topic, key, value and cluster, "
        "in place of being called with the key, all partitions and those that are available"
    )
    send_takes_headers: bool = difference("Whether `KafkaProducer.send` has a parameter `headers`")
    send_refusals: Mapping[str, tuple[str, str]] = difference(
        "What `KafkaProducer.send` raises for a record that cannot be"
    )
    errors_in_futures: str = difference(
        "What of the errors that `KafkaProducer.send` meets is left to the future that it gives, in place of "
        "being raised"
    )
    too_large_is_raised: bool = difference(
        "Whether `KafkaProducer.send` raises MessageSizeTooLargeError, in place of leaving it to the future"
    )
    metadata_timeout_texts: tuple[str, ...] = difference(
        "The arguments of the KafkaTimeoutError where a topic's partitions are not known in time"
    )
    flush_timeout: str = difference("What `KafkaProducer.flush` raises when its time is up")
    close_flushes: bool = difference(
        "Whether `KafkaProducer.close` raises, and leaves the producer open, where records are not "
        "delivered in its time; they fail otherwise"
    )
    idempotence_is_overridden: bool = difference(
        "Whether `enable_idempotence` is turned off, with a warning, where it is the default and another "
        "setting excludes it"
    )
    idempotent_requests_in_flight: int = difference(
        "How many requests to a broker an idempotent producer may have under way"
    )
    codecs_are_checked_early: bool = difference(
        "Whether the constructor of KafkaProducer refuses an unknown `compression_type`, in place of send"
    )
    producer_bootstrap_setting: str | None = difference(
        "The setting that says how long KafkaProducer looks for brokers"
    )
    batch_overhead_bytes: int = difference("What counts towards max_request_size besides key and value")
    payloads_are_bytes_only: bool = difference(
        "Whether keys and values are bytes, and no other objects that hold some"
    )
    aborted_record: tuple[str, ...] = difference(
        "The exception of a record that was not sent when its transaction was aborted, and its text"
    )
    broker_versions_are_texts: bool = difference(
        "Whether KafkaProducer takes `api_version` as a text, such as 0.9, in place of a tuple"
    )
    deprecated_producer_settings: tuple[str, ...] = difference(
        "What KafkaProducer takes, warns of and ignores"
    )
    batch_error_arguments: tuple[None, ...] = difference(
        "The arguments of the exception of a record that a broker refused"
    )
    metrics_clock: str = difference("By which clock metrics measure: of the day, or one that never goes back")
    metrics_bases_are_abstract: bool = difference(
        "Whether subclasses of the bases in `kafka.metrics` have to have all of their methods"
    )
    metric_name_refusal: str = difference("What MetricName raises for arguments that make no name")
    quota_violation_text: str = difference("The text of QuotaViolationError")
    closing_clears_metrics: bool = difference("Whether `Metrics.close` leaves no metric")
    metric_names: Mapping[str, tuple[str, ...]] = difference("The names of the metrics of clients, by group")
    log_lines: Mapping[str, tuple[tuple[str, str, str], ...]] = difference(
        "What is logged at WARNING and ERROR of what happens to a client"
    )

    connections_tell_their_socket: bool = difference(
        "Whether state_change_callback of a BrokerConnection gets (node_id, sock, connection), in place of "
        "the connection"
    )
    recv_completes_futures: bool = difference(
        "Whether BrokerConnection.recv completes the future of the answer that it returns, in place of a "
        "list of answers with their futures"
    )
    closed_connections_cancel: bool = difference(
        "Whether what is under way fails with Cancelled when a connection is closed without an error, in "
        "place of ConnectionError"
    )
    connection_text: str = difference("What str() gives of a BrokerConnection")
    version_of_every_broker: str | None = difference(
        "What check_version gives for every broker of today, in place of a tuple of its version"
    )
    cluster_has_bootstrap_brokers: bool = difference(
        "Whether bootstrap_servers are the brokers of ClusterMetadata until others are known, in place of "
        "that KafkaClient asks one of them before its constructor returns"
    )
    cluster_text: str = difference("What str() gives of a ClusterMetadata")
    nodes_must_be_known: bool = difference(
        "Whether KafkaClient.send to a node that is unknown raises an AssertionError"
    )

    sasl_complaint: str = difference("What a SASL mechanism raises that lacks settings")
    sasl_home: str = difference("The package that has the SASL mechanisms")


_CONSUMER_RECORD_OF_1 = ("topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value")
_CONSUMER_RECORD_OF_2 = (
    *(
        "topic",
        "partition",
        "leader_epoch",
        "offset",
        "timestamp",
        "timestamp_type",
        "key",
        "value",
        "headers",
    ),
    *("checksum", "serialized_key_size", "serialized_value_size", "serialized_header_size"),
)
_COMMIT_FAILED = (
    "Commit cannot be completed since the group has already rebalanced and assigned the partitions to "
    "another member."
)

_CONNECTION_TEXT = (
    "<BrokerConnection client_id={client_id}, node_id={node_id} host={host}:{port} {state} "
    "[{family} {address}]>"
)
_CLUSTER_TEXT = "ClusterMetadata(brokers: {brokers}, topics: {topics}, coordinators: {coordinators})"

GENERATIONS = {
    each.name: each
    for each in (
        Generation(
            name="1.2",
            version="1.2.1",
            kafka_names=KAFKA_NAMES_OF_1,
            kafka_client="kafka._legacy_client",
            consumer_record_fields=_CONSUMER_RECORD_OF_1,
            errors=ERRORS_OF_1,
            errors_of_a_kind_have_a_base=False,
            authorization_errors_have_a_base=False,
            error_text="",
            error_text_with_arguments="{arguments}",
            broker_error_text="{name} - {errno} - {description}",
            errors_are_equal_by_arguments=False,
            unknown_codes_have_a_class=False,
            more_names_of_errors=MORE_NAMES_OF_ERRORS_OF_1,
            structs=STRUCTS_OF_1,
            more_names_of_structs=(),
            structs_give_errors=True,
            no_brokers=("NoBrokersAvailable",),
            truncated_logs_are_told=False,
            commit_failed_text=None,
            admin_names=ADMIN_NAMES_OF_2,
            admin_answers_are_dicts=False,
            admin_bootstrap_setting="api_version_auto_timeout_ms",
            admin_finds_api_version=True,
            bootstrap_tells_of_refusals=False,
            closed_admin=("NodeNotReadyError",),
            cli_arguments_are_shared=False,
            cli_consumer_needs_group=True,
            config_resource_types=CONFIG_RESOURCE_TYPES_OF_2,
            config_resource_text="ConfigResource {type}={name}",
            acl_resource_types=ACL_RESOURCE_TYPES_OF_2,
            acl_operations=ACL_OPERATIONS_OF_2,
            consumer_refusals=CONSUMER_REFUSALS_OF_1,
            connections_outlast_requests=False,
            requests_outlast_sessions=False,
            consumer_bootstrap_setting="api_version_auto_timeout_ms",
            topic_names_are_checked=False,
            listeners_errors_are_raised=False,
            serializers_take_headers=False,
            commit_result=True,
            commit_failures_tell_why=False,
            unknown_topics_have_no_partitions=False,
            listeners_may_be_coroutines=False,
            positions_have_epochs=False,
            missing_offsets_are_a_set=False,
            listeners_hear_of_closing=False,
            member_topics_name="subscription",
            assignors_see_members="structs",
            futures_are_done_by_another_thread=False,
            structs_of_messages="1.2",
            messages_are_unversioned=False,
            misfits_are_explained=False,
            long_bytes_are_cut=False,
            structs_check_their_names=False,
            member_assignment_name="partition_assignment",
            futures_complete_once=True,
            failure_without_exception="AssertionError",
            retriable_errors_have_a_base=False,
            futures_have_attributes=True,
            record_metadata_has_sizes=False,
            connections_tell_their_socket=False,
            recv_completes_futures=True,
            closed_connections_cancel=False,
            connection_text="<BrokerConnection host={host}/{host} port={port}>",
            version_of_every_broker="0.10",
            cluster_has_bootstrap_brokers=False,
            cluster_text="Cluster(brokers: {brokers}, topics: {topics}, groups: {coordinators})",
            nodes_must_be_known=True,
            log_append_time=8,
            partitioner_names=PARTITIONER_NAMES_OF_1,
            send_refusals=SEND_REFUSALS_OF_1,
            murmur2_takes_anything=True,
            partitioners_see_cluster=False,
            send_takes_headers=False,
            errors_in_futures="Exception",
            too_large_is_raised=False,
            metadata_timeout_texts=("Failed to update metadata after %s secs.", "{seconds}"),
            flush_timeout="AssertionError",
            close_flushes=False,
            idempotence_is_overridden=False,
            idempotent_requests_in_flight=5,
            codecs_are_checked_early=False,
            producer_bootstrap_setting=None,
            batch_overhead_bytes=34,
            payloads_are_bytes_only=True,
            aborted_record=("KafkaError", "Failing batch since transaction was aborted"),
            broker_versions_are_texts=True,
            deprecated_producer_settings=(),
            batch_error_arguments=(),
            metrics_clock="time",
            metrics_bases_are_abstract=False,
            metric_name_refusal="Exception",
            quota_violation_text="({name}) violated quota. Actual: ({bound}), Threshold: ({value})",
            closing_clears_metrics=False,
            metric_names=METRIC_NAMES_OF_1,
            log_lines=LOG_LINES_OF_1,
            sasl_complaint="AssertionError",
            sasl_home="kafka.sasl",
        ),
        Generation(
            name="2",
            version="2.3.1",
            kafka_names=KAFKA_NAMES_OF_2,
            kafka_client="kafka.client_async",
            consumer_record_fields=_CONSUMER_RECORD_OF_2,
            errors=ERRORS_OF_2,
            errors_of_a_kind_have_a_base=False,
            authorization_errors_have_a_base=True,
            error_text="{name}",
            error_text_with_arguments="{name}: {arguments}",
            broker_error_text="[Error {errno}] {text}",
            errors_are_equal_by_arguments=True,
            unknown_codes_have_a_class=True,
            more_names_of_errors=(),
            structs=STRUCTS_OF_2,
            more_names_of_structs=(),
            structs_give_errors=False,
            no_brokers=("NoBrokersAvailable",),
            truncated_logs_are_told=False,
            commit_failed_text=_COMMIT_FAILED,
            admin_names=ADMIN_NAMES_OF_2,
            admin_answers_are_dicts=False,
            admin_bootstrap_setting="api_version_auto_timeout_ms",
            admin_finds_api_version=True,
            bootstrap_tells_of_refusals=False,
            closed_admin=("NodeNotReadyError",),
            cli_arguments_are_shared=False,
            cli_consumer_needs_group=True,
            config_resource_types=CONFIG_RESOURCE_TYPES_OF_2,
            config_resource_text="ConfigResource {type}={name}",
            acl_resource_types=ACL_RESOURCE_TYPES_OF_2,
            acl_operations=ACL_OPERATIONS_OF_2,
            consumer_refusals=CONSUMER_REFUSALS_OF_2,
            connections_outlast_requests=True,
            requests_outlast_sessions=True,
            consumer_bootstrap_setting="api_version_auto_timeout_ms",
            topic_names_are_checked=True,
            listeners_errors_are_raised=False,
            serializers_take_headers=False,
            commit_result=None,
            commit_failures_tell_why=True,
            unknown_topics_have_no_partitions=True,
            listeners_may_be_coroutines=False,
            positions_have_epochs=False,
            missing_offsets_are_a_set=True,
            listeners_hear_of_closing=False,
            member_topics_name="topics",
            assignors_see_members="subscriptions",
            futures_are_done_by_another_thread=False,
            structs_of_messages="2",
            messages_are_unversioned=False,
            misfits_are_explained=True,
            long_bytes_are_cut=True,
            structs_check_their_names=True,
            member_assignment_name="assignment",
            futures_complete_once=True,
            failure_without_exception="AssertionError",
            retriable_errors_have_a_base=False,
            futures_have_attributes=True,
            record_metadata_has_sizes=True,
            connections_tell_their_socket=True,
            recv_completes_futures=False,
            closed_connections_cancel=True,
            connection_text=_CONNECTION_TEXT,
            version_of_every_broker=None,
            cluster_has_bootstrap_brokers=True,
            cluster_text=_CLUSTER_TEXT,
            nodes_must_be_known=False,
            log_append_time=1,
            partitioner_names=PARTITIONER_NAMES_OF_2,
            send_refusals=SEND_REFUSALS_OF_2,
            murmur2_takes_anything=False,
            partitioners_see_cluster=False,
            send_takes_headers=True,
            errors_in_futures="BrokerResponseError",
            too_large_is_raised=False,
            metadata_timeout_texts=("Failed to update metadata after {seconds:.1f} secs.",),
            flush_timeout="KafkaTimeoutError",
            close_flushes=True,
            idempotence_is_overridden=False,
            idempotent_requests_in_flight=1,
            codecs_are_checked_early=True,
            producer_bootstrap_setting="api_version_auto_timeout_ms",
            batch_overhead_bytes=82,
            payloads_are_bytes_only=False,
            aborted_record=("KafkaError", "Failing batch since transaction was aborted"),
            broker_versions_are_texts=False,
            deprecated_producer_settings=("buffer_memory",),
            batch_error_arguments=(None,),
            metrics_clock="time",
            metrics_bases_are_abstract=True,
            metric_name_refusal="ValueError",
            quota_violation_text="'{name}' violated quota. Actual: {value}, Threshold: {bound}",
            closing_clears_metrics=True,
            metric_names=METRIC_NAMES_OF_2,
            log_lines=LOG_LINES_OF_2,
            sasl_complaint="AssertionError",
            sasl_home="kafka.sasl",
        ),
        Generation(
            name="3",
            version="3.0.12",
            kafka_names=KAFKA_NAMES_OF_3,
            kafka_client="kafka.client_async",
            consumer_record_fields=_CONSUMER_RECORD_OF_2,
            errors=ERRORS_OF_3,
            errors_of_a_kind_have_a_base=True,
            authorization_errors_have_a_base=True,
            error_text="{name}",
            error_text_with_arguments="{name}: {arguments}",
            broker_error_text="[Error {errno}] {text}",
            errors_are_equal_by_arguments=True,
            unknown_codes_have_a_class=True,
            more_names_of_errors=(),
            structs=STRUCTS_OF_3,
            more_names_of_structs=("MemberState",),
            structs_give_errors=False,
            no_brokers=("KafkaTimeoutError", "Unable to bootstrap from {servers}"),
            truncated_logs_are_told=True,
            commit_failed_text=_COMMIT_FAILED,
            admin_names=ADMIN_NAMES_OF_3,
            admin_answers_are_dicts=True,
            admin_bootstrap_setting="bootstrap_timeout_ms",
            admin_finds_api_version=False,
            bootstrap_tells_of_refusals=True,
            closed_admin=("RuntimeError", "NetworkSelector closed!"),
            cli_arguments_are_shared=True,
            cli_consumer_needs_group=False,
            config_resource_types=CONFIG_RESOURCE_TYPES_OF_3,
            config_resource_text="ConfigResource {name}={type}",
            acl_resource_types=ACL_RESOURCE_TYPES_OF_3,
            acl_operations=ACL_OPERATIONS_OF_3,
            consumer_refusals=CONSUMER_REFUSALS_OF_3,
            connections_outlast_requests=True,
            requests_outlast_sessions=False,
            consumer_bootstrap_setting="bootstrap_timeout_ms",
            topic_names_are_checked=True,
            listeners_errors_are_raised=True,
            serializers_take_headers=True,
            commit_result=None,
            commit_failures_tell_why=True,
            unknown_topics_have_no_partitions=True,
            listeners_may_be_coroutines=True,
            positions_have_epochs=True,
            missing_offsets_are_a_set=True,
            listeners_hear_of_closing=True,
            member_topics_name="topics",
            assignors_see_members="list",
            futures_are_done_by_another_thread=True,
            structs_of_messages="3",
            messages_are_unversioned=True,
            misfits_are_explained=True,
            long_bytes_are_cut=True,
            structs_check_their_names=True,
            member_assignment_name="assignment",
            futures_complete_once=False,
            failure_without_exception="TypeError",
            retriable_errors_have_a_base=True,
            futures_have_attributes=False,
            record_metadata_has_sizes=True,
            connections_tell_their_socket=True,
            recv_completes_futures=False,
            closed_connections_cancel=True,
            connection_text=_CONNECTION_TEXT,
            version_of_every_broker=None,
            cluster_has_bootstrap_brokers=True,
            cluster_text=_CLUSTER_TEXT,
            nodes_must_be_known=False,
            log_append_time=1,
            partitioner_names=PARTITIONER_NAMES_OF_3,
            send_refusals=SEND_REFUSALS_OF_3,
            murmur2_takes_anything=False,
            partitioners_see_cluster=True,
            send_takes_headers=True,
            errors_in_futures="BrokerResponseError",
            too_large_is_raised=True,
            metadata_timeout_texts=("Failed to update metadata after {seconds:.1f} secs.",),
            flush_timeout="KafkaTimeoutError",
            close_flushes=True,
            idempotence_is_overridden=True,
            idempotent_requests_in_flight=5,
            codecs_are_checked_early=True,
            producer_bootstrap_setting="bootstrap_timeout_ms",
            batch_overhead_bytes=82,
            payloads_are_bytes_only=False,
            aborted_record=("TransactionAbortedError",),
            broker_versions_are_texts=False,
            deprecated_producer_settings=(),
            batch_error_arguments=(None,),
            metrics_clock="monotonic",
            metrics_bases_are_abstract=True,
            metric_name_refusal="ValueError",
            quota_violation_text="'{name}' violated quota. Actual: {value}, Threshold: {bound}",
            closing_clears_metrics=True,
            metric_names=METRIC_NAMES_OF_3,
            log_lines=LOG_LINES_OF_3,
            sasl_complaint="KafkaConfigurationError",
            sasl_home="kafka.net.sasl",
        ),
    )
}
"""By the names that they are chosen by."""

_NEWEST = "3"
_chosen: list[str] = []


def choose(version: str) -> None:
    """Has this process see the generation of a version of kafka-python, such as "1.2", "2" or "3.0.12".

    Raises: InvalidSettingError for one that there is not, MisuseError once the facade is imported as another.
    """
    name = generation_of(version)
    if _FACADE in sys.modules and generation().name != name:
        raise MisuseError(
            f"kafka is imported already as kafka-python {generation().name}: choose {name} before anything "
            "imports it"
        )
    _chosen[:] = [name]
    generation.cache_clear()


@cache
def generation() -> Generation:
    """The one that was chosen, else that of the environment variable BARNABAS_KAFKA_PYTHON, else the newest.
    Raises: InvalidSettingError."""
    if _chosen:
        return GENERATIONS[_chosen[0]]
    return GENERATIONS[generation_of(os.environ.get(ENVIRONMENT_VARIABLE) or _NEWEST)]


def generation_of(version: str) -> str:
    """The name of the generation that a version of kafka-python is of. Raises: InvalidSettingError."""
    for name in GENERATIONS:
        if f"{version}.".startswith(f"{name}."):
            return name
    if version == "1":
        return "1.2"
    raise InvalidSettingError(
        f"there is no facade for kafka-python {version}: {ENVIRONMENT_VARIABLE}, install(version=...) and "
        f"--kafka-python take {', '.join(GENERATIONS)}"
    )


def differences() -> dict[str, str]:
    """What may differ between generations, by the name of its field: the sentence for it."""
    return {each.name: each.metadata["meaning"] for each in fields(Generation) if "meaning" in each.metadata}

"""What a generation of kafka-python is: all in which they contradict each other, with a sentence for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from barnabas.compat.kafka_engine.generations.errors import ErrorClass
from barnabas.compat.kafka_engine.generations.structs import StructFields

__all__ = ["Generation", "differences"]


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
        "Whether a ConsumerRebalanceListener is called with the partitions that a consumer gives up when it "
        "closes"
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

    clusters_track_topics: bool = difference(
        "Whether ClusterMetadata keeps which topics are wanted, gives `brokers()` as a list without "
        "bootstrap_servers, and raises what a coordinator answered"
    )
    connections_take_expectation: bool = difference(
        "Whether the second parameter of BrokerConnection.send is `expect_response`, in place of `blocking`"
    )
    message_set_size_name: str = difference(
        "The parameter of MessageSet.encode that says whether the size of the set comes first"
    )
    transactions_take_group_metadata: bool = difference(
        "Whether send_offsets_to_transaction takes a ConsumerGroupMetadata or a name as `group_metadata`, in "
        "place of a name as `consumer_group_id`"
    )


def differences() -> dict[str, str]:
    """What may differ between generations, by the name of its field: the sentence for it."""
    return {each.name: each.metadata["meaning"] for each in fields(Generation) if "meaning" in each.metadata}

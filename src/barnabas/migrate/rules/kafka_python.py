"""What changed between generations of kafka-python that the tables of the facade do not tell, and what to
write for names that are gone. Knows no sources."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.migrate.rules.change import BREAKS, CHANGES, Change, Use

__all__ = ["CHANGES_OF_KAFKA_PYTHON", "INSTEAD", "INSTEAD_OF_MODULES", "OVERRIDABLE"]

_PRODUCER = "kafka:KafkaProducer()"
_ADMIN = "kafka:KafkaAdminClient()"

_ADMIN_ANSWERS = (
    *("alter_configs", "create_partitions", "create_topics", "delete_topics"),
    *("describe_configs", "describe_log_dirs"),
)
"""Of these calls, structs of the protocol in 2."""

CHANGES_OF_KAFKA_PYTHON: tuple[Change, ...] = (
    Change(
        "kafka:ConsumerRecord()",
        "2",
        BREAKS,
        "a ConsumerRecord had 7 fields and has 13: unpacking it is a ValueError, and a number means another "
        "field",
        "take the fields by name: record.topic, record.value, ...",
        Use.UNPACKED,
    ),
    Change(
        "kafka:RecordMetadata()",
        "2",
        BREAKS,
        "a RecordMetadata had 5 fields and has 9: unpacking it is a ValueError",
        "take the fields by name: metadata.topic, metadata.offset, ...",
        Use.UNPACKED,
    ),
    Change(
        "kafka.KafkaClient",
        "2",
        BREAKS,
        "it was the old name of SimpleClient, and is the client of kafka.client_async, which has none of its "
        "calls",
        "KafkaConsumer, KafkaProducer or KafkaAdminClient",
        Use.NAMED,
        generations=("2",),
    ),
    *(
        Change(
            f"{_ADMIN}.{method}",
            "3",
            BREAKS,
            "it answered with a struct of the protocol, and answers with dictionaries: there are no "
            "attributes",
            "take values by key",
            Use.ANSWER_USED,
        )
        for method in _ADMIN_ANSWERS
    ),
    *(
        Change(
            f"{_ADMIN}.{method}",
            "3",
            BREAKS,
            "its dictionaries have Kafka's names for keys: name, partition_index, leader_id, replica_nodes "
            "and isr_nodes, where they had topic, partition, leader, replicas and isr",
            "take the value by the new key",
            Use.ANSWER_USED,
        )
        for method in ("describe_topics",)
    ),
    Change(
        "kafka:KafkaConsumer().partitions_for_topic",
        "2",
        CHANGES,
        "for a topic that there is not it gives an empty set, where it gave None",
        "`if not partitions`, in place of `is None`",
        Use.ANSWER_USED,
    ),
    *(
        Change(
            f"kafka:{kind}",
            "3",
            CHANGES,
            f"what is no {base} of kafka.serializer works on, with a DeprecationWarning",
            f"a class that extends kafka.serializer.{base}",
            argument=f"{part}_{argument}",
        )
        for kind, base, argument in (
            ("KafkaConsumer", "Deserializer", "deserializer"),
            ("KafkaProducer", "Serializer", "serializer"),
        )
        for part in ("key", "value")
    ),
    *(
        Change(
            f"kafka:{kind}",
            "3",
            CHANGES,
            "the constructor does not fail any more at once where no broker answers: it waits for "
            "bootstrap_timeout_ms, 30 seconds, and raises KafkaTimeoutError in place of NoBrokersAvailable",
            "give bootstrap_timeout_ms",
            argument="api_version_auto_timeout_ms",
        )
        for kind in ("KafkaConsumer", "KafkaProducer", "KafkaAdminClient")
    ),
    Change(
        "kafka:KafkaConsumer",
        "3",
        BREAKS,
        'the text "auto" is no version of a broker any more: the first poll of a group is a TypeError',
        "leave api_version out",
        argument="api_version",
        values=("auto",),
    ),
    Change(
        "kafka:KafkaProducer",
        "3",
        BREAKS,
        "a partitioner is an object with a method partition(), and no function: send is an AttributeError",
        "a class that extends kafka.partitioner.Partitioner",
        argument="partitioner",
    ),
    Change(
        f"{_PRODUCER}.send_offsets_to_transaction",
        "3",
        CHANGES,
        "it takes what consumer.group_metadata() gives, so that one that lost its partitions is refused",
        "send_offsets_to_transaction(offsets, consumer.group_metadata())",
    ),
)

OVERRIDABLE: Mapping[str, str] = {
    "Serializer": "it is called as serialize(topic, headers, data)",
    "Deserializer": "it is called as deserialize(topic, headers, data)",
    "Partitioner": "it is called as partition(topic, key, serialized_key, value, serialized_value, cluster)",
    "AbstractPartitionAssignor": "it is called with other arguments",
    "RangePartitionAssignor": "it is called with other arguments",
    "RoundRobinPartitionAssignor": "it is called with other arguments",
    "StickyPartitionAssignor": "it is called with other arguments",
}
"""Classes that programs extend, by why it matters what their methods take."""

_PARTITIONER = "a class that extends kafka.partitioner.Partitioner (3), or a function(key, all, available)"
_MESSAGES = "KafkaProducer makes messages itself: give it key, value and compression_type"

INSTEAD: Mapping[str, str] = {
    "SimpleClient": "KafkaConsumer and KafkaProducer; KafkaAdminClient for metadata and offsets",
    "SimpleConsumer": "KafkaConsumer(topic, group_id=..., auto_offset_reset=...)",
    "MultiProcessConsumer": "a KafkaConsumer of the same group_id in each process",
    "SimpleProducer": "KafkaProducer: send(topic, value), and flush() where it has to have arrived",
    "KeyedProducer": "KafkaProducer: send(topic, key=key, value=value)",
    "OffsetCommitContext": "KafkaConsumer with enable_auto_commit=False, and commit() after the work",
    "RoundRobinPartitioner": _PARTITIONER,
    "HashedPartitioner": _PARTITIONER,
    "LegacyPartitioner": _PARTITIONER,
    "Murmur2Partitioner": "nothing: the default partitioner goes by the same hash",
    "create_message": _MESSAGES,
    "create_gzip_message": _MESSAGES,
    "create_snappy_message": _MESSAGES,
    "create_message_set": _MESSAGES,
    "KafkaClient": "KafkaAdminClient; kafka.net.KafkaNetClient for requests of one's own (3)",
    "BrokerConnection": "KafkaAdminClient; kafka.net.KafkaConnection for requests of one's own (3)",
    "KafkaUnavailableError": "kafka.errors.KafkaConnectionError",
    "FailedPayloadsError": "kafka.errors.KafkaError",
    "BrokerMetadata": "what KafkaAdminClient.describe_cluster() gives",
    "PartitionMetadata": "what KafkaAdminClient.describe_topics() gives",
    "GroupInformation": "what KafkaAdminClient.describe_groups() gives",
    "MemberInformation": "what KafkaAdminClient.describe_groups() gives",
    "RETRY_ERROR_TYPES": "RetriableError (3), or the attribute `retriable` of an error",
    "KafkaConsumer().configure": "give the settings to KafkaConsumer()",
    "KafkaConsumer().set_topic_partitions": "assign([TopicPartition(...)]) and seek()",
    "KafkaConsumer().fetch_messages": "poll(), or iterate over the consumer",
    "KafkaConsumer().get_partition_offsets": "beginning_offsets(), end_offsets() or offsets_for_times()",
    "KafkaConsumer().offsets": "position() or committed()",
    "KafkaConsumer().task_done": "commit()",
    "KafkaAdminClient().list_consumer_groups": "list_groups(), which gives dictionaries",
    "KafkaAdminClient().describe_consumer_groups": "describe_groups(), which gives a dictionary by group",
    "KafkaAdminClient().delete_consumer_groups": "delete_groups()",
    "KafkaAdminClient().list_consumer_group_offsets": "list_group_offsets(), a dictionary by group",
    "KafkaAdminClient().perform_leader_election": "elect_leaders()",
    "KafkaAdminClient().send_request": "the call of KafkaAdminClient for it",
    "KafkaAdminClient().send_requests": "the calls of KafkaAdminClient for it",
    "KafkaClient().schedule": "a thread or timer of one's own",
    "KafkaClient().unschedule": "a thread or timer of one's own",
}
"""By a class or name, or a class's method."""

INSTEAD_OF_MODULES: Mapping[str, str] = {
    "kafka.common": "kafka.errors for errors, kafka.structs for TopicPartition and its like",
    "kafka.client": "KafkaConsumer and KafkaProducer; KafkaAdminClient for metadata and offsets",
    "kafka.client_async": "KafkaAdminClient; kafka.net for requests of one's own",
    "kafka.conn": "KafkaAdminClient; kafka.net for requests of one's own",
    "kafka.context": "KafkaConsumer with enable_auto_commit=False, and commit() after the work",
    "kafka.admin.acl_resource": "import it from kafka.admin",
    "kafka.admin.config_resource": "import it from kafka.admin",
    "kafka.admin.new_partitions": "import it from kafka.admin",
    "kafka.admin.new_topic": "import it from kafka.admin",
    "kafka.sasl": "sasl_mechanism, and sasl_oauth_token_provider for tokens of one's own",
    "kafka.sasl.oauth": "kafka.net.sasl.oauth, or any object with a method token()",
    "kafka.socks5_wrapper": "proxy_url",
    "kafka.consumer.simple": "KafkaConsumer",
    "kafka.consumer.base": "KafkaConsumer",
    "kafka.consumer.multiprocess": "KafkaConsumer",
    "kafka.producer.simple": "KafkaProducer",
    "kafka.producer.keyed": "KafkaProducer",
    "kafka.producer.base": "KafkaProducer",
    "kafka.partitioner.hashed": _PARTITIONER,
    "kafka.partitioner.roundrobin": _PARTITIONER,
}
"""By a module that is gone."""

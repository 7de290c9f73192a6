"""What KafkaConsumer refuses, and how each generation says so. Knows no consumer."""

from __future__ import annotations

from collections.abc import Mapping

Refusals = Mapping[str, tuple[str, str]]
"""By what is wrong: the class of the exception, and its text."""

_OF_ALL: Refusals = {
    "partition is no TopicPartition": ("TypeError", "partition must be a TopicPartition namedtuple"),
    "partitions are no TopicPartitions": ("TypeError", "partitions must be TopicPartition namedtuples"),
    "negative timestamp": (
        "ValueError",
        "The target time for partition {partition} is {timestamp}. The target time cannot be negative.",
    ),
    "several ways of subscribing": (
        "IllegalStateError",
        "You must choose only one way to configure your consumer: (1) subscribe to specific topics by name, "
        "(2) subscribe to topics matching a regex pattern, (3) assign itself specific topic-partitions.",
    ),
    "topics are no list": ("TypeError", "Topics must be a list (or non-str sequence)"),
}

CONSUMER_REFUSALS_OF_1: Refusals = {
    **_OF_ALL,
    "old broker": ("AssertionError", "Requires >= Kafka 0.8.1"),
    "no group": ("AssertionError", "Requires group_id"),
    "partition is not assigned": ("AssertionError", "Partition is not assigned"),
    "negative timeout": ("AssertionError", "Timeout must not be negative"),
    "max_records is no number": ("AssertionError", "max_records must be an integer"),
    "max_records is not positive": ("AssertionError", "max_records must be positive"),
    "consumer is closed": ("AssertionError", "KafkaConsumer is closed"),
    "impossible offset": ("AssertionError", "Offset must be >= 0"),
    "seek in an unassigned partition": ("AssertionError", "Unassigned partition"),
    "seek to an end of an unassigned partition": ("AssertionError", "Unassigned partition"),
    "nothing is assigned": ("AssertionError", "No partitions are currently assigned"),
    "nothing to subscribe to": ("AssertionError", "Must provide topics or pattern"),
    "offsets are none": ("AssertionError", ""),
    "listener is none": ("TypeError", "listener must be a ConsumerRebalanceListener"),
    "poll and iteration": ("AssertionError", "Incompatible with iterator interface"),
    "iteration over nothing": ("AssertionError", "No topic subscription or manual partition assignment"),
    "isolation level": ("KafkaConfigurationError", "Unrecognized isolation_level"),
    "version": ("AssertionError", "Unrecognized api version"),
}

CONSUMER_REFUSALS_OF_2: Refusals = {
    each: refusal
    for each, refusal in CONSUMER_REFUSALS_OF_1.items()
    if each not in ("poll and iteration", "iteration over nothing", "version")
}

CONSUMER_REFUSALS_OF_3: Refusals = {
    **CONSUMER_REFUSALS_OF_2,
    "old broker": ("IncompatibleBrokerVersion", "Requires >= Kafka 0.8.1"),
    "no group": ("IllegalStateError", "Requires group_id"),
    "partition is not assigned": ("IllegalStateError", "Partition is not assigned"),
    "negative timeout": ("ValueError", "Timeout must not be negative"),
    "max_records is no number": ("TypeError", "max_records must be an integer"),
    "max_records is not positive": ("ValueError", "max_records must be positive"),
    "consumer is closed": ("IllegalStateError", "KafkaConsumer is closed"),
    "impossible offset": ("ValueError", "Offset must be int >= 0"),
    "seek in an unassigned partition": ("ValueError", "Unassigned partition"),
    "seek to an end of an unassigned partition": ("ValueError", "Unassigned partition: {partition}"),
    "nothing is assigned": ("ValueError", "No partitions are currently assigned"),
    "nothing to subscribe to": ("ValueError", "Must provide topics or pattern"),
    "offsets are none": ("TypeError", "offsets must be dict[TopicPartition, OffsetAndMetadata]"),
    "listener is none": (
        "TypeError",
        "listener must be a ConsumerRebalanceListener or AsyncConsumerRebalanceListener",
    ),
}

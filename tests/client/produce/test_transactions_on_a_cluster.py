from __future__ import annotations

import contextlib
from collections.abc import Callable

from tests.waiting import Patience, wait_for

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition
from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.testing import ApacheKafkaCluster, EmbeddedBroker

PARTITIONS = 3
TRANSACTION_LOG = "__transaction_state"


def coordinator_of(cluster: ApacheKafkaCluster | EmbeddedBroker, transactional_id: str) -> int:
    """The node that leads the partition of the transaction log to which the id belongs."""
    code = 0
    for character in transactional_id:
        code = (31 * code + ord(character)) & 0xFFFFFFFF
    with Admin(cluster.bootstrap) as admin:

        def leaders() -> list[int]:
            # Not all brokers may have heard of it yet.
            with contextlib.suppress(UnknownTopicOrPartitionError):
                found = [
                    p.leader for p in admin.describe_topics([TRANSACTION_LOG])[TRANSACTION_LOG].partitions
                ]
                return found if min(found) >= 0 else []
            return []

        known = wait_for(leaders)
    return known[(code & 0x7FFFFFFF) % len(known)]


def read_committed(cluster: ApacheKafkaCluster | EmbeddedBroker, topic: str) -> dict[int, list[bytes | None]]:
    values: dict[int, list[bytes | None]] = {number: [] for number in range(PARTITIONS)}
    with Consumer(
        cluster.bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
    ) as consumer:
        partitions = [TopicPartition(topic, number) for number in values]
        consumer.assign(partitions)
        patience = Patience()
        ends = consumer.end_offsets(partitions)
        with Consumer(cluster.bootstrap) as everything:
            # A commit returns before its markers are written everywhere.
            while ends != everything.end_offsets(partitions):
                patience.check()
                ends = consumer.end_offsets(partitions)
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            patience.check()
            for record in consumer.poll(0.1):
                values[record.partition].append(record.value)
    return values


def test_the_coordinator_may_die_in_the_middle_of_a_transaction(
    own_cluster: ApacheKafkaCluster | EmbeddedBroker, topic: Callable[[], str]
) -> None:
    name, transactional_id = topic(), topic()
    with Admin(own_cluster.bootstrap) as admin:
        admin.create_topics([NewTopic(name, PARTITIONS, 3)])
    expected: dict[int, list[bytes | None]] = {number: [] for number in range(PARTITIONS)}
    with Producer(own_cluster.bootstrap, transactional_id=transactional_id, linger_ms=0) as producer:
        producer.init_transactions()
        for transaction, (is_commit, is_kill) in enumerate(
            [(True, True), (False, False), (False, True), (True, False)]
        ):
            dead = coordinator_of(own_cluster, transactional_id) if is_kill else None
            producer.begin_transaction()
            for number in range(60):
                if number == 30 and dead is not None:
                    own_cluster.node(dead).kill()
                value = b"%d-%d" % (transaction, number)
                producer.send(name, value, partition=number % PARTITIONS)
                if is_commit:
                    expected[number % PARTITIONS].append(value)
            if is_commit:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
            if dead is not None:
                own_cluster.start()
    assert read_committed(own_cluster, name) == expected

from __future__ import annotations

import copy
import pickle
from typing import Any

import confluent_kafka as real
import confluent_kafka.cimpl as real_cimpl
import pytest
from confluent_kafka._model import TopicPartitionInfo
from tests.compat.both import outcomes

import barnabas.compat.confluent_kafka as ours
import barnabas.compat.confluent_kafka.cimpl as our_cimpl
from barnabas.compat.librdkafka.values.errors import KafkaError
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition, topic_partition


def changed(partition: Any, name: str, value: Any) -> Any:
    setattr(partition, name, value)
    return partition


def without(partition: Any, name: str) -> Any:
    delattr(partition, name)
    return partition


HELPERS = {"changed": changed, "without": without, "copy": copy, "pickle": pickle}
REAL = {**vars(real), **HELPERS, "P": real.TopicPartition, "TopicPartitionInfo": TopicPartitionInfo}
OURS = {**vars(ours), **HELPERS, "P": ours.TopicPartition}


@pytest.mark.parametrize(
    "expression",
    [
        "P()",
        "P('a')",
        "P('a', 1)",
        "P('a', 1, 2)",
        "P('a', 1, 2, 'note', 7)",
        "P('a', 1, 2, 'note', 7, 8)",
        "P('a', 1, 2, 'note', -5).leader_epoch",
        "str(P('a', 1, -2))",
        "[P('a').partition, P('a').offset, P('a').metadata, P('a').leader_epoch, P('a').error]",
        "[P('a', 1, 2, 'note', 7).metadata, P('a', 1, 2, 'note', 7).leader_epoch]",
        "P(None)",
        "P(1)",
        "P('a', 'b')",
        "P('a', 1.5)",
        "P('a', 1, 'x')",
        "P('a', 2**31)",
        "P('a', -5)",
        "P('a', 1, 2**40)",
        "P('a', 1, 2**63)",
        "P('a', 1, 2, 3)",
        "P('a', 1, 2, None)",
        "P('a', 1, 2, b'note')",
        "P(topic='a', partition=1, offset=2, metadata='note', leader_epoch=3)",
        "P(topic='a', x=1)",
        "P('a', topic='b')",
        "P(partition=1)",
        "P('')",
        "P('a\\0b')",
        "[P('a', 1) == other for other in (P('a', 1), P('a', 1, 5), P('a', 2), P('b', 1))]",
        "[P('a', 1) != other for other in (P('a', 1), P('a', 1, 5), P('a', 2), P('b', 1))]",
        "[P('b', 1) < other for other in (P('b', 1), P('a', 5), P('b', 0), P('b', 2), P('c', 0))]",
        "[P('b', 1) <= other for other in (P('b', 1), P('a', 5), P('b', 0), P('b', 2), P('c', 0))]",
        "[P('b', 1) > other for other in (P('b', 1), P('a', 5), P('b', 0), P('b', 2), P('c', 0))]",
        "[P('b', 1) >= other for other in (P('b', 1), P('a', 5), P('b', 0), P('b', 2), P('c', 0))]",
        "P('a', 1) == 'a'",
        "P('a', 1) != None",
        "P('a', 1) < ('a', 2)",
        "sorted([P('b', 1), P('a', 2), P('a', 1)])",
        "[hash(P('a', 1)), hash(P('a', 2, 5)), hash(P('b', 1))]",
        "{P('a', 1): 1}[P('a', 1, 8)]",
        "pickle.dumps(P('a', 1))",
        "copy.copy(P('a', 1))",
        "copy.deepcopy(P('a', 1))",
        "changed(P('a', 1), 'topic', 'b')",
        "changed(P('a', 1), 'partition', 5)",
        "changed(P('a', 1), 'partition', True)",
        "changed(P('a', 1), 'partition', '5')",
        "changed(P('a', 1), 'offset', 5)",
        "changed(P('a', 1), 'offset', OFFSET_BEGINNING)",
        "changed(P('a', 1), 'offset', None)",
        "changed(P('a', 1), 'offset', 5.0)",
        "changed(P('a', 1), 'offset', 2**63)",
        "changed(P('a', 1), 'metadata', 'note')",
        "changed(P('a', 1), 'leader_epoch', 5)",
        "changed(P('a', 1), 'error', None)",
        "changed(P('a', 1), 'anything', 1)",
        "without(P('a', 1), 'topic')",
        "without(P('a', 1), 'offset')",
        "without(P('a', 1), 'leader_epoch')",
        "[len(P('a'))]",
        "tuple(P('a'))",
        "bool(P('a'))",
        "P.__module__",
        "Uuid()",
        "Uuid(1)",
        "Uuid(1, 2)",
        "Uuid(1, 2, 3)",
        "str(Uuid(0x1234567890abcdef, -0x1234567890abcdef))",
        "[str(Uuid(0, 0)), str(Uuid(-1, -1)), str(Uuid(-2**63, 2**63 - 1))]",
        "Uuid('a', 1)",
        "Uuid(2**63, 1)",
        "Uuid(most_significant_bits=1, least_significant_bits=2)",
        "Uuid(most_significant_bits=1)",
        "Uuid(a=1)",
        "[Uuid(1, 2).get_most_significant_bits(), Uuid(1, 2).get_least_significant_bits()]",
        "[hash(Uuid(1, 2)), hash(Uuid(-2**63, 5)), hash(Uuid(2**62, 1))]",
        "[Uuid(1, 2) == Uuid(1, 2), Uuid(1, 2) != Uuid(1, 2), Uuid(1, 2) == 'a']",
        "Uuid(1, 2) < Uuid(1, 3)",
        "int(Uuid(1, 2))",
        "copy.copy(Uuid(1, 2))",
        "pickle.dumps(Uuid(1, 2))",
        "[str(Node(1, 'host', 9092)), str(Node(1, 'host', 9092, 'rack'))]",
        "vars(Node(1, 'host', 9092, rack='rack'))",
        "vars(ConsumerGroupTopicPartitions('group'))",
        "vars(ConsumerGroupTopicPartitions('group', [P('a')]))",
        "vars(TopicCollection(['a']))",
        "vars(TopicCollection(topic_names=['a']))",
        "vars(TopicPartitionInfo(0, None, [], []))",
        "str(ThrottleEvent('broker', 1, 0.25))",
        "vars(ThrottleEvent('broker', 1, 0.25))",
        "list(ConsumerGroupState)",
        "ConsumerGroupState.UNKOWN",
        "list(ConsumerGroupType)",
        "list(IsolationLevel)",
        "list(ElectionType)",
        "list(AcknowledgeType)",
        "sorted([ConsumerGroupState.DEAD, ConsumerGroupState.UNKNOWN])",
        "IsolationLevel.READ_COMMITTED < ElectionType.UNCLEAN",
        "IsolationLevel.READ_UNCOMMITTED < IsolationLevel.READ_COMMITTED",
        "pickle.loads(pickle.dumps(ConsumerGroupState.STABLE))",
        "AcknowledgeType.REJECT + 1",
        "repr(Messages([1, 2]))",
        "[len(Messages([1, 2])), list(Messages([1, 2])), Messages([1, 2]).count(), Messages().is_empty()]",
        "[Messages([1, 2, 3])[0], Messages([1, 2, 3])[1:], Messages([1, 2, 3]).records()]",
        "Messages([1])[5]",
        "Messages._from_list([1])",
        "version()",
        "libversion()",
        "__version__",
        "[f(key, 10) for f in (murmur2, consistent, fnv1a) for key in (b'', b'abc', b'\\xff' * 99)]",
        "murmur2('abc', 10)",
        "murmur2(b'abc')",
        "murmur2(b'abc', 0)",
        "fnv1a(b'abc', -1)",
        "murmur2(None, 10)",
        "murmur2(key=b'abc', partition_count=10)",
        "consistent(bytearray(b'abc'), 10)",
        "murmur2(memoryview(b'abc'), 10)",
        "murmur2(b'abc', 'x')",
        "murmur2(b'abc', 2**31)",
        "murmur2()",
    ],
)
def test_what_clients_hand_out_and_take_behaves_as_the_real_ones(expression: str) -> None:
    theirs, found = outcomes(expression, REAL, OURS)
    assert found == theirs


def test_partitions_of_two_classes_are_not_compared() -> None:
    class Own(TopicPartition):
        pass

    with pytest.raises(NotImplementedError):
        assert Own("a", 1) == TopicPartition("a", 1)


def test_the_number_constants_are_the_real_ones() -> None:
    def numbers(module: Any) -> dict[str, int]:
        return {name: value for name, value in vars(module).items() if type(value) is int and name.isupper()}

    assert numbers(our_cimpl) == numbers(real_cimpl)


def test_a_partition_of_a_client_may_carry_an_error() -> None:
    error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    partition = topic_partition("a", 1, 5, metadata="note", leader_epoch=-1, error=error)
    assert isinstance(partition, TopicPartition)
    assert (partition.error, partition.metadata, partition.leader_epoch) == (error, "note", None)
    assert f"error={error}" in repr(partition)

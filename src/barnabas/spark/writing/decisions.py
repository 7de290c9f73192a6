"""Where the driver writes down that a batch is to be committed, before it commits the tasks' transactions.

A compacted topic of one partition; a record's key is the sink's id, its value the last decision. A driver
that dies between the first and the last of the transactions leaves a decision that is not done, which the
next one carries out. Must not know Spark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple
from functools import cached_property
from typing import TYPE_CHECKING

from barnabas.broker_errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError
from barnabas.client.admin.types import ConfigResource, NewTopic, ResourceType
from barnabas.errors import BarnabasError, KafkaTimeoutError
from barnabas.settings.table import AdminConfig, ConsumerConfig, names
from barnabas.spark.clients import make_admin, make_consumer, meaning, producers
from barnabas.types import PreparedTransaction, TopicPartition
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas.sync.consumer import Consumer

# Small segments, as only those that are full are compacted.
TOPIC_CONFIGS = {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.1"}
BROKERS_DEFAULT = -1
WRITE_SECONDS = 60.0
# Without a record of those that there are.
READ_SECONDS = 60.0


@frozen
class Decision:
    """`batch_id` is committed, or has to be: `transactions` are those that were to be ended."""

    batch_id: int
    is_done: bool
    transactions: tuple[PreparedTransaction, ...] = ()


class DecisionLog:
    """Reads on where it was, so that a look at the last decision costs no more than what is new."""

    def __init__(self, settings: Mapping[str, str], topic: str) -> None:
        self._settings = dict(settings)
        self._topic = topic
        self._partition = TopicPartition(topic, 0)
        self._meant = meaning(settings)
        self.admin = make_admin({n: v for n, v in self._meant.items() if n in names(AdminConfig)})
        self._decisions: dict[str, Decision] = {}
        self._is_there = False

    @cached_property
    def _consumer(self) -> Consumer:
        reading = {n: v for n, v in self._meant.items() if n in names(ConsumerConfig)}
        return make_consumer(
            reading | {"auto_offset_reset": "earliest", "isolation_level": "read_uncommitted"}
        )

    @cached_property
    def longest_transaction_ms(self) -> int | None:
        """What brokers allow. None without the right to know: the first task meets the broker's own error."""
        try:
            resource = ConfigResource(
                ResourceType.BROKER, str(self.admin.describe_cluster().nodes[0].node_id)
            )
            entry = self.admin.describe_configs([resource])[resource]["transaction.max.timeout.ms"]
        except (BarnabasError, KeyError):
            return None
        return None if entry.value is None else int(entry.value)

    def last(self, sink_id: str) -> Decision | None:
        """Raises: BarnabasError."""
        self._make_sure_of_topic()
        end = self._consumer.end_offsets([self._partition])[self._partition]
        while (offset := self._consumer.position(self._partition)) < end:
            records = self._consumer.poll(READ_SECONDS)
            if not records and self._consumer.position(self._partition) == offset:
                raise KafkaTimeoutError(
                    f"{self._partition}, which holds what sinks have decided, could not be read from offset "
                    f"{offset} to {end}: no record came within {READ_SECONDS:.0f} s; is its leader well?"
                )
            for record in records:
                key = bytes(record.key or b"").decode()
                if record.value is None:
                    self._decisions.pop(key, None)
                else:
                    self._decisions[key] = _decision(bytes(record.value))
        return self._decisions.get(sink_id)

    def write(self, sink_id: str, decision: Decision) -> None:
        """Returns when it is stored. Raises: BarnabasError."""
        self._make_sure_of_topic()
        self._store(sink_id, _text(decision))

    def close(self) -> None:
        self.admin.close()
        self._consumer.close()

    def forget(self, sink_id: str) -> None:
        """Removes what a sink has decided, once nobody will ask. Raises: BarnabasError."""
        self._store(sink_id, None)

    def _store(self, sink_id: str, text: bytes | None) -> None:
        with producers.lend(self._settings) as producer:
            delivery = producer.send(self._topic, text, key=sink_id.encode(), partition=0)
            # The commit of a batch waits for this one record, which need not wait for others (linger_ms).
            producer.flush(WRITE_SECONDS)
            delivery.result(WRITE_SECONDS)

    def _make_sure_of_topic(self) -> None:
        if self._is_there:
            return
        try:
            self.admin.describe_topics([self._topic])
        except UnknownTopicOrPartitionError:
            topic = NewTopic(self._topic, 1, BROKERS_DEFAULT, configs=TOPIC_CONFIGS)
            with suppress(TopicAlreadyExistsError):
                self.admin.create_topics([topic])
        self._consumer.assign([self._partition])
        self._consumer.seek_to_beginning(self._partition)
        self._is_there = True


_Key = tuple[tuple[tuple[str, str], ...], str]
_kept: dict[_Key, tuple[dict[str, str], DecisionLog]] = {}


def decision_log(settings: Mapping[str, str], topic: str) -> DecisionLog:
    """Spark plans and commits each batch in processes that it uses again. With credentials in a file that has
    another content by now it is another one."""
    key, meant = (tuple(sorted(settings.items())), topic), meaning(settings)
    kept = _kept.get(key)
    if kept is not None and kept[0] == meant:
        return kept[1]
    if kept is not None:
        kept[1].close()
    log = DecisionLog(settings, topic)
    _kept[key] = meant, log
    return log


def _text(decision: Decision) -> bytes:
    transactions: Sequence[tuple[str, int, int, int]] = [astuple(each) for each in decision.transactions]
    document = {"batch": decision.batch_id, "done": decision.is_done, "transactions": transactions}
    return json.dumps(document).encode()


def _decision(text: bytes) -> Decision:
    document = json.loads(text)
    transactions = tuple(PreparedTransaction(*each) for each in document["transactions"])
    return Decision(document["batch"], document["done"], transactions)

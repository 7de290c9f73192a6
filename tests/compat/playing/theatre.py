"""A broker and what scripts may ask of it: topics, records, and the truth of what it holds.

Owns the native clients that do so, for players of either side alike. Must not know which package plays.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, ClassVar

from tests.waiting import Patience

import barnabas
from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.testing import ApacheKafka, EmbeddedBroker
from barnabas.testing.secure_listeners import SUPER_USER

FIRST_TIMESTAMP_MS = 1_600_000_000_000
OLD_RELEASE_KEEPS_RECORDS = {"log.retention.ms": "-1"}
"""2.8.2 deletes records as old as these 30 s after its start: it has no log.initial.task.delay.ms."""
PATIENCE_SECONDS = 45.0

Record = tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]] | None]


class Theatre:
    """On a broker that has started."""

    served: ClassVar[frozenset[str]] = frozenset(
        {
            *("create_topic", "add_partitions", "delete_topic", "delete_records"),
            *("fill", "fill_in_a_transaction", "records", "end_offset", "committed", "commit", "password_of"),
        }
    )

    def __init__(self, kafka: ApacheKafka | EmbeddedBroker) -> None:
        self._kafka = kafka
        self._security: dict[str, Any] = {}
        self.bootstrap = kafka.bootstrap
        if kafka.security is not None:
            self.bootstrap = kafka.bootstrap_for("SASL_PLAINTEXT")
            self._security = {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_username": SUPER_USER,
                "sasl_password": kafka.security.users[SUPER_USER],
            }
        self._admin = barnabas.Admin(self.bootstrap, **self._security)
        self._producer = barnabas.Producer(self.bootstrap, linger_ms=0, **self._security)
        self._lock = threading.Lock()
        # The first who asks for a group's coordinator has its topic made, and is refused meanwhile.
        self._admin.list_group_offsets("first")

    @property
    def place(self) -> Any:
        """What players are told of where it is, in literals."""
        return self.bootstrap

    def answer(self, name: str, *arguments: Any, **named: Any) -> Any:
        if name not in self.served:
            raise ValueError(f"no script can ask for {name}")
        with self._lock:
            return getattr(self, name)(*arguments, **named)

    def close(self) -> None:
        self._admin.close()
        self._producer.close()

    def create_topic(self, name: str, partitions: int, configs: dict[str, str]) -> None:
        self._admin.create_topics([barnabas.NewTopic(name, num_partitions=partitions, configs=configs)])
        self._wait_for_partitions(name, partitions)
        # The leaders answer.
        self._admin.list_offsets(
            {barnabas.TopicPartition(name, each): "latest" for each in range(partitions)}
        )

    def add_partitions(self, name: str, partitions: int) -> None:
        self._admin.create_partitions({name: partitions})
        self._wait_for_partitions(name, partitions)

    def delete_topic(self, name: str) -> None:
        self._admin.delete_topics([name])

    def delete_records(self, name: str, partition: int, offset: int) -> None:
        self._admin.delete_records({barnabas.TopicPartition(name, partition): offset})

    def fill(self, topic: str, partition: int, records: Sequence[Record]) -> None:
        for index, (key, value, headers) in enumerate(records):
            self._producer.send(
                *(topic, value),
                key=key,
                headers=headers,
                partition=partition,
                timestamp=FIRST_TIMESTAMP_MS + index,
            )
        self._producer.flush()

    def fill_in_a_transaction(
        self, topic: str, partition: int, values: Sequence[bytes], is_committed: bool
    ) -> None:
        with barnabas.Producer(
            self.bootstrap, transactional_id=f"fill-{time.monotonic_ns()}", **self._security
        ) as producer:
            producer.init_transactions()
            producer.begin_transaction()
            for value in values:
                producer.send(topic, value, partition=partition)
            producer.flush()
            producer.commit_transaction() if is_committed else producer.abort_transaction()

    def records(self, topic: str, partition: int) -> list[Any]:
        """(offset, key, value, headers, timestamp in ms) of each, up to what is the end now."""
        each = barnabas.TopicPartition(topic, partition)
        found: list[Any] = []
        with barnabas.Consumer(
            self.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=50, **self._security
        ) as consumer:
            consumer.assign([each])
            end = consumer.end_offsets([each])[each]
            patience = Patience(PATIENCE_SECONDS)
            while consumer.position(each) < end:
                patience.check(f"{topic}-{partition} is not read up to {end}")
                for record in consumer.poll(0.2):
                    headers = [(header[0], header[1]) for header in record.headers]
                    found.append((record.offset, record.key, record.value, headers, record.timestamp))
        return found

    def end_offset(self, topic: str, partition: int) -> int:
        each = barnabas.TopicPartition(topic, partition)
        return self._admin.list_offsets({each: "latest"})[each].offset

    def committed(self, group: str, topic: str, partition: int) -> tuple[int, str | None] | None:
        """Offset and metadata that a group committed."""
        each = barnabas.TopicPartition(topic, partition)
        found = self._admin.list_group_offsets(group, [each]).get(each)
        return None if found is None else (found.offset, found.metadata)

    def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        each = barnabas.TopicPartition(topic, partition)
        self._admin.alter_group_offsets(group, {each: barnabas.OffsetAndMetadata(offset)})

    def password_of(self, user: str) -> str:
        assert self._kafka.security is not None
        return self._kafka.security.users[user]

    def _wait_for_partitions(self, topic: str, partitions: int) -> None:
        patience = Patience(PATIENCE_SECONDS)
        while self._partition_count(topic) < partitions:
            patience.pause(f"topic {topic} was created and does not appear")

    def _partition_count(self, topic: str) -> int:
        try:
            return len(self._admin.describe_topics([topic])[topic].partitions)
        except UnknownTopicOrPartitionError:
            return 0

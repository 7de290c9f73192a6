"""The demo's topics: their names, and the rule for what may already be in them.

A Kafka that others use may have topics of the same names. A topic that is missing is created; an empty one is
used as it is; one that holds records of this demo (each record says so in a header) is deleted and created
again; any other is left alone, and the demo stops.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition
from barnabas.broker_errors import TransactionalIdAuthorizationFailedError

OWNER_HEADER = ("written-by", b"barnabas-flights-demo")
FIRST_RECORD_TIMEOUT_SECONDS = 15.0


class ForeignTopicError(Exception):
    """A topic that the demo would write to holds somebody else's records."""


@dataclass(frozen=True, slots=True)
class Topics:
    """The names, each with `prefix` before it."""

    prefix: str = ""

    @property
    def flights(self) -> str:
        return f"{self.prefix}flights"

    @property
    def weather(self) -> str:
        return f"{self.prefix}weather"

    @property
    def airlines(self) -> str:
        return f"{self.prefix}airlines"

    @property
    def delays(self) -> str:
        return f"{self.prefix}delays"


def prepare(bootstrap: str, topics: Topics) -> list[str]:
    """Makes the topics ready to write to; returns the names of those that it emptied.

    Raises: ForeignTopicError, and what Kafka answers (barnabas.BarnabasError).
    """
    wanted = [
        NewTopic(topics.flights, num_partitions=4),
        NewTopic(topics.weather, num_partitions=1),
        NewTopic(topics.airlines, num_partitions=1, configs={"cleanup.policy": "compact"}),
        NewTopic(topics.delays, num_partitions=1),
    ]
    with Admin(bootstrap) as admin:
        existing = set(admin.list_topics()) & {topic.name for topic in wanted}
        with_records = _owned(bootstrap, sorted(existing))
        if with_records:
            admin.delete_topics(with_records)
        missing = [topic for topic in wanted if topic.name not in existing or topic.name in with_records]
        if missing:
            admin.create_topics(missing)
    return with_records


def takes_transactions(bootstrap: str, topics: Topics) -> bool:
    """Whether results can be written exactly once. The embedded broker has no transactions, and a Kafka of
    one's own may not allow them."""
    try:
        with Producer(bootstrap, transactional_id=f"{topics.delays}-probe") as producer:
            producer.init_transactions()
    except TransactionalIdAuthorizationFailedError:
        return False
    return True


def _owned(bootstrap: str, names: Iterable[str]) -> list[str]:
    """Those of the topics that hold records. Raises: ForeignTopicError when they are not this demo's."""
    with_records: list[str] = []
    with Consumer(bootstrap, enable_auto_commit=False, auto_offset_reset="earliest") as consumer:
        for name in names:
            partitions = [TopicPartition(name, info.partition) for info in consumer.partitions_for(name)]
            ends = consumer.end_offsets(partitions)
            begins = consumer.beginning_offsets(partitions)
            for partition in partitions:
                if ends[partition] > begins[partition]:
                    _check_owner(consumer, bootstrap, partition)
                    if name not in with_records:
                        with_records.append(name)
    return with_records


def _check_owner(consumer: Consumer, bootstrap: str, partition: TopicPartition) -> None:
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    record = consumer.poll_one(timeout=FIRST_RECORD_TIMEOUT_SECONDS)
    if record is None or OWNER_HEADER not in [tuple(header) for header in record.headers]:
        raise ForeignTopicError(
            f"topic {partition.topic!r} on {bootstrap} holds records that this demo did not write, and is "
            "left as it is; give the demo topics of its own with --prefix (in make: PREFIX=demo-)"
        )

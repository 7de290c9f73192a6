# pyright: basic
"""Consumes a topic in a group and tells, as lines of JSON, what it was assigned, read and committed.

Run by Kafka's system tests: `python -m barnabas.compat.confluent_kafka.kafkatest.verifiable_consumer --help`.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from barnabas.compat.confluent_kafka.cimpl import Consumer, KafkaError, KafkaException
from barnabas.compat.confluent_kafka.kafkatest.verifiable_client import (
    VerifiableClient,
    add_connection_arguments,
    read_arguments,
)

BATCH_SIZE = 500
ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
}


class AssignedPartition:
    """What was read of a partition and not yet told: how many messages, between which offsets."""

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.skipped = 0
        self.consumed_msgs = 0
        self.min_offset = -1
        self.max_offset = -1

    def add(self, offset: int) -> None:
        """One more message, at `offset`."""
        if self.consumed_msgs == 0:
            self.min_offset = offset
        self.max_offset = offset
        self.consumed_msgs += 1

    def clear(self) -> None:
        """All was told."""
        self.consumed_msgs, self.min_offset, self.max_offset = 0, -1, -1

    def to_dict(self) -> dict[str, Any]:
        """As `records_consumed` tells it."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "count": self.consumed_msgs,
            "minOffset": self.min_offset,
            "maxOffset": self.max_offset,
        }


class VerifiableConsumer(VerifiableClient):
    """A Consumer that says what happens to it."""

    def __init__(self, conf: dict[str, Any]) -> None:
        """`conf`: of the Consumer."""
        super().__init__(conf)
        self.use_auto_commit = bool(self.conf["enable.auto.commit"])
        if self.use_auto_commit:
            self.conf["on_commit"] = self.on_commit
        self.verbose = False
        self.max_msgs = -1
        self.consumed_msgs = 0
        self.consumed_msgs_at_last_commit = 0
        self.assignment: list[AssignedPartition] = []
        self.consumer = Consumer(self.conf)

    def find_assignment(self, topic: str, partition: int) -> AssignedPartition | None:
        """The state of a partition, if it is assigned."""
        for assigned in self.assignment:
            if (assigned.topic, assigned.partition) == (topic, partition):
                return assigned
        return None

    def send_records_consumed(self, immediate: bool = False) -> None:
        """Tells what was read since the last time; with `immediate` however little, else in larger pieces."""
        told = [assigned for assigned in self.assignment if assigned.consumed_msgs]
        count = sum(assigned.consumed_msgs for assigned in told)
        if not count or (not immediate and count < BATCH_SIZE):
            return
        partitions = [assigned.to_dict() for assigned in told]
        self.send({"name": "records_consumed", "count": count, "partitions": partitions})
        for assigned in told:
            assigned.clear()

    def send_assignment(self, evtype: str, partitions: list[Any]) -> None:
        """Tells of partitions that were `assigned` or `revoked`, which `evtype` says."""
        named = [{"topic": each.topic, "partition": each.partition} for each in partitions]
        self.send({"name": f"partitions_{evtype}", "partitions": named})

    def on_assign(self, consumer: Any, partitions: list[Any]) -> None:
        """Partitions have come to this member."""
        for each in partitions:
            if self.find_assignment(each.topic, each.partition) is None:
                self.assignment.append(AssignedPartition(each.topic, each.partition))
        self.send_assignment("assigned", partitions)

    def on_revoke(self, consumer: Any, partitions: list[Any]) -> None:
        """Partitions are going to leave this member: what was read of them is told and committed first."""
        self.send_records_consumed(immediate=True)
        self.do_commit(immediate=True)
        gone = {(each.topic, each.partition) for each in partitions}
        self.assignment = [each for each in self.assignment if (each.topic, each.partition) not in gone]
        self.send_assignment("revoked", partitions)

    def on_commit(self, err: KafkaError | None, partitions: list[Any]) -> None:
        """Offsets were committed, or could not be."""
        if err is not None and err.code() == KafkaError._NO_OFFSET:
            self.dbg("No offsets to commit")
            return
        offsets = []
        for each in partitions:
            told = {"topic": each.topic, "partition": each.partition, "offset": each.offset}
            if each.error is not None:
                told["error"] = str(each.error)
            offsets.append(told)
        event = {"name": "offsets_committed", "offsets": offsets, "success": err is None}
        self.send({**event, "error": "" if err is None else str(err)})

    def do_commit(self, immediate: bool = False, asynchronous: bool | None = None) -> None:
        """Commits what was read, with `immediate` however little; nothing with auto-commit."""
        pending = self.consumed_msgs - self.consumed_msgs_at_last_commit
        if self.use_auto_commit or not pending or (not immediate and pending < BATCH_SIZE):
            return
        try:
            if asynchronous:
                self.consumer.commit(asynchronous=True)
            else:
                self.on_commit(None, self.consumer.commit(asynchronous=False) or [])
        except KafkaException as error:
            self.on_commit(error.args[0], [])
        else:
            self.consumed_msgs_at_last_commit = self.consumed_msgs

    def msg_consume(self, msg: Any) -> None:
        """Takes note of a message, or of an error in place of one."""
        error = msg.error()
        if error is not None:
            self.err(f"Consume failed: {error}", term=error.fatal())
            return
        if self.verbose:
            self.send(
                {
                    "name": "record_data",
                    "topic": msg.topic(),
                    "partition": msg.partition(),
                    "key": _text(msg.key()),
                    "value": _text(msg.value()),
                    "offset": msg.offset(),
                }
            )
        assigned = self.find_assignment(msg.topic(), msg.partition())
        if assigned is not None:
            assigned.add(msg.offset())
        self.consumed_msgs += 1

    def consume(self) -> None:
        """Reads until SIGTERM comes or enough was read."""
        while self.run and self.consumed_msgs != self.max_msgs:
            left = BATCH_SIZE if self.max_msgs < 0 else min(BATCH_SIZE, self.max_msgs - self.consumed_msgs)
            for msg in self.consumer.consume(left, timeout=1.0):
                self.msg_consume(msg)
            self.send_records_consumed(immediate=True)
            self.do_commit(immediate=True)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Verifiable Python Consumer")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--group-id", required=True, dest="conf_group.id")
    parser.add_argument("--group-instance-id", dest="conf_group.instance.id")
    parser.add_argument(
        "--group-protocol", type=str.lower, choices=["classic", "consumer"], dest="conf_group.protocol"
    )
    parser.add_argument("--group-remote-assignor", dest="conf_group.remote.assignor")
    parser.add_argument("--session-timeout", type=int, dest="conf_session.timeout.ms", metavar="MS")
    parser.add_argument(
        "--enable-autocommit", action="store_true", default=False, dest="conf_enable.auto.commit"
    )
    parser.add_argument("--max-messages", type=int, default=-1, help="-1: until SIGTERM")
    parser.add_argument(
        "--assignment-strategy",
        type=_assignors,
        dest="conf_partition.assignment.strategy",
        metavar="CLASS,...",
        help=f"names of Java classes: {', '.join(ASSIGNORS)}; or librdkafka's names",
    )
    parser.add_argument("--reset-policy", dest="topicconf_auto.offset.reset", default="earliest")
    parser.add_argument("--verbose", action="store_true", default=False, help="Per-message stats")
    add_connection_arguments(parser, "--consumer.config")
    args = read_arguments(parser, argv)
    conf: dict[str, Any] = {}
    if args.get("conf_group.protocol") == "consumer":
        # The broker decides these; kafkatest passes them all the same.
        for name in ("session.timeout.ms", "partition.assignment.strategy"):
            args.pop(f"conf_{name}", None)
    VerifiableClient.set_config(conf, args)

    client = VerifiableConsumer(conf)
    client.verbose = args["verbose"]
    client.max_msgs = args["max_messages"]
    failed = False
    client.consumer.subscribe([args["topic"]], on_assign=client.on_assign, on_revoke=client.on_revoke)
    client.send({"name": "startup_complete"})
    try:
        client.consume()
    except KafkaException as error:
        client.err(f"Terminating on exception: {error}")
        failed = True
    client.dbg("Closing consumer")
    if not client.run:
        client.send({"name": "shutdown_requested"})
    client.consumer.close()
    client.send({"name": "shutdown_complete", "failed": failed})
    return 1 if failed else 0


def _assignors(text: str) -> str:
    names = [name.strip().rpartition(".")[2] for name in text.split(",")]
    for name in names:
        if name not in ASSIGNORS and name not in ASSIGNORS.values():
            known = ", ".join([*ASSIGNORS, *ASSIGNORS.values()])
            raise argparse.ArgumentTypeError(f"no assignor {name!r}: there are {known}")
    return ",".join(ASSIGNORS.get(name, name) for name in names)


if __name__ == "__main__":
    sys.exit(main())

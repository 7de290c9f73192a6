"""Apache Kafka's own tools, run one after another by one Java, and what they print on two brokers.

Owns what of their output differs by nature, and is not looked at: addresses, ids, directories and times.
"""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from barnabas.testing.distribution import KafkaDistribution

PROGRAM = Path(__file__).with_name("Tools.java")
CONFIG = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
OF_TEST_KAFKA = {
    "log.segment.bytes": "67108864",
    "log.segment.delete.delay.ms": "1000",
    "log.index.size.max.bytes": "1048576",
}
"""What `ApacheKafka` sets for all topics, which tools show."""
TOOLS = {
    "acls": "org.apache.kafka.tools.AclCommand",
    "client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "cluster": "org.apache.kafka.tools.ClusterTool",
    "configs": "kafka.admin.ConfigCommand",
    "delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "features": "org.apache.kafka.tools.FeatureCommand",
    "groups": "org.apache.kafka.tools.GroupsCommand",
    "consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
    "topics": "org.apache.kafka.tools.TopicCommand",
    "transactions": "org.apache.kafka.tools.TransactionsCommand",
}
WITH_SERVERS_LAST = ("cluster",)
"""What takes the brokers' addresses after its subcommand."""
VARYING = (
    (re.compile(r"127\.0\.0\.1(:| +)\d+|localhost:\d+"), "ADDRESS"),
    (re.compile(r"(TopicId|Cluster ID): \S+"), r"\1: ID"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"(?<![\w/+-])[A-Za-z0-9_-]{22}(?![\w/+=-])"), "ID"),
    # "any" is that of a replica that is not made yet.
    (re.compile(r'"/[^"]*/(log|data/\d)"|"any"'), "DIRECTORY"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d\b"), "TIME"),
    (re.compile(r"adminclient-\d+"), "adminclient"),
    # An offset in Kafka's log of metadata.
    (re.compile(r"Epoch: \d+"), "Epoch: N"),
    (re.compile(r"^\[\d{4}-[^\]]*\] ", re.MULTILINE), ""),
    # Kafka has made this one of the whole cluster's settings by itself.
    (re.compile(r"min\.insync\.replicas=1,?"), ""),
)

Step = str | Callable[[Any], None]
"""A command, or what is done to each broker between two of them."""


class Java:
    """Runs tools, one at a time."""

    def __init__(self) -> None:
        kafka = KafkaDistribution()
        java = kafka.java_arguments(heap_mb=256, log_level="ERROR", log_target="SYSTEM_ERR")
        self._process = subprocess.Popen(
            [*java, str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, bootstrap: str, command: str) -> tuple[str, list[str]]:
        """The status and, in the order of the alphabet, the lines that were printed."""
        tool, *words = command.split()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        servers = ("--bootstrap-server", bootstrap)
        words = [*words, *servers] if tool in WITH_SERVERS_LAST else [*servers, *words]
        line = "\t".join((TOOLS[tool], *words))
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"Java has ended at: {command}"
        status, _, printed = answer.rstrip("\n").partition(" ")
        text = base64.b64decode(printed).decode()
        for pattern, instead in VARYING:
            text = pattern.sub(instead, text)
        # A stack trace is of the tool, not of what the broker said.
        lines = [" ".join(_in_order(each)) for each in text.splitlines() if not each.startswith("\tat ")]
        return status, sorted(lines)

    def run_all(self, broker: Any, steps: Iterable[Step]) -> list[tuple[str, str, list[str]]]:
        """Each command, with what came of it."""
        told: list[tuple[str, str, list[str]]] = []
        for step in steps:
            if callable(step):
                step(broker)
            else:
                told.append((step, *self.run(broker.bootstrap, step)))
        return told

    def end(self) -> None:
        self._process.communicate(timeout=30)


def _in_order(line: str) -> list[str]:
    """The words of a line, lists of settings within them in the order of the alphabet."""
    return [",".join(sorted(word.split(","))) if "=" in word else word for word in line.split()]


def first_difference(brokers: Iterable[Any], java: Java, steps: Sequence[Step]) -> str:
    """What the tools print on the first broker and not on the second, and the other way round, by the first
    command where that is so; nothing where there is none."""
    theirs, ours = (java.run_all(broker, steps) for broker in brokers)
    for (command, *their), (_, *our) in zip(theirs, ours, strict=True):
        if our != their:
            ((status, lines), (our_status, our_lines)) = their, our
            told = [command, f"status {status} and {our_status}"]
            told += [f"- {line}" for line in lines if line not in our_lines]
            return "\n".join(told + [f"+ {line}" for line in our_lines if line not in lines])
    return ""

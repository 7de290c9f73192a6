"""What entries allow together: the authorizers of Kafka and of the embedded broker come to the same end, with
entries made at random among names, prefixes, principals and hosts that meet each other.

What each allows is read off the operations that a description of topics tells of (KIP-430).
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from barnabas.broker.authorization.acls import Operation, Permission, ResourceKind
from barnabas.protocol.messages.create_acls import CreateAclsRequest
from barnabas.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.testing import ApacheKafka

from .probe import facts
from .stage import GUEST, LITERAL, PREFIXED, Stage, rule, same_on_both, secure_kafka

ROUNDS, ENTRIES = 12, 9
ASKED = [
    Operation.ALL,
    Operation.READ,
    Operation.WRITE,
    Operation.CREATE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
]
PRINCIPALS = [GUEST, GUEST, "User:*", "User:else", "Group:ANONYMOUS", "User:anonymous"]
HOSTS = ["*", "*", "127.0.0.1", "10.9.8.7"]


def at_random(chance: random.Random, names: list[str]) -> CreateAclsRequest.AclCreation:
    name, pattern = chance.choice(names), LITERAL
    drawn = chance.random()
    if drawn < 0.15:
        name = "*"
    elif drawn < 0.5:
        name, pattern = name[: chance.randint(1, len(name))], PREFIXED
    return rule(
        chance.choice(ASKED),
        ResourceKind.TOPIC,
        name,
        principal=chance.choice(PRINCIPALS),
        host=chance.choice(HOSTS),
        pattern=pattern,
        permission=Permission.DENY if chance.random() < 0.3 else Permission.ALLOW,
    )


async def entries_at_random(stage: Stage) -> None:
    names = [f"{stage.run}{tail}" for tail in ("", "-a", "-ab", "-b", "-abc.d")]
    for name in names:
        await stage.create_topic(name)
    chance = random.Random(20261125)
    asked = DescribeTopicPartitionsRequest(
        [DescribeTopicPartitionsRequest.TopicRequest(name) for name in names]
    )
    for round_number in range(ROUNDS):
        rules = [at_random(chance, names) for _ in range(chance.randint(1, ENTRIES))]
        await stage.allow(*rules)
        stage.tell(round_number, facts(await stage.guest(asked)))
        await stage.forbid()


def test_entries_come_to_the_same_end_as_with_kafka(guarded_kafka: ApacheKafka, tmp_path: Path) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, entries_at_random))


@pytest.mark.parametrize("allows", ["true", "false"])
def test_what_has_no_entry_is_open_or_not_as_with_kafka(tmp_path: Path, allows: str) -> None:
    config = {"allow.everyone.if.no.acl.found": allows}
    with secure_kafka(config) as kafka:
        asyncio.run(same_on_both(kafka, tmp_path, entries_at_random, config))

"""The topic that a registry's records are in: it is made, or what is there is looked at.

Knows nothing of what is in it.
"""

from __future__ import annotations

import logging

from barnabas.broker_errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError
from barnabas.client.admin.admin import Admin
from barnabas.client.admin.types import ConfigResource, NewTopic, ResourceType
from barnabas.errors import BarnabasError
from barnabas.registry_server.journal.journal import JournalError

logger = logging.getLogger("barnabas.registry_server")

CLEANUP_POLICY = "cleanup.policy"
COMPACT = "compact"


async def ensure_topic(admin: Admin, name: str, replication_factor: int) -> None:
    """Raises: JournalError where the topic cannot keep a registry's records, or cannot be made."""
    try:
        if not await _is_there(admin, name, replication_factor):
            await _create(admin, name, replication_factor)
    except JournalError:
        raise
    except BarnabasError as error:
        raise JournalError(f"topic {name} cannot be made ready: {error}") from error


async def _create(admin: Admin, name: str, replication_factor: int) -> None:
    broker_count = len((await admin.describe_cluster()).nodes)
    if broker_count < replication_factor:
        logger.warning(
            "topic %s is made with %d replicas, less than the %d of kafkastore.topic.replication.factor: the "
            "cluster has no more brokers",
            name,
            broker_count,
            replication_factor,
        )
    topic = NewTopic(name, 1, min(replication_factor, broker_count), {CLEANUP_POLICY: COMPACT})
    try:
        await admin.create_topics([topic])
    except TopicAlreadyExistsError:
        # Another registry was faster.
        await _is_there(admin, name, replication_factor)


async def _is_there(admin: Admin, name: str, replication_factor: int) -> bool:
    """Whether the topic exists. Raises: JournalError if records would be lost in it."""
    try:
        partitions = (await admin.describe_topics([name]))[name].partitions
    except UnknownTopicOrPartitionError:
        return False
    if len(partitions) != 1:
        raise JournalError(f"topic {name} has {len(partitions)} partitions; a registry's has 1")
    if len(partitions[0].replicas) < replication_factor:
        logger.warning(
            "topic %s has %d replicas, less than the %d of kafkastore.topic.replication.factor",
            name,
            len(partitions[0].replicas),
            replication_factor,
        )
    resource = ConfigResource(ResourceType.TOPIC, name)
    policy = (await admin.describe_configs([resource]))[resource][CLEANUP_POLICY].value
    if policy != COMPACT:
        raise JournalError(
            f"topic {name} has {CLEANUP_POLICY}={policy}, so that schemas would be lost in time; "
            f"set it to {COMPACT}"
        )
    return True

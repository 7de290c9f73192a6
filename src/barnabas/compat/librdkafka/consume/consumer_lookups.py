"""What a consumer asks brokers about partitions, with an answer or an error for each one.

Unlike the core's own calls, these do not wait for a topic that is not there. Knows nothing of what is
assigned.
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence

from barnabas.client.consume.consumer_core import ConsumerCore
from barnabas.compat.librdkafka.values.error_codes import text_of
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition, topic_partition
from barnabas.types import TopicPartition as Partition

# Places in a log that ListOffsets knows from version 8 on. librdkafka asks a consumer's by version 7.
_NEWER_PLACES = range(-6, -3)


async def watermarks(core: ConsumerCore, partition: Partition, timeout_ms: float) -> tuple[int, int]:
    """Raises: KafkaException (_UNKNOWN_PARTITION), BarnabasError."""
    await _refuse_unless_known(core, [partition], timeout_ms, "Failed to get watermark offsets")
    # With read_committed the end is where the first open transaction begins.
    low = await core.lookups.beginning_offsets([partition], timeout_ms)
    high = await core.lookups.end_offsets([partition], timeout_ms)
    return low[partition], high[partition]


async def offsets_for_times(
    core: ConsumerCore, partitions: Sequence[TopicPartition], timeout_ms: float
) -> list[TopicPartition]:
    """Raises: KafkaException (_UNKNOWN_PARTITION, where none is there, and UNSUPPORTED_VERSION),
    BarnabasError."""
    keys = [Partition(p.topic, p.partition) for p in partitions]
    known = await _refuse_unless_known(core, keys, timeout_ms, "Failed to get offsets")
    if any(p.offset in _NEWER_PLACES for p, key in zip(partitions, keys, strict=True) if key in known):
        text = f"Failed to get offsets: {text_of(KafkaError.UNSUPPORTED_VERSION)}"
        raise KafkaException(KafkaError(KafkaError.UNSUPPORTED_VERSION, text))
    found: list[TopicPartition] = []
    for partition, key in zip(partitions, keys, strict=True):
        if key not in known:
            error = KafkaError(KafkaError._UNKNOWN_PARTITION)
            found.append(topic_partition(*key, partition.offset, error=error))
            continue
        at = (await core.lookups.offsets_at({key: partition.offset}, timeout_ms))[key]
        found.append(topic_partition(*key, at.offset, leader_epoch=at.leader_epoch))
    return found


async def _refuse_unless_known(
    core: ConsumerCore, partitions: Sequence[Partition], timeout_ms: float, what: str
) -> set[Partition]:
    """Those partitions that there are. Raises: KafkaException where there is none."""
    client = core.client
    if any(client.metadata.partition(p) is None for p in partitions):
        await client.refresh_metadata({p.topic for p in partitions if p.topic}, timeout_ms=timeout_ms)
    known = {p for p in partitions if client.metadata.partition(p) is not None}
    if not known:
        error = KafkaError(KafkaError._UNKNOWN_PARTITION)
        text = f"{what}: {error.str()}"
        raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION, text))
    return known

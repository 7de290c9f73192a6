"""The kernel's accumulator, as a producer's settings have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas._kernel import Accumulator
from barnabas.chance import chance
from barnabas.settings.table import ProducerConfig

if TYPE_CHECKING:
    from barnabas._kernel import Waker


def accumulator_for(config: ProducerConfig, wake: Callable[[], object] | Waker) -> Accumulator:
    """`wake`: see Accumulator. A partitioner of the user's own chooses before records come here."""
    return Accumulator(
        batch_size=min(config.batch_size, config.max_record_bytes),
        buffer_memory=config.buffer_memory,
        max_record_bytes=config.max_record_bytes,
        compression=config.compression,
        compression_level=config.compression_level,
        partitioner=config.partitioner if isinstance(config.partitioner, str) else "murmur2",
        wake=wake,
        ignore_keys=config.partitioner_ignore_keys,
        is_adaptive=config.partitioner_adaptive_partitioning_enable,
        sticky_linger_ms=config.partitioner_sticky_linger_ms,
        max_batch_records=config.batch_num_messages,
        lingers=config.linger_ms > 0,
        seed=chance.getrandbits(64),
    )

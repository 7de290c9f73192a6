"""Which partition a record goes to. Names that only other generations have are there in each."""

from barnabas.compat.kafka.partitioner.abc import Partitioner as Partitioner
from barnabas.compat.kafka.partitioner.default import DefaultPartitioner as DefaultPartitioner
from barnabas.compat.kafka.partitioner.default import murmur2 as murmur2
from barnabas.compat.kafka.partitioner.hashed import HashedPartitioner as HashedPartitioner
from barnabas.compat.kafka.partitioner.hashed import LegacyPartitioner as LegacyPartitioner
from barnabas.compat.kafka.partitioner.hashed import Murmur2Partitioner as Murmur2Partitioner
from barnabas.compat.kafka.partitioner.roundrobin import RoundRobinPartitioner as RoundRobinPartitioner
from barnabas.compat.kafka.partitioner.sticky import StickyPartitioner as StickyPartitioner
from barnabas.compat.kafka_engine.generations import generation

__all__ = generation().partitioner_names  # pyright: ignore[reportUnsupportedDunderAll] each generation's own

"""Partitions that are to be made, where kafka-python 2 has them."""

from barnabas.compat.kafka.admin._partitions import NewPartitions

__all__ = ["NewPartitions"]

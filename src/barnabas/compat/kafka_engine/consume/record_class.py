"""`ConsumerRecord`: the class of records, whose objects the kernel makes."""

from __future__ import annotations

from collections import namedtuple

from barnabas.compat.kafka_engine.generations import generation

__all__ = ["ConsumerRecord"]

# Its fields are the table's.
ConsumerRecord = namedtuple(  # pyright: ignore[reportUntypedNamedTuple]
    "ConsumerRecord", generation().consumer_record_fields, module="barnabas.compat.kafka.consumer.fetcher"
)
ConsumerRecord.__doc__ = """A record of a partition.

topic (str), partition (int), offset (int)
timestamp (int)       milliseconds since 1970, None where the message format has none
timestamp_type (int)  0: when it was made, 1: when the broker took it in
key, value            as the deserializers make them; bytes, or None, without
leader_epoch (int)    -1 where it is not known
headers (list)        of (str, bytes)
checksum              None: the message format of today has one for each batch
serialized_key_size, serialized_value_size, serialized_header_size (int)  bytes, or -1 without
"""

"""The named tuples of `kafka.structs`, made from the table of the chosen generation, and those that only
others have."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from barnabas.compat.kafka_engine.generations import GENERATIONS, generation

__all__ = ["PUBLIC_NAMES", "STRUCTS", "MemberState"]

_HOME = "barnabas.compat.kafka.structs"

_DOCUMENTATION = {
    "TopicPartition": """A partition of a topic.

    topic (str)      the topic's name
    partition (int)  the partition's number
""",
    "TopicPartitionReplica": """The replica of a partition that one broker has.

    topic (str)      the topic's name
    partition (int)  the partition's number
    broker_id (int)  the broker's number
""",
    "OffsetAndMetadata": """An offset that a group commits, and a text that is kept beside it.

    offset (int)        the next offset to read
    metadata (str)      such as who committed it, and when
    leader_epoch (int)  of the last record that was read, or -1; not in 1.2
""",
    "OffsetAndTimestamp": """An offset that was looked for by time.

    offset (int)        the first one at or after that time
    timestamp (int)     its record's, in milliseconds since 1970
    leader_epoch (int)  its record's, or -1
""",
    "ConsumerGroupMetadata": """Which member of its group a consumer is. Brokers refuse what
KafkaProducer.send_offsets_to_transaction commits for one that is not a member any more (KIP-447).

    group_id (str)           None where partitions are assigned by hand
    generation_id (int)      -1 outside of a group
    member_id (str)          "" outside of a group
    group_instance_id (str)  of a static member, or None
    state (str)              one of MemberState's
""",
    "BrokerMetadata": """A broker of the cluster.

    nodeId (int)  the broker's number
    host (str), port (int)
    rack (str)    where it stands, or None; not in 1.2
""",
    "PartitionMetadata": """A partition as the brokers describe it.

    topic (str), partition (int)
    leader (int)                  the broker's number
    leader_epoch (int)            not in 1.2
    replicas (list of int)        brokers that have a copy
    isr (list of int)             those of them that are in sync
    offline_replicas (list of int)  those that do not answer; not in 1.2
    error                         what is the matter with it
""",
    "RetryOptions": """When a SimpleProducer sends again.

    limit (int)        how often, 0 for never
    backoff_ms (int)   how long after
    retry_on_timeouts  whether also what may have arrived
""",
}


class MemberState:
    """How far a consumer is with joining its group, as ConsumerGroupMetadata says it."""

    __module__ = _HOME
    UNJOINED = "<unjoined>"
    REBALANCING = "<rebalancing>"
    STABLE = "<stable>"


def _make_all() -> dict[str, Any]:
    tables = (*GENERATIONS.values(), generation())
    made: dict[str, Any] = {}
    for row in {row.name: row for each in tables for row in each.structs}.values():
        # Their fields are the table's.
        struct = namedtuple(  # pyright: ignore[reportUntypedNamedTuple]
            row.name, row.fields, defaults=row.defaults or None, module=_HOME
        )
        struct.__doc__ = _DOCUMENTATION.get(row.name, struct.__doc__)
        made[row.name] = struct
    return made


STRUCTS = _make_all()
"""By their names, in this generation and in others."""

PUBLIC_NAMES = [*(row.name for row in generation().structs), *generation().more_names_of_structs]
"""Those of this generation."""

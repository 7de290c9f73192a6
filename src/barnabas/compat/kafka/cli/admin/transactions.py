"""`python -m kafka.admin transactions`."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.admin._transactions import AbortTransactionSpec
from barnabas.compat.kafka.cli._argument import number, text, texts
from barnabas.compat.kafka.cli.admin._command import CommandGroup, command
from barnabas.compat.kafka_engine.values.structs import STRUCTS

_TOPIC = text("-t --topic", "Topic name.", required=True)


def _plain(partitions: Any) -> list[dict[str, Any]]:
    return [{"topic": each.topic, "partition": each.partition} for each in sorted(partitions)]


@command(
    *("list", "List transactions across all brokers (broker >= 3.0)"),
    texts(
        *("--broker-id", "broker_ids", "Query only these brokers (repeatable). Default: all brokers."),
        type=int,
        default=None,
    ),
    texts(
        *("--producer-id", "producer_id_filters"),
        "Only list transactions for these producer ids (repeatable).",
        type=int,
        default=None,
    ),
    texts(
        *("--state", "state_filters"),
        "Only list transactions in these states (repeatable). Valid values: Empty, Ongoing, PrepareCommit, "
        "PrepareAbort, CompleteCommit, CompleteAbort, Dead, PrepareEpochFence.",
        default=None,
    ),
    number(
        "--duration-filter-ms",
        "Only list transactions running longer than this. Requires broker >= 3.8 (ListTransactions v1+).",
    ),
    text(
        "--id-pattern",
        "Only list transactions whose id matches this regex. Requires broker >= 4.1 (KIP-1152).",
        dest="transactional_id_pattern",
    ),
)
def list_transactions(client: Any, args: Any) -> Any:
    found = client.list_transactions(
        broker_ids=args.broker_ids,
        producer_id_filters=args.producer_id_filters,
        state_filters=args.state_filters,
        duration_filter_ms=args.duration_filter_ms,
        transactional_id_pattern=args.transactional_id_pattern,
    )
    return {broker: [each._asdict() for each in listed] for broker, listed in found.items()}


@command(
    *("describe", "Describe one or more transactional ids (broker >= 3.0)"),
    texts(
        *("--transactional-id", "transactional_ids"),
        "Transactional id to describe (repeatable).",
        required=True,
    ),
)
def describe_transactions(client: Any, args: Any) -> Any:
    return {
        name: {
            **each._asdict(),
            "state": each.state.value,
            "topic_partitions": _plain(each.topic_partitions),
        }
        for name, each in client.describe_transactions(args.transactional_ids).items()
    }


@command(
    *("describe-producers", "Describe active producers on a partition (broker >= 2.8)"),
    _TOPIC,
    texts("-p --partition", "partitions", "Partition index (repeatable).", type=int, required=True),
    number("--broker-id", "Send to this replica instead of the partition leader."),
)
def describe_producers(client: Any, args: Any) -> Any:
    partitions = [STRUCTS["TopicPartition"](args.topic, number) for number in args.partitions]
    found = client.describe_producers(partitions, broker_id=args.broker_id)
    return {
        f"{partition.topic}:{partition.partition}": {
            "active_producers": [each._asdict() for each in state.active_producers]
        }
        for partition, state in found.items()
    }


@command(
    *("find-hanging", "Find transactions older than the broker timeout + 5 min"),
    texts(
        *("--broker-id", "broker_ids", "Query only these brokers (repeatable). Default: all."),
        type=int,
        default=None,
    ),
    number(
        "--max-transaction-timeout-ms",
        "Broker's max-transaction-timeout (ms). Transactions older than this + 5 min are flagged as hanging. "
        "Default: 900000 (Kafka default).",
        default=900_000,
    ),
)
def find_hanging_transactions(client: Any, args: Any) -> Any:
    found = client.find_hanging_transactions(
        broker_ids=args.broker_ids, max_transaction_timeout_ms=args.max_transaction_timeout_ms
    )
    return [{**each, "topic_partitions": _plain(each["topic_partitions"])} for each in found]


@command(
    *("abort", "Administratively abort an open transaction on a partition"),
    _TOPIC,
    number("-p --partition", "Partition index.", required=True),
    number("--producer-id", "Producer id of the hanging transaction.", required=True),
    number("--producer-epoch", "Producer epoch of the hanging transaction.", required=True),
    number("--coordinator-epoch", "Coordinator epoch (default: -1, the admin sentinel).", default=-1),
)
def abort_transaction(client: Any, args: Any) -> Any:
    partition = STRUCTS["TopicPartition"](args.topic, args.partition)
    client.abort_transaction(
        AbortTransactionSpec(partition, args.producer_id, args.producer_epoch, args.coordinator_epoch)
    )
    names = ("topic", "partition", "producer_id", "producer_epoch")
    return {"aborted": {name: getattr(args, name) for name in names}}


TRANSACTIONS = CommandGroup(
    *("transactions", "Inspect and recover from hanging transactions (KIP-664)"),
    (
        *(list_transactions, describe_transactions, describe_producers, find_hanging_transactions),
        abort_transaction,
    ),
)

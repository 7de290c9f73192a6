"""`python -m kafka.admin transactions`."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.admin._transactions import AbortTransactionSpec
from barnabas.compat.kafka.cli.admin._command import Command, CommandGroup, Parser
from barnabas.compat.kafka_python.values.structs import STRUCTS


def _plain(partitions: Any) -> list[dict[str, Any]]:
    return [{"topic": each.topic, "partition": each.partition} for each in sorted(partitions)]


class ListTransactions(Command):
    COMMAND = "list"
    HELP = "List transactions across all brokers (broker >= 3.0)"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            "--broker-id",
            type=int,
            action="append",
            dest="broker_ids",
            help="Query only these brokers (repeatable). Default: all brokers.",
        )
        parser.add_argument(
            "--producer-id",
            type=int,
            action="append",
            dest="producer_id_filters",
            help="Only list transactions for these producer ids (repeatable).",
        )
        parser.add_argument(
            "--state",
            type=str,
            action="append",
            dest="state_filters",
            help="Only list transactions in these states (repeatable). Valid values: Empty, Ongoing, "
            "PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, Dead, PrepareEpochFence.",
        )
        parser.add_argument(
            "--duration-filter-ms",
            type=int,
            default=None,
            help="Only list transactions running longer than this. Requires broker >= 3.8 "
            "(ListTransactions v1+).",
        )
        parser.add_argument(
            "--id-pattern",
            type=str,
            default=None,
            dest="transactional_id_pattern",
            help="Only list transactions whose id matches this regex. Requires broker >= 4.1 (KIP-1152).",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        found = client.list_transactions(
            broker_ids=args.broker_ids,
            producer_id_filters=args.producer_id_filters,
            state_filters=args.state_filters,
            duration_filter_ms=args.duration_filter_ms,
            transactional_id_pattern=args.transactional_id_pattern,
        )
        return {broker: [each._asdict() for each in listed] for broker, listed in found.items()}


class DescribeTransactions(Command):
    COMMAND = "describe"
    HELP = "Describe one or more transactional ids (broker >= 3.0)"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            "--transactional-id",
            type=str,
            action="append",
            dest="transactional_ids",
            required=True,
            help="Transactional id to describe (repeatable).",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return {
            name: {
                **each._asdict(),
                "state": each.state.value,
                "topic_partitions": _plain(each.topic_partitions),
            }
            for name, each in client.describe_transactions(args.transactional_ids).items()
        }


class DescribeProducers(Command):
    COMMAND = "describe-producers"
    HELP = "Describe active producers on a partition (broker >= 2.8)"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument("-t", "--topic", type=str, required=True, help="Topic name.")
        parser.add_argument(
            *("-p", "--partition"),
            type=int,
            action="append",
            dest="partitions",
            required=True,
            help="Partition index (repeatable).",
        )
        parser.add_argument(
            "--broker-id",
            type=int,
            default=None,
            help="Send to this replica instead of the partition leader.",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        partitions = [STRUCTS["TopicPartition"](args.topic, number) for number in args.partitions]
        found = client.describe_producers(partitions, broker_id=args.broker_id)
        return {
            f"{partition.topic}:{partition.partition}": {
                "active_producers": [each._asdict() for each in state.active_producers]
            }
            for partition, state in found.items()
        }


class FindHangingTransactions(Command):
    COMMAND = "find-hanging"
    HELP = "Find transactions older than the broker timeout + 5 min"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            "--broker-id",
            type=int,
            action="append",
            dest="broker_ids",
            help="Query only these brokers (repeatable). Default: all.",
        )
        parser.add_argument(
            "--max-transaction-timeout-ms",
            type=int,
            default=900_000,
            help="Broker's max-transaction-timeout (ms). Transactions older than this + 5 min are flagged as "
            "hanging. Default: 900000 (Kafka default).",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        found = client.find_hanging_transactions(
            broker_ids=args.broker_ids, max_transaction_timeout_ms=args.max_transaction_timeout_ms
        )
        return [{**each, "topic_partitions": _plain(each["topic_partitions"])} for each in found]


class AbortTransaction(Command):
    COMMAND = "abort"
    HELP = "Administratively abort an open transaction on a partition"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument("-t", "--topic", type=str, required=True, help="Topic name.")
        parser.add_argument("-p", "--partition", type=int, required=True, help="Partition index.")
        parser.add_argument(
            "--producer-id", type=int, required=True, help="Producer id of the hanging transaction."
        )
        parser.add_argument(
            "--producer-epoch", type=int, required=True, help="Producer epoch of the hanging transaction."
        )
        parser.add_argument(
            "--coordinator-epoch",
            type=int,
            default=-1,
            help="Coordinator epoch (default: -1, the admin sentinel).",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        partition = STRUCTS["TopicPartition"](args.topic, args.partition)
        client.abort_transaction(
            AbortTransactionSpec(partition, args.producer_id, args.producer_epoch, args.coordinator_epoch)
        )
        names = ("topic", "partition", "producer_id", "producer_epoch")
        return {"aborted": {name: getattr(args, name) for name in names}}


class TransactionsCommandGroup(CommandGroup):
    GROUP = "transactions"
    HELP = "Inspect and recover from hanging transactions (KIP-664)"
    COMMANDS = (
        *(ListTransactions, DescribeTransactions, DescribeProducers, FindHangingTransactions),
        AbortTransaction,
    )

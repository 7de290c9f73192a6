"""What kafka-tools takes: its commands with their arguments, as its help tells of them.

Must not know what the commands do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any, TextIO

__all__ = ["encoded", "parser_for"]

DEFAULT = "(default: %(default)s)"


def parser_for(commands: dict[str, Callable[[Any, Any], None]]) -> argparse.ArgumentParser:
    """A parser whose result has the chosen one of the `commands` as `func`, and its name as `command`."""
    output = argparse.ArgumentParser(description="Tools for Kafka.")
    output.add_argument(
        *("-b", "--broker"),
        default="localhost:9092",
        dest="host",
        help="host:port of any Kafka broker. [default: localhost:9092]",
    )
    output.add_argument(
        *("-o", "--broker_version"),
        default="0.9.0",
        dest="broker_version",
        help="The version string of the broker with which to communicate",
    )
    subparsers = output.add_subparsers(help="Commands", dest="command")
    for name, (about, add) in _COMMANDS.items():
        parser = subparsers.add_parser(name, help=about)
        parser.set_defaults(func=commands[name])
        for each in add:
            each(parser)
    return output


def encoded(text: str) -> bytes:
    """Names of topics and groups are bytes."""
    return text.encode("utf-8", errors="replace")


def _topic(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", metavar="TOPIC", help="Topic name.", type=encoded)


def _consumer_group(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("consumer_group", metavar="CONSUMER_GROUP", help="Consumer group name.", type=encoded)


def _offset(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "offset",
        metavar="OFFSET",
        help="Offset to fetch. Can be EARLIEST, LATEST, or a datetime in the format YYYY-MM-DDTHH:MM:SS.",
    )


def _limit(parser: argparse.ArgumentParser) -> None:
    about = f"Number of messages to consume {DEFAULT}"
    parser.add_argument("-l", "--limit", help=about, type=int, default=10)


def _outfile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        *("-o", "--outfile"),
        help="output file (defaults to stdout)",
        type=_opened,
        default=sys.stdout,
    )


def _opened(name: str) -> TextIO:
    """The file while arguments are read, so that one that cannot be opened is a wrong argument."""
    if name == "-":
        return sys.stdout
    try:
        return open(name, "w")
    except OSError as error:
        raise argparse.ArgumentTypeError(f"can't open '{name}': {error}") from error


def _timeout(parser: argparse.ArgumentParser) -> None:
    # The original has no space there.
    about = f"Time in ms to wait for the operation to complete{DEFAULT}"
    parser.add_argument("-t", "--timeout", help=about, type=int, default=5000)


def _new_topic(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        *("-p", "--num_partitions"),
        help=f"Number of partitions to be created. -1 indicates unset. {DEFAULT}",
        type=int,
        default=1,
    )
    parser.add_argument(
        *("-r", "--replication_factor"),
        help=f"Replication factor for the topic. -1 indicates unset. {DEFAULT}",
        type=int,
        default=1,
    )
    parser.add_argument(
        *("-a", "--replica_assignment"),
        help="Replica assignment among kafka brokers for this topic partitions. If this is set "
        "num_partitions and replication_factor must be unset. Represent as a JSON object with partition IDs "
        "as keys as lists of node IDs as values",
        type=encoded,
    )
    parser.add_argument(
        *("-c", "--config_entries"),
        help="Topic level configuration for topic to be set. Represent as a JSON object.",
        type=encoded,
    )


_Adding = Callable[[argparse.ArgumentParser], None]

_COMMANDS: dict[str, tuple[str, tuple[_Adding, ...]]] = {
    "consume_topic": ("Dump messages for a topic to a file or stdout.", (_topic, _limit, _outfile)),
    "desc_topic": ("Print detailed info for a topic.", (_topic,)),
    "print_managed_consumer_groups": ("Get consumer groups for a topic", (_topic,)),
    "print_consumer_lag": ("Get consumer lag for a topic.", (_topic, _consumer_group)),
    "print_offsets": ("Fetch broker offsets for a topic", (_topic, _offset)),
    "print_topics": ("Print information about all topics in the cluster.", ()),
    "reset_offsets": ("Reset offsets for a topic/consumer group", (_topic, _consumer_group, _offset)),
    "create_topic": ("Create a topic", (_topic, _timeout, _new_topic)),
    "delete_topic": ("Delete a topic", (_topic, _timeout)),
}

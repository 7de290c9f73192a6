"""The console consumer: prints what comes into topics."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence

from barnabas.compat import kafka
from barnabas.compat.kafka.cli._argument import add_group, text, texts
from barnabas.compat.kafka.cli._parts import begin, parser_for
from barnabas.compat.kafka_engine.generations import generation

_FORMATS = ("str", "raw", "full")


def main_parser(prog: str | None = None) -> argparse.ArgumentParser:
    parser = parser_for("consumer", prog)
    instance = text("-i --group-instance-id", "static group membership identifier")
    add_group(
        *(parser, "consumer options"),
        texts("-t --topic", "topics", "subscribe to topic", required=True),
        text("-g --group", "consumer group", required=generation().cli_consumer_needs_group),
        *([instance] if generation().cli_arguments_are_shared else []),
        text("-f --format", "output format: str|raw|full", default="str"),
        text("--encoding", "encoding to use for str output decode()", default="utf-8"),
    )
    return parser


def run_cli(args: Sequence[str] | None = None, prog: str | None = None) -> int | None:
    """Prints until it is interrupted; gives the exit status. Raises: ValueError for an unknown format."""
    config = main_parser(prog).parse_args(args)
    if config.format not in _FORMATS:
        raise ValueError(f"Unrecognized format: {config.format}")
    settings = begin(config)
    if generation().cli_arguments_are_shared:
        settings["group_instance_id"] = config.group_instance_id
    logger = logging.getLogger("kafka.cli.consumer")
    consumer = kafka.KafkaConsumer(group_id=config.group, **settings)
    consumer.subscribe(config.topics)
    try:
        for message in consumer:
            if config.format == "str":
                print(message.value.decode(config.encoding))
            else:
                print(message if config.format == "full" else message.value)
    except KeyboardInterrupt:
        logger.info("Bye!")
        return 0
    except Exception:
        logger.critical("Error!", exc_info=True)
        return 1
    finally:
        consumer.close()
    return None

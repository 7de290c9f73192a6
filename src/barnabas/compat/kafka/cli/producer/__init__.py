"""The console producer: sends what it reads, a record for each line."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from typing import Any

from barnabas.compat import kafka
from barnabas.compat.kafka.cli._argument import add_group, text
from barnabas.compat.kafka.cli._parts import begin, parser_for


def main_parser(prog: str | None = None) -> argparse.ArgumentParser:
    parser = parser_for("producer", prog)
    add_group(
        *(parser, "producer options"),
        text("-t --topic", "publish to topic", required=True),
        text("--encoding", "byte encoding for produced messages", default="utf-8"),
    )
    return parser


def run_cli(args: Sequence[str] | None = None, prog: str | None = None) -> int:
    """Sends until the input ends or it is interrupted; gives the exit status."""
    config = main_parser(prog).parse_args(args)
    settings = begin(config)
    logger = logging.getLogger("kafka.cli.producer")
    producer = kafka.KafkaProducer(**settings)

    def log_result(result: Any) -> None:
        if isinstance(result, Exception):
            logger.error("Error producing message", exc_info=result)
        else:
            logger.info("Message produced: %s", result)

    try:
        for line in sys.stdin:
            value = line.rstrip("\n").encode(config.encoding)
            producer.send(config.topic, value=value).add_both(log_result)
    except KeyboardInterrupt:
        logger.info("Bye!")
    except Exception:
        logger.critical("Error!", exc_info=True)
        return 1
    finally:
        producer.close()
    return 0

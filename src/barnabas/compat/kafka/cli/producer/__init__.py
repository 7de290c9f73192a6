"""The console producer: sends what it reads, a record for each line."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from typing import Any

from barnabas.compat import kafka
from barnabas.compat.kafka.cli._arguments import begin, parser_for


def main_parser(prog: str | None = None) -> argparse.ArgumentParser:
    parser = parser_for("producer", prog)
    options = parser.add_argument_group("producer options")
    options.add_argument("-t", "--topic", type=str, required=True, help="publish to topic")
    options.add_argument("--encoding", type=str, default="utf-8", help="byte encoding for produced messages")
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

"""`python -m examples.flights`: the command line of the demo, and its errors in one line each."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from barnabas import BarnabasError

FOLDER = Path("build/flights")


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 when the results are right, 1 when they or a step went wrong, 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    console = Console()
    # the client's warnings are for people; the tracebacks that py4j logs when it is interrupted are not
    logging.getLogger().addHandler(logging.NullHandler())
    logging.getLogger("barnabas").addHandler(logging.StreamHandler())
    try:
        return 0 if _run(options, console) else 1
    except KeyboardInterrupt:
        console.print("interrupted")
        return 130


def _run(options: argparse.Namespace, console: Console) -> bool:
    # here, since they take a second to import and bad arguments should not
    from examples.flights import check, data, demo, spark_session, topics
    from pyspark.errors import PySparkException

    try:
        return demo.run(
            demo.Options(
                options.folder,
                bootstrap=options.bootstrap,
                follow=options.follow,
                speed=options.speed,
                days=options.days,
                prefix=options.prefix,
                format=options.format,
                keeps=options.keep,
            ),
            console,
        )
    except (
        BarnabasError,
        check.ReadBackError,
        data.MissingDataError,
        demo.QueryTimeoutError,
        spark_session.SparkStartError,
        topics.ForeignTopicError,
    ) as error:
        print(f"flights: {error}", file=sys.stderr)
    except PySparkException as error:
        print(f"flights: Spark failed; its log is {options.folder / 'spark.log'}\n{error}", file=sys.stderr)
    return False


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m examples.flights",
        description="Replays the flights that left New York in 2013 into Kafka, sums them up with Spark, and "
        "checks the results.",
    )
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="a Kafka; without it, an embedded broker")
    parser.add_argument("--follow", action="store_true", help="replay against the clock, until Ctrl-C")
    parser.add_argument(
        "--speed", type=_speed, default=3600, metavar="N", help="with --follow, times real time (3600)"
    )
    parser.add_argument("--days", type=_days, metavar="N", help="only the first N days of the year")
    parser.add_argument(
        "--format",
        choices=("json", "avro"),
        default="json",
        help="of values; avro by an embedded registry",
    )
    parser.add_argument(
        "--keep", action="store_true", help="keep Kafka and the page until Ctrl-C, to look at what came"
    )
    parser.add_argument("--prefix", default="", help="comes before the names of the topics")
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help=f"for logs, checkpoints, Parquet and chart ({FOLDER})"
    )
    return parser


def _speed(text: str) -> float:
    speed = float(text)
    if not 1 <= speed <= 1_000_000:
        raise argparse.ArgumentTypeError(f"must be from 1 to 1000000, not {text}")
    return speed


def _days(text: str) -> int:
    days = int(text)
    if not 1 <= days <= 365:
        raise argparse.ArgumentTypeError(f"must be from 1 to 365, not {text}")
    return days


if __name__ == "__main__":
    sys.exit(main())

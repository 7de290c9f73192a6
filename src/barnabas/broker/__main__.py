"""`python -m barnabas.broker`: the embedded broker as a program, until SIGTERM or SIGINT.

Prints one line with the bootstrap address once it serves; the log goes to standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Sequence

from barnabas.broker.clock_loop import new_clock_loop
from barnabas.broker.configs.setting_kinds import parse_assignment, parse_user
from barnabas.broker.faults.listening import FaultListener
from barnabas.broker.server import Broker
from barnabas.errors import BarnabasError


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m barnabas.broker", description="An embedded Kafka broker."
    )
    parser.add_argument("--data-dir", help="where the log is kept")
    parser.add_argument("--storage", choices=["disk", "memory"], default="disk", help="memory: no --data-dir")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument(
        "--port",
        type=int,
        nargs="+",
        default=[9092],
        help="0 takes a free one; one for each node, or the first",
    )
    parser.add_argument("--nodes", type=int, default=1, help="how many nodes the cluster has")
    parser.add_argument("--racks", nargs="+", help="of each node")
    parser.add_argument(
        "--config", action="append", default=[], metavar="NAME=VALUE", help="a broker setting of Kafka's"
    )
    parser.add_argument(
        "--faults-port", type=int, help="listen there for faults on demand, over HTTP; 0 takes a free port"
    )
    parser.add_argument("--as-version", help="a release of Kafka to pass for, such as 2.8 or 0.10")
    parser.add_argument(
        "--user",
        action="append",
        default=[],
        metavar="NAME=PASSWORD",
        help="a user of SASL",
    )
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        config = dict(parse_assignment(text) for text in options.config)
        port = options.port if len(options.port) > 1 else options.port[0]
        broker = Broker(
            options.data_dir,
            options.host,
            port,
            config=config,
            nodes=options.nodes,
            racks=options.racks,
            users=dict(map(parse_user, options.user)),
            as_version=options.as_version,
            storage=options.storage,
        )
        with asyncio.Runner(loop_factory=new_clock_loop) as runner:
            runner.run(serve(broker, options.host, options.faults_port))
    except (BarnabasError, OSError) as error:
        print(f"barnabas: {error}", file=sys.stderr)
        return 1
    return 0


async def serve(broker: Broker, host: str, faults_port: int | None = None) -> None:
    """Runs a broker until SIGTERM or SIGINT, and prints its address once it is ready."""
    allow_many_files()
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    await broker.start()
    faults = FaultListener(lambda: broker.faults, broker.upsets)
    if faults_port is not None:
        await faults.start(host, faults_port)
        logging.info("faults are set at %s", faults.url)
    print(broker.bootstrap, flush=True)
    await stopped.wait()
    await faults.stop()
    await broker.stop()


def allow_many_files() -> None:
    """Every segment is an open file."""
    import resource  # which Windows does not have

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    sys.exit(main())

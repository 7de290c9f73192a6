"""A broker, a registry or both in the foreground, until SIGTERM or SIGINT.

Owns what is printed, and that both end in good order. Knows nothing of options.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.cli.output import print_json

if TYPE_CHECKING:
    from barnabas.broker.server import Broker
    from barnabas.registry_server.settings import ServerSettings

MakeBroker = Callable[[], "Broker"]


def embedded_broker(
    data_dir: str, host: str = "127.0.0.1", port: int = 0, config: Mapping[str, str] | None = None
) -> MakeBroker:
    """A broker, to be made where it runs."""
    # Here and not above, since no other command should wait for the broker's import.
    from barnabas.broker.__main__ import allow_many_files
    from barnabas.broker.data_directory import data_directory
    from barnabas.broker.server import Broker

    def make() -> Broker:
        allow_many_files()
        return Broker(data_directory(data_dir), host, port, config=config or {})

    return make


def run(broker: MakeBroker | None, registry: ServerSettings | None, *, as_json: bool = False) -> None:
    """`registry`: on that broker, if there is one. Addresses are printed once both answer."""
    asyncio.run(_until_stopped(broker, registry, as_json))


async def _until_stopped(broker: MakeBroker | None, registry: ServerSettings | None, as_json: bool) -> None:
    task = asyncio.current_task()
    assert task is not None
    is_stopped = False

    def stop() -> None:
        nonlocal is_stopped
        is_stopped = True
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    try:
        await _serve(broker, registry, as_json)
    except asyncio.CancelledError:
        if not is_stopped:
            raise


async def _serve(make_broker: MakeBroker | None, registry: ServerSettings | None, as_json: bool) -> None:
    addresses: dict[str, str] = {}
    async with AsyncExitStack() as ends:
        if make_broker is not None:
            broker = make_broker()
            await broker.start()
            ends.push_async_callback(broker.stop)
            addresses["bootstrap"] = broker.bootstrap
            if registry is not None:
                registry = replace(
                    registry,
                    client={"bootstrap_servers": broker.bootstrap},
                    journal=replace(registry.journal, replication_factor=1),
                )
        if registry is not None:
            from barnabas.registry_server.node import RegistryNode

            node = RegistryNode(registry)
            ends.push_async_callback(node.close)
            await node.start()
            addresses["registry"] = node.url
        if as_json:
            print_json(addresses)
        else:
            print(*addresses.values(), sep="\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().create_future()

"""A broker, a registry, both, or a proxy of faults in the foreground, until SIGTERM or SIGINT.

Owns what is printed, and that both end in good order. Knows nothing of options.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from barnabas.cli.output import print_json
from barnabas.cli.properties import property_line
from barnabas.cli.running.broker_listeners import BrokerListeners
from barnabas.errors import MissingExtraError
from barnabas.ui.settings import UiSettings

if TYPE_CHECKING:
    from barnabas.broker.server import Broker
    from barnabas.registry_server.settings import ServerSettings
    from barnabas.ui.server import UiServer

MakeBroker = Callable[[], "Broker"]


def embedded_broker(
    data_dir: str,
    host: str = "127.0.0.1",
    port: int = 0,
    config: Mapping[str, str] | None = None,
    nodes: int = 1,
    as_version: str | None = None,
    users: Mapping[str, str] | None = None,
) -> MakeBroker:
    """A broker, to be made where it runs."""
    # Here and not above, since no other command should wait for the broker's import.
    from barnabas.broker.__main__ import allow_many_files
    from barnabas.broker.data_directory import data_directory
    from barnabas.broker.server import Broker

    def make() -> Broker:
        allow_many_files()
        return Broker(
            data_directory(data_dir),
            host,
            port,
            config=config or {},
            nodes=nodes,
            users=users,
            as_version=as_version,
        )

    return make


def run(
    broker: MakeBroker | None,
    registry: ServerSettings | None,
    listeners: BrokerListeners | None = None,
    *,
    faults_port: int | None = None,
    ui: UiSettings | None = None,
    as_json: bool = False,
) -> None:
    """`registry`: on that broker, if there is one. `listeners`: what that has. Addresses are printed once all
    answer. `faults_port`: where faults of the broker are told. `ui`: the page, of what else runs here."""
    asyncio.run(_until_stopped(_serve(broker, registry, listeners, faults_port, ui, as_json)))


def run_page(settings: UiSettings, *, as_json: bool = False) -> None:
    """The page alone. Raises: MissingExtraError, OSError."""
    asyncio.run(_until_stopped(_serve(None, None, None, None, settings, as_json)))


def _page(settings: UiSettings) -> UiServer:
    try:
        from barnabas.ui.server import UiServer
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("barnabas"):
            raise
        raise MissingExtraError("the page", "ui") from None
    return UiServer(settings)


def run_proxy(upstream: str, host: str, port: int, faults_port: int, *, as_json: bool = False) -> None:
    """A proxy of faults before the cluster of `upstream`."""
    asyncio.run(_until_stopped(_serve_proxy(upstream, host, port, faults_port, as_json)))


async def _until_stopped(serving: Coroutine[Any, Any, None]) -> None:
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
        await serving
    except asyncio.CancelledError:
        if not is_stopped:
            raise


async def _serve(
    make_broker: MakeBroker | None,
    registry: ServerSettings | None,
    listeners: BrokerListeners | None,
    faults_port: int | None,
    ui: UiSettings | None,
    as_json: bool,
) -> None:
    addresses: dict[str, str] = {}
    listeners = listeners or BrokerListeners()
    properties: dict[str, dict[str, str]] = {}
    async with AsyncExitStack() as ends:
        if make_broker is not None:
            broker = make_broker()
            await broker.start()
            ends.push_async_callback(broker.stop)
            addresses["bootstrap"] = broker.bootstrap
            nodes = list(broker.nodes.values())
            protocols = nodes[0].protocols
            # Of `--config listeners=...` nothing is known here but what each speaks.
            is_told = listeners.properties or len(protocols) > 1
            for name, protocol in protocols.items() if is_told else ():
                needed = listeners.properties.get(name, {"security.protocol": protocol})
                bootstrap = ",".join(node.listeners[name] for node in nodes)
                properties[name] = {"bootstrap.servers": bootstrap, **needed}
            if registry is not None:
                registry = replace(
                    registry,
                    client={**listeners.own_client, "bootstrap_servers": broker.bootstrap},
                    journal=replace(registry.journal, replication_factor=1),
                )
            if faults_port is not None:
                from barnabas.broker.faults.listening import FaultListener

                running = broker
                listener = FaultListener(lambda: running.faults, running.upsets)
                await listener.start("127.0.0.1", faults_port)
                ends.push_async_callback(listener.stop)
                addresses["faults"] = listener.url
        if registry is not None:
            from barnabas.registry_server.node import RegistryNode

            node = RegistryNode(registry)
            ends.push_async_callback(node.close)
            await node.start()
            addresses["registry"] = node.url
        if ui is not None:
            bootstrap = addresses.get("bootstrap")
            page = _page(
                replace(
                    ui,
                    client=ui.client
                    if bootstrap is None
                    else {**ui.client, **listeners.own_client, "bootstrap_servers": bootstrap},
                    registry=addresses.get("registry", ui.registry),
                    faults=addresses.get("faults", ui.faults),
                )
            )
            await page.start()
            ends.push_async_callback(page.close)
            addresses["ui"] = page.url
        _tell(addresses, as_json, properties)
        await asyncio.get_running_loop().create_future()


async def _serve_proxy(upstream: str, host: str, port: int, faults_port: int, as_json: bool) -> None:
    # Here and not above, since no other command should wait for these.
    from barnabas.broker.faults.listening import FaultListener
    from barnabas.broker.faults.proxy import FaultProxy

    proxy = FaultProxy(upstream, host, port)
    listener = FaultListener(lambda: proxy.faults)
    async with AsyncExitStack() as ends:
        await proxy.start()
        ends.push_async_callback(proxy.stop)
        await listener.start("127.0.0.1", faults_port)
        ends.push_async_callback(listener.stop)
        _tell({"bootstrap": proxy.bootstrap, "faults": listener.url}, as_json)
        await asyncio.get_running_loop().create_future()


def _tell(
    addresses: Mapping[str, str], as_json: bool, properties: Mapping[str, Mapping[str, str]] | None = None
) -> None:
    """`properties`: what clients need, by listener."""
    if as_json:
        print_json({**addresses, **({"listeners": properties} if properties else {})})
    else:
        print(*addresses.values(), sep="\n")
        for name, needed in (properties or {}).items():
            print(f"\n# {name}", *(property_line(*each) for each in needed.items()), sep="\n")
    sys.stdout.flush()

"""Three brokers of Apache Kafka, of which one can be parted from the others while clients reach all of them.

Owns the gates that stand before what brokers and controllers say to each other: who knocks is told by the
client id of the first request, which has the number of its node in it.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterable
from contextlib import suppress

from barnabas.listening import stop_listening
from barnabas.testing import ApacheKafkaCluster
from barnabas.testing.apache_kafka import new_cluster_id
from barnabas.testing.apache_kafka_cluster import ClusterNode

CONFIG = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "INTERNAL",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
}


class Gates:
    """On a thread of its own. While a node is parted, no way leads from it to another, or the other way."""

    def __init__(self) -> None:
        self._parted: set[int] = set()
        self._ways: dict[asyncio.Transport, tuple[int, int]] = {}
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def open(self, to_node: int, port: int) -> int:
        """The port of a gate before a port of a node."""

        async def serve() -> int:
            server = await asyncio.start_server(knock, "127.0.0.1", 0)
            self._servers.append(server)
            return server.sockets[0].getsockname()[1]

        async def knock(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            try:
                # A node that is away, and one that goes, are as usual here.
                with suppress(OSError, asyncio.IncompleteReadError):
                    await self._let_through(reader, writer, to_node, port)
            finally:
                self._tasks.discard(task)
                writer.close()

        return asyncio.run_coroutine_threadsafe(serve(), self._loop).result()

    async def _let_through(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to_node: int, port: int
    ) -> None:
        length = await reader.readexactly(4)
        first = await reader.readexactly(int.from_bytes(length))
        way = (_node_of(first), to_node)
        inner_reader, inner = await asyncio.open_connection("127.0.0.1", port)
        if self._is_cut(way):
            inner.close()
            return
        self._ways[inner.transport] = way
        try:
            inner.write(length + first)
            await asyncio.gather(_pass_on(reader, inner), _pass_on(inner_reader, writer))
        finally:
            del self._ways[inner.transport]
            inner.close()

    def part(self, node: int) -> None:
        async def cut() -> None:
            self._parted.add(node)
            for transport, way in self._ways.items():
                if self._is_cut(way):
                    transport.abort()

        asyncio.run_coroutine_threadsafe(cut(), self._loop).result()

    def join(self, node: int) -> None:
        self._loop.call_soon_threadsafe(self._parted.discard, node)

    def _is_cut(self, way: tuple[int, int]) -> bool:
        return way[0] != way[1] and not self._parted.isdisjoint(way)

    def close(self) -> None:
        async def stop() -> None:
            for server in self._servers:
                await stop_listening(server)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _node_of(request: bytes) -> int:
    """Of the node that sends it. A header has the client id behind eight bytes and its length."""
    length = int.from_bytes(request[8:10])
    client_id = request[10 : 10 + length].decode()
    found = re.search(r"\d+", client_id)
    assert found is not None, f"nobody knows who {client_id!r} is"
    return int(found[0])


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one side hangs up, and then for both."""
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


class GatedKafka(ApacheKafkaCluster):
    """`part` and `join` a node, as an embedded one's."""

    def start(self) -> GatedKafka:
        self._gates = Gates()
        return super().start()

    def part(self, node: int) -> None:
        self._gates.part(node)

    def join(self, node: int) -> None:
        self._gates.join(node)

    def close(self) -> None:
        super().close()
        self._gates.close()

    def _first_start(self) -> None:
        ports = {node: self._kept_ports.take(3) for node in (1, 2, 3)}
        gates = {node: [self._gates.open(node, port) for port in ports[node][1:]] for node in ports}
        cluster_id = new_cluster_id()
        for node, (client, internal, controller) in ports.items():
            names = ("PLAINTEXT", "INTERNAL", "CONTROLLER")
            listening = zip(names, (client, internal, controller), strict=True)
            advertised = zip(names, (client, *gates[node]), strict=True)
            config = {
                "listeners": _addresses(listening),
                "advertised.listeners": _addresses(advertised),
                "controller.quorum.voters": ",".join(
                    f"{voter}@127.0.0.1:{gate}" for voter, (_, gate) in gates.items()
                ),
            }
            self.nodes.append(
                ClusterNode(
                    node,
                    {voter: port for voter, (_, _, port) in ports.items()},
                    cluster_id,
                    version=self.version,
                    port=client,
                    config=CONFIG | config,
                    heap_mb=384,
                )
            )
        self._launch_missing()


def _addresses(ports: Iterable[tuple[str, int]]) -> str:
    return ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports)

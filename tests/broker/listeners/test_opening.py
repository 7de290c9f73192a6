"""When a broker begins to let clients in."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from barnabas.broker.server import Broker
from barnabas.net.server import KafkaServer


def test_no_listener_lets_in_a_client_before_all_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bind = KafkaServer.bind
    taken: list[int] = []
    refused: list[int] = []

    async def bind_after_a_look(self: KafkaServer, host: str, port: int) -> int:
        for earlier in taken:
            with socket.socket() as client, pytest.raises(ConnectionRefusedError):
                client.connect((host, earlier))
            refused.append(earlier)
        taken.append(await bind(self, host, port))
        return taken[-1]

    async def scenario() -> None:
        broker = Broker(tmp_path, nodes=3)
        await broker.start()
        try:
            for port in taken:
                with socket.socket() as client:
                    client.connect(("127.0.0.1", port))
        finally:
            await broker.stop()

    monkeypatch.setattr(KafkaServer, "bind", bind_after_a_look)
    asyncio.run(scenario())
    assert refused == [taken[0], *taken[:2]]

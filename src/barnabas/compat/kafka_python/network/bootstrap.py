"""Reaching the cluster before a constructor returns, as every generation does in its own time.

Knows nothing of which exception a program sees where that fails.
"""

from __future__ import annotations

import asyncio
import contextlib

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.errors import BarnabasError
from barnabas.events import AllBrokersDown, Event


async def bootstrap(
    client: KafkaClient, timeout_ms: float, *, tries_once: bool = False
) -> dict[int, tuple[int, int]]:
    """The versions that a broker speaks, by API key, once the cluster is known. `tries_once`: whether each of
    bootstrap_servers gets one chance only.

    Raises: BootstrapError, KafkaTimeoutError, AuthenticationError.
    """
    failed: asyncio.Future[BarnabasError] = asyncio.get_running_loop().create_future()

    def listen(event: Event) -> None:
        if isinstance(event, AllBrokersDown) and not failed.done():
            failed.set_result(event.error)

    client.events.add(listen)
    reaching = asyncio.ensure_future(_reach(client, timeout_ms))
    try:
        await asyncio.wait(
            [reaching, failed] if tries_once else [reaching], return_when=asyncio.FIRST_COMPLETED
        )
        if reaching.done():
            return reaching.result()
        raise failed.result()
    finally:
        client.events.remove(listen)
        reaching.cancel()
        with contextlib.suppress(asyncio.CancelledError, BarnabasError):
            await reaching


async def _reach(client: KafkaClient, timeout_ms: float) -> dict[int, tuple[int, int]]:
    async def attempt() -> dict[int, tuple[int, int]]:
        connection = await client.connect(await client.any_node())
        return dict(connection.versions)

    await client.refresh_metadata(timeout_ms=timeout_ms)
    return await client.retry(attempt, what="reaching a broker", timeout_ms=timeout_ms)

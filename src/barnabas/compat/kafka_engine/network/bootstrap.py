"""Reaching the cluster before a constructor returns, as every generation does in its own time, and what a
program sees where that fails."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.values.failures import failure_of, no_brokers
from barnabas.errors import AuthenticationError, BarnabasError
from barnabas.events import AllBrokersDown, Event
from barnabas.loop_thread import loop_thread


def reach(client: KafkaClient, bootstrap_servers: Any, timeout_ms: float) -> dict[int, tuple[int, int]]:
    """The versions that the broker speaks which was reached first, by API key. `bootstrap_servers` as the
    program gave them. Raises: NoBrokersAvailable, or what else the generation has for it."""
    try:
        return loop_thread().run(bootstrap(client, timeout_ms), what="client")
    except AuthenticationError as error:
        if generation().bootstrap_tells_of_refusals:
            raise failure_of(error) from error
        raise no_brokers(bootstrap_servers) from error
    except BarnabasError as error:
        raise no_brokers(bootstrap_servers) from error


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

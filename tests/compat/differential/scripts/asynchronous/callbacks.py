"""Callbacks of the configuration of clients for asyncio: of every kind, and what they raise."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, script
from tests.compat.differential.scripts.asynchronous.calls import attempt, run
from tests.compat.differential.stage import UNREACHABLE, WAIT, Stage

AWAY = {"bootstrap.servers": UNREACHABLE, "log_level": 0, "statistics.interval.ms": 50}


def makers(aio: Any) -> dict[str, Callable[[dict[str, Any]], Any]]:
    return {
        "producer": aio.AIOProducer,
        "consumer": lambda conf: aio.AIOConsumer({"group.id": "g", **conf}),
    }


async def until_raised(stage: Stage, label: str, client: Any, call: str = "poll") -> None:
    while True:
        try:
            await getattr(client, call)(*([1, 0.2] if call == "consume" else [0.2]))
        except Exception as error:
            stage.record(label, error)
            return


@script()
def plain_functions_as_callbacks_of_the_configuration(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        here = threading.get_ident()
        for name in ("error_cb", "stats_cb"):
            for label, make in makers(aio).items():
                threads: list[bool] = []
                client = make({**AWAY, name: lambda *_, t=threads: t.append(threading.get_ident() == here)})
                await until_raised(stage, f"{label}: {name}", client)
                stage.record("on the loop", set(threads))

    run(main())


@script()
def callbacks_that_give_other_awaitables(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        for label, make in makers(aio).items():
            told = asyncio.Event()

            def stats_cb(text: str, told: asyncio.Event = told) -> Any:
                # A future is awaited as well as a coroutine.
                future = asyncio.get_running_loop().create_future()
                future.set_result(None)
                told.set()
                return future

            client = make({**AWAY, "stats_cb": stats_cb})
            while not told.is_set():
                await client.poll(0.1)
            stage.record(label, "told")
            await attempt(stage, "close", client.close)

    run(main())


@script()
def what_callbacks_of_the_configuration_raise(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def failing(*_: Any) -> None:
        raise ValueError("from the callback")

    async def main() -> None:
        for name in ("error_cb", "stats_cb"):
            for label, make in makers(aio).items():
                client = make({**AWAY, name: failing})
                await until_raised(stage, f"{label}: {name}", client)
                await until_raised(stage, f"{label}: {name} again", client)

    run(main())


@script()
def what_callbacks_of_the_configuration_raise_by_flush_and_consume(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def failing(*_: Any) -> None:
        raise ValueError("from the callback")

    async def main() -> None:
        for name in ("error_cb", "stats_cb"):
            for kind, call in (("producer", "flush"), ("consumer", "consume")):
                client = makers(aio)[kind]({**AWAY, name: failing})
                await until_raised(stage, f"{name}: {call}", client, call)
                await until_raised(stage, f"{name}: {call} again", client, call)

    run(main())


@script()
def the_configuration_of_an_asynchronous_client_may_be_used_again(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        heard: list[str] = []

        async def stats_cb(text: str) -> None:
            heard.append("statistics")

        conf = {
            **AWAY,
            "group.id": "g",
            "stats_cb": stats_cb,
            "logger": logging.getLogger(stage.name("logger")),
        }
        for make in (aio.AIOConsumer, aio.AIOConsumer):
            client = make(dict(conf))
            while not heard:
                await client.poll(0.1)
            stage.record("heard", heard[0])
            heard.clear()
            await client.close()

    run(main())


@script()
def callbacks_may_use_their_producer(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        results: list[Any] = []

        async def stats_cb(text: str) -> None:
            if not results:
                results.append("begun")
                results.append(isinstance(await producer.purge(), type(None)))
                results.append(await producer.produce("t", b"v"))

        producer = aio.AIOProducer({**AWAY, "stats_cb": stats_cb, "message.timeout.ms": 500})
        while len(results) < 3:
            await producer.poll(0.1)
        stage.record("results", [results[1], isinstance(results[2], asyncio.Future)])
        await attempt(stage, "flush", producer.flush, WAIT)
        await attempt(stage, "message", lambda: results[2])
        await attempt(stage, "close", producer.close)

    run(main())


@script()
def callbacks_see_the_context_and_the_tasks_of_the_loop(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        for label, make in makers(aio).items():
            seen: list[Any] = []

            async def stats_cb(text: str, seen: list[Any] = seen) -> None:
                task = asyncio.current_task()
                await asyncio.sleep(0)
                seen.append([task is not None, asyncio.get_running_loop() is loop])

            client = make({**AWAY, "stats_cb": stats_cb})
            while not seen:
                await client.poll(0.1)
            stage.record(label, seen[0])
            await client.close()

    run(main())


@on_apache()
def throttled_asynchronous_producers_are_told(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic()
    client_id = stage.limited_client(producer_byte_rate=10_000.0)

    async def main() -> None:
        events: list[Any] = []

        async def throttle_cb(event: Any) -> None:
            events.append(event)

        conf = {
            "bootstrap.servers": stage.bootstrap,
            "log_level": 0,
            "client.id": client_id,
            "throttle_cb": throttle_cb,
        }
        producer = aio.AIOProducer(conf, batch_size=1)
        while not events:
            await producer.produce(topic, b"x" * 5000)
            await producer.flush(WAIT)
            await producer.poll(0)
        stage.record("kind", type(events[0]))
        stage.record("throttled", events[0].throttle_time > 0)
        await producer.close()

    run(main())

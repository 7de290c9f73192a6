"""Quotas are set, taken away and shown as by Kafka.

On purpose the embedded broker says of an entity that is twice in a request only that, where Kafka's words for
one with a quota twice depend on the order of its tables.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import Patience

from barnabas.broker.quotas.client_quotas import check_change
from barnabas.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from barnabas.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

from ..authorization.stage import Stage, play_openly
from ..in_process import Client, run

Component = DescribeClientQuotasRequest.ComponentData
EXACT, DEFAULT, ANY = 0, 1, 2
MARKER = "127.9.9.9"


def alter(
    *entries: tuple[dict[str, str | None], dict[str, float | None]], validate_only: bool = False
) -> AlterClientQuotasRequest:
    return AlterClientQuotasRequest(
        [
            AlterClientQuotasRequest.EntryData(
                [AlterClientQuotasRequest.EntityData(kind, name) for kind, name in entity.items()],
                [
                    AlterClientQuotasRequest.OpData(key, value or 0, value is None)
                    for key, value in values.items()
                ],
            )
            for entity, values in entries
        ],
        validate_only,
    )


def altered(answer: Any) -> list[Any]:
    return sorted(
        (
            [
                entry.error_code,
                entry.error_message,
                sorted([part.entity_type, str(part.entity_name)] for part in entry.entity),
            ]
            for entry in answer.entries
        ),
        key=str,
    )


def shown(answer: Any) -> list[Any]:
    entries = answer.entries
    if entries is None:
        return [answer.error_code, answer.error_message, None]
    found = [
        [
            sorted([part.entity_type, str(part.entity_name)] for part in entry.entity),
            sorted([value.key, value.value] for value in entry.values),
        ]
        for entry in entries
    ]
    return [answer.error_code, answer.error_message, sorted(found)]


async def until_known(stage: Stage) -> None:
    """Kafka's controller answers before its broker knows, which hears of one change after the other, and
    shows one a moment before it goes by it: once a marker came and went, it goes by what was before."""
    asked = DescribeClientQuotasRequest([Component("ip", EXACT, MARKER)], False)
    for rate in (100.0, None):
        await stage.admin(alter(({"ip": MARKER}, {"connection_creation_rate": rate})))
        patience = Patience()
        while bool((await stage.admin(asked)).entries) is (rate is None):
            await patience.pause_async()


async def settings(stage: Stage) -> None:
    user, client, other = stage.name("user"), stage.name("client"), stage.name("other")
    both = {"user": user, "client-id": client}

    async def change(*entries: Any, validate_only: bool = False) -> None:
        stage.tell("altered", altered(await stage.admin(alter(*entries, validate_only=validate_only))))
        await until_known(stage)

    async def look(*components: Component, strict: bool = False) -> None:
        stage.tell("shown", shown(await stage.admin(DescribeClientQuotasRequest(list(components), strict))))

    await change(({"user": user}, {"producer_byte_rate": 1000.0, "request_percentage": 12.5}))
    await change(
        (both, {"consumer_byte_rate": 2000.0}), ({"client-id": client}, {"controller_mutation_rate": 0.5})
    )
    await change(
        ({"user": None}, {"producer_byte_rate": 5.0}),
        ({"ip": "127.0.0.9"}, {"connection_creation_rate": 9.0}),
    )
    await change(({"client-id": None, "user": user}, {"producer_byte_rate": 7.0}), validate_only=True)
    await look()
    await look(strict=True)
    await look(Component("user", EXACT, user))
    await look(Component("user", EXACT, user), strict=True)
    await look(Component("user", DEFAULT, None))
    await look(Component("user", ANY, None))
    await look(Component("client-id", ANY, None))
    await look(Component("client-id", EXACT, client), Component("user", EXACT, user))
    await look(Component("client-id", EXACT, other))
    await look(Component("ip", ANY, None))
    for wrong in (
        [Component("", EXACT, user)],
        [Component("host", EXACT, user)],
        [Component("user", EXACT, None)],
        [Component("user", DEFAULT, user)],
        [Component("user", ANY, user)],
        [Component("user", 7, user)],
        [Component("user", EXACT, user), Component("user", ANY, None)],
        [Component("user", EXACT, user), Component("ip", ANY, None)],
    ):
        await look(*wrong)
    for entity, values in (
        ({}, {"producer_byte_rate": 1.0}),
        ({"user": ""}, {"producer_byte_rate": 1.0}),
        ({"host": "a"}, {"producer_byte_rate": 1.0}),
        ({"ip": "127.0.0.1", "user": user}, {"connection_creation_rate": 1.0}),
        ({"ip": "no host at all"}, {"connection_creation_rate": 1.0}),
        ({"ip": "127.0.0.1"}, {"producer_byte_rate": 1.0}),
        ({"ip": "127.0.0.1"}, {"connection_creation_rate": 1.5}),
        ({"ip": "127.0.0.1"}, {"connection_creation_rate": 2.0**40}),
        ({"user": user}, {"connection_creation_rate": 1.0}),
        ({"user": user}, {"unheard_of": 1.0}),
        ({"user": user}, {"producer_byte_rate": 0.0}),
        ({"user": user}, {"producer_byte_rate": -3.0}),
        ({"user": user}, {"producer_byte_rate": 1.5}),
        ({"user": user}, {"producer_byte_rate": 2.0**70}),
        ({"user": user}, {"unheard_of": None}),
    ):
        await change((entity, values))
    await change(
        ({"user": other}, {"producer_byte_rate": 1.0}), ({"user": other}, {"consumer_byte_rate": 2.0})
    )
    await look(Component("user", EXACT, other))
    await change(({"user": user}, {"producer_byte_rate": None}), (both, {"consumer_byte_rate": None}))
    await look(Component("user", EXACT, user))
    await change(
        ({"user": user}, {"request_percentage": None}),
        ({"user": None}, {"producer_byte_rate": None}),
        ({"user": other}, {"producer_byte_rate": None, "consumer_byte_rate": None}),
        ({"client-id": client}, {"controller_mutation_rate": None}),
        ({"ip": "127.0.0.9"}, {"connection_creation_rate": None}),
    )
    await look()


def test_quotas_are_set_and_shown_as_by_kafka(
    apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker
) -> None:
    expected = asyncio.run(play_openly(apache_kafka.bootstrap, settings))
    said = asyncio.run(play_openly(embedded_broker.bootstrap, settings))
    differing = [
        f"{ours}\n  {theirs} (Kafka)" for ours, theirs in zip(said, expected, strict=True) if ours != theirs
    ]
    assert not differing, "\n" + "\n".join(differing)


def test_quotas_survive_a_restart(tmp_path: Path) -> None:
    async def change(client: Client) -> None:
        await client.send(alter(({"user": "a", "client-id": None}, {"producer_byte_rate": 5.0})))

    async def look(client: Client) -> None:
        answer = await client.send(DescribeClientQuotasRequest())
        assert shown(answer) == [
            0,
            "",
            [[[["client-id", "None"], ["user", "a"]], [["producer_byte_rate", 5.0]]]],
        ]

    run(tmp_path, change)
    run(tmp_path, look)


def test_the_name_of_a_host_is_looked_up_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    others_went_on, real = threading.Event(), socket.getaddrinfo

    def slow(host: str, *arguments: Any, flags: int = 0, **more: Any) -> Any:
        if not flags & socket.AI_NUMERICHOST:
            assert others_went_on.wait(10), "the loop waits for the resolver"
            host = "127.0.0.1"
        return real(host, *arguments, flags=flags, **more)

    monkeypatch.setattr(socket, "getaddrinfo", slow)

    async def main() -> None:
        asyncio.get_running_loop().call_soon(others_went_on.set)
        await check_change({"ip": "slow.example"}, {"connection_creation_rate": 1.0})

    asyncio.run(main())

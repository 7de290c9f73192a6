"""Registries of one group, over HTTP: what they pass on, and who may ask them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from barnabas.errors import BarnabasError, InvalidSettingError
from barnabas.registry_server.access import user_line
from barnabas.registry_server.journal.group import GroupTimes
from barnabas.registry_server.journal.kafka import JournalSettings
from barnabas.registry_server.node import RegistryNode
from barnabas.registry_server.settings import ServerSettings, tls_settings
from barnabas.testing import Certificates

Topic = Callable[[], str]


def settings(broker: Any, topic: str, **given: Any) -> ServerSettings:
    return ServerSettings(
        client={"bootstrap_servers": broker.bootstrap},
        port=0,
        group_id=topic,
        journal=JournalSettings(topic=topic, replication_factor=1),
        dek_topic=f"{topic}-deks",
        times=GroupTimes(heartbeat_interval_ms=100),
        **given,
    )


def run(work: Any) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(90):
            await work

    asyncio.run(in_time())


async def started(ends: AsyncExitStack, found: ServerSettings) -> RegistryNode:
    node = RegistryNode(found)
    ends.push_async_callback(node.close)
    await node.start()
    return node


async def two(
    ends: AsyncExitStack, broker: Any, topic: str, **given: Any
) -> tuple[RegistryNode, RegistryNode]:
    """The one that writes, and the other one."""
    writing = await started(ends, settings(broker, topic, **given))
    return writing, await started(ends, settings(broker, topic, is_eligible=False, **given))


def register(number: int) -> dict[str, Any]:
    return {"schema": f'{{"type":"record","name":"R{number}","fields":[]}}'}


def test_who_does_not_write_passes_writes_on_and_knows_what_was_written(broker: Any, topic: Topic) -> None:
    async def work() -> None:
        async with AsyncExitStack() as ends, httpx.AsyncClient() as http:
            writing, other = await two(ends, broker, topic())
            for number in range(1, 6):
                answer = await http.post(f"{other.url}/subjects/s%2F{number}/versions", json=register(number))
                assert (answer.status_code, answer.json()["id"]) == (200, number)
                for node in (other, writing):
                    versions = await http.get(f"{node.url}/subjects/s%2F{number}/versions")
                    assert versions.json() == [1]
            answer = await http.put(
                f"{other.url}/contexts/.c/config/s?defaultToGlobal=true", json={"compatibility": "FULL"}
            )
            assert answer.json() == {"compatibility": "FULL"}
            answer = await http.get(f"{writing.url}/config/:.c:s")
            assert answer.json() == {"compatibilityLevel": "FULL"}
            answer = await http.delete(f"{other.url}/subjects/s%2F1")
            assert answer.json() == [1]
            ids = (await http.get(f"{writing.url}/v1/metadata/id")).json()
            assert ids["scope"]["clusters"]["kafka-cluster"]

    run(work())


def test_errors_of_the_leader_come_back_as_they_are(broker: Any, topic: Topic) -> None:
    async def work() -> None:
        async with AsyncExitStack() as ends, httpx.AsyncClient() as http:
            writing, other = await two(ends, broker, topic())
            for path, body in (
                ("/subjects/s/versions", {"schema": "nonsense"}),
                ("/subjects/s/versions", [1]),
                ("/subjects/s/versions", {"schema": '"int"', "references": [{"name": "a"}]}),
            ):
                answers = [await http.post(node.url + path, json=body) for node in (writing, other)]
                assert answers[0].status_code == answers[1].status_code >= 400
                assert answers[0].json() == answers[1].json()
                assert answers[0].headers["content-type"] == answers[1].headers["content-type"]
            answers = [await http.delete(node.url + "/subjects/none") for node in (writing, other)]
            assert answers[0].json() == answers[1].json()
            assert answers[1].json()["error_code"] == 40401

    run(work())


def test_keys_are_passed_on_as_schemas_are(broker: Any, topic: Topic) -> None:
    async def work() -> None:
        async with AsyncExitStack() as ends, httpx.AsyncClient() as http:
            writing, other = await two(ends, broker, topic())
            keks = "/dek-registry/v1/keks"
            kek = {"name": "k", "kmsType": "local-kms", "kmsKeyId": "x", "kmsProps": {"secret": "s"}}
            made = await http.post(other.url + keks, json={**kek, "shared": True})
            assert made.status_code == 200
            dek = await http.post(f"{other.url}{keks}/k/deks/s", json={})
            for node in (other, writing):
                found = await http.get(f"{node.url}{keks}/k/deks/s")
                assert found.json()["keyMaterial"] == dek.json()["keyMaterial"]
            twice = [await http.post(node.url + keks, json=kek) for node in (other, writing)]
            assert [answer.status_code for answer in twice] == [409, 409]
            assert twice[0].json() == twice[1].json()

    run(work())


def test_a_write_is_passed_on_once(broker: Any, topic: Topic) -> None:
    async def work() -> None:
        async with AsyncExitStack() as ends, httpx.AsyncClient() as http:
            _, other = await two(ends, broker, topic())
            url = f"{other.url}/subjects/s/versions"
            answer = await http.post(url, json=register(1), headers={"X-Forward": "true"})
            assert (answer.status_code, answer.json()["error_code"]) == (500, 50004)

    run(work())


def test_a_leader_that_does_not_answer_is_an_error_that_names_it(broker: Any, topic: Topic) -> None:
    async def work() -> None:
        async with AsyncExitStack() as ends, httpx.AsyncClient() as http:
            writing, other = await two(ends, broker, topic())
            registry: Any = writing._server
            await registry._server.close()
            answer = await http.post(f"{other.url}/subjects/s/versions", json=register(1))
            assert (answer.status_code, answer.json()["error_code"]) == (500, 50003)
            assert writing.url in answer.json()["message"]

    run(work())


def test_where_nobody_may_write_a_write_is_refused_and_reads_are_answered(broker: Any, topic: Topic) -> None:
    async def work() -> None:
        async with AsyncExitStack() as ends, httpx.AsyncClient() as http:
            alone = await started(ends, settings(broker, topic(), is_eligible=False))
            answer = await http.post(f"{alone.url}/subjects/s/versions", json=register(1))
            assert (answer.status_code, answer.json()["error_code"]) == (500, 50004)
            assert (await http.get(f"{alone.url}/subjects")).json() == []

    run(work())


def test_who_writes_next_goes_on_where_the_one_before_ended(
    broker: Any, topic: Topic, eventually_async: Callable[..., Awaitable[Any]]
) -> None:
    async def work() -> None:
        name = topic()
        async with AsyncExitStack() as ends, httpx.AsyncClient() as http:
            first = await started(ends, settings(broker, name))
            second = await started(ends, settings(broker, name))
            await http.post(f"{second.url}/subjects/s/versions", json=register(1))
            await first.close()
            service: Any = second._server
            await eventually_async(lambda: service._service.journal.leader_url() is None)
            answer = await http.post(f"{second.url}/subjects/t/versions", json=register(2))
            assert answer.json()["id"] == 2
            later = await started(ends, settings(broker, name))
            assert (await http.get(f"{later.url}/schemas/ids/1")).status_code == 200

    run(work())


def test_credentials_are_passed_on(broker: Any, topic: Topic, tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("\n".join([user_line("alice", "write", "a"), user_line("bob", "read", "b")]))

    async def work() -> None:
        async with AsyncExitStack() as ends, httpx.AsyncClient() as http:
            _, other = await two(ends, broker, topic(), users=users)
            url = f"{other.url}/subjects/s/versions"
            answer = await http.post(url, json=register(1), auth=("alice", "a"))
            assert answer.json()["id"] == 1
            assert (await http.get(url, auth=("bob", "b"))).json() == [1]
            assert (await http.post(url, json=register(2), auth=("bob", "b"))).status_code == 403
            assert (await http.post(url, json=register(2))).status_code == 401

    run(work())


def test_tls_with_certificates_of_clients(broker: Any, topic: Topic, tmp_path: Path) -> None:
    certificates = Certificates.in_folder(tmp_path)
    server = tls_settings(certificates.broker, None, None, certificates.ca, "REQUIRED")
    context = ssl.create_default_context(cafile=str(certificates.ca))
    context.load_cert_chain(certificates.client, certificates.client_key)
    anonymous = ssl.create_default_context(cafile=str(certificates.ca))

    async def work() -> None:
        async with AsyncExitStack() as ends, httpx.AsyncClient(verify=context) as http:
            _, other = await two(ends, broker, topic(), tls=server)
            assert other.url.startswith("https://127.0.0.1:")
            answer = await http.post(f"{other.url}/subjects/s/versions", json=register(1))
            assert answer.json()["id"] == 1
            async with httpx.AsyncClient(verify=anonymous) as stranger:
                with pytest.raises(httpx.TransportError):
                    await stranger.get(f"{other.url}/subjects")

    run(work())


def test_what_is_wrong_with_the_settings_is_told_before_anything_begins(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettingError, match=r"kafkastore\.bootstrap\.servers"):
        RegistryNode(ServerSettings())
    client = {"bootstrap_servers": "127.0.0.1:1"}
    with pytest.raises(InvalidSettingError, match="TLS cannot be made of"):
        RegistryNode(ServerSettings(client=client, tls=tls_settings(tmp_path / "c.pem")))
    with pytest.raises(BarnabasError, match="no_such"):
        RegistryNode(ServerSettings(client={**client, "no_such": "1"}))

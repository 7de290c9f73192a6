"""Users' SCRAM credentials: Apache Kafka and the embedded broker give the same answers."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import uuid
from pathlib import Path
from typing import Any

from tests.waiting import Patience

from barnabas.net.connection import Connection
from barnabas.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from barnabas.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

from .in_process import Client, run

Upsert = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
Delete = AlterUserScramCredentialsRequest.ScramCredentialDeletion
SALTED = b"p" * 32


def alter(*changes: Upsert | Delete) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        deletions=[change for change in changes if isinstance(change, Delete)],
        upsertions=[change for change in changes if isinstance(change, Upsert)],
    )


def describe(*users: str) -> DescribeUserScramCredentialsRequest:
    return DescribeUserScramCredentialsRequest(
        [DescribeUserScramCredentialsRequest.UserName(user) for user in users]
    )


def facts(answer: Any) -> list[Any]:
    return sorted(
        (
            result.user,
            result.error_code,
            result.error_message,
            *sorted((info.mechanism, info.iterations) for info in getattr(result, "credential_infos", ())),
        )
        for result in answer.results
    )


async def until_known(connection: Connection, marker: str) -> None:
    """Kafka's controller answers before its broker knows, which hears of this user after all before it."""
    await connection.submit(alter(Upsert(marker, 1, 4096, b"salt", SALTED)), timeout_ms=30_000)
    patience = Patience()
    while facts(await connection.submit(describe(marker), timeout_ms=30_000))[0][1]:
        await patience.pause_async()


def test_credentials_are_set_deleted_and_refused_as_by_kafka(
    apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker
) -> None:
    a, b, c = (f"{name}-{uuid.uuid4().hex[:8]}" for name in "abc")
    requests = [
        alter(Upsert(a, 1, 4096, b"salt", SALTED)),
        describe(a),
        describe(a, b, ""),
        describe(a, a),
        alter(Upsert(a, 2, 8192, b"salt", SALTED * 2), Upsert(b, 1, 4096, b"salt", SALTED)),
        describe(a, b),
        alter(Upsert(a, 1, 4095, b"salt", SALTED), Upsert(b, 2, 16384, b"salt", SALTED)),
        alter(Upsert(a, 1, 16385, b"salt", SALTED)),
        alter(Upsert("", 1, 4096, b"salt", SALTED), Delete("", 1)),
        alter(Upsert("", 1, 4096, b"salt", SALTED)),
        alter(Upsert(a, 0, 4096, b"salt", SALTED)),
        alter(Upsert(a, 3, 4096, b"salt", SALTED)),
        alter(Delete(a, 3)),
        alter(Delete(c, 1)),
        alter(Upsert(c, 1, 4096, b"", b"")),
        alter(Delete(a, 1), Upsert(a, 2, 4096, b"salt", SALTED), Upsert(c, 1, 4096, b"", SALTED)),
        describe(a, b, c),
        alter(Delete(a, 1)),
        alter(Delete(b, 2), Delete(c, 1)),
        describe(a, b, c),
        alter(),
    ]

    async def play(bootstrap: str) -> list[Any]:
        host, port = bootstrap.split(":")
        connection = await Connection.open(host, int(port), client_id="scram")
        answers = []
        for number, request in enumerate(requests):
            answers.append(facts(await connection.submit(request, timeout_ms=30_000)))
            await until_known(connection, f"{a}-{number}")
        connection.close()
        return answers

    expected = asyncio.run(play(apache_kafka.bootstrap))
    assert asyncio.run(play(embedded_broker.bootstrap)) == expected


def test_what_is_kept_checks_a_password_after_a_restart_and_does_not_give_it_away(tmp_path: Path) -> None:
    async def set_it(client: Client) -> None:
        await client.send(alter(Upsert("alice", 1, 4096, b"salt", SALTED)))

    async def look(client: Client) -> None:
        (kept,) = client.broker._parts.cluster.scram_users.credentials.values()  # pyright: ignore
        client_key = hmac.digest(SALTED, b"Client Key", "sha256")
        assert base64.b64decode(kept.stored_key) == hashlib.sha256(client_key).digest()
        assert base64.b64decode(kept.server_key) == hmac.digest(SALTED, b"Server Key", "sha256")
        assert base64.b64decode(kept.salt) == b"salt"

    run(tmp_path, set_it)
    run(tmp_path, look)
    assert base64.b64encode(SALTED) not in (tmp_path / "metadata.json").read_bytes()

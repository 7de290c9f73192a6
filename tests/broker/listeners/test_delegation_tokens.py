"""Delegation tokens (KIP-48): the same requests of several users to Apache Kafka and to ours."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import Patience

from barnabas.broker.authorization.acls import Operation, Permission, ResourceKind
from barnabas.broker.cluster import Cluster
from barnabas.broker.data_directory import DataDirectory
from barnabas.broker.delegation_tokens.token_store import DelegationTokenStore
from barnabas.broker.principal import Principal
from barnabas.broker_errors import DelegationTokenAuthDisabledError, ErrorCode
from barnabas.clock import CLOCK
from barnabas.errors import SaslAuthenticationError
from barnabas.net.connection import Connection
from barnabas.net.security import Security
from barnabas.protocol.messages.create_acls import CreateAclsRequest
from barnabas.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.protocol.messages.delete_acls import DeleteAclsRequest
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from barnabas.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from barnabas.settings.table import AdminConfig, load
from barnabas.testing import ApacheKafka, EmbeddedBroker

TIMEOUT_MS = 30_000
HOUR_MS = 3_600_000
Renewer = CreateDelegationTokenRequest.CreatableRenewers
Owner = DescribeDelegationTokenRequest.DescribeDelegationTokenOwner
Kafka = ApacheKafka | EmbeddedBroker


class Users:
    """Connections by name to a broker's SASL_PLAINTEXT, `nobody` to PLAINTEXT; what was said, with tokens by
    the names that they were given and times as lengths."""

    def __init__(self, broker: Kafka) -> None:
        self._broker = broker
        self._connections: dict[str, Connection] = {}
        self._tokens: dict[str, Any] = {}
        self.said: list[Any] = []

    async def connect(self, user: str, **settings: Any) -> Connection:
        if user == "nobody":
            host, port = self._broker.bootstrap.split(":")
            return await Connection.open(host, int(port), client_id=user)
        server = self._broker.bootstrap_for("SASL_PLAINTEXT")
        properties = {
            "bootstrap_servers": server,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "SCRAM-SHA-256",
            "sasl_username": user,
            "sasl_password": f"{user}-secret",
            **settings,
        }
        host, port = server.split(":")
        security = Security(load(AdminConfig, properties))
        return await Connection.open(host, int(port), client_id=user, security=security)

    async def by_token(self, name: str, mechanism: str = "SCRAM-SHA-256", **settings: Any) -> Connection:
        token = self._tokens[name]
        password = base64.b64encode(token.hmac).decode()
        proof = {"sasl_username": token.token_id, "sasl_password": password, "sasl_tokenauth": True}
        return await self.connect(name, sasl_mechanism=mechanism, **(proof | settings))

    async def log_in_by_token(self, name: str, mechanism: str = "SCRAM-SHA-256", **settings: Any) -> None:
        """Does so, and is then known by the token's name."""
        before = self._connections.pop(name, None)
        if before is not None:
            before.close()
        try:
            self._connections[name] = await self.by_token(name, mechanism, **settings)
        except SaslAuthenticationError as error:
            self.said.append((name, mechanism, str(error).partition(f"by {mechanism}: ")[2]))
        else:
            self.said.append((name, mechanism, "is let in"))

    async def ask(self, user: str, request: Any, version: int | None = None) -> Any:
        if user not in self._connections:
            self._connections[user] = await self.connect(user)
        return await self._connections[user].send(request, timeout_ms=TIMEOUT_MS, max_version=version)

    async def create(
        self,
        user: str,
        name: str = "",
        renewers: tuple[str, ...] = (),
        *,
        owner: str | None = None,
        max_lifetime_ms: int = -1,
        version: int | None = None,
    ) -> None:
        request = CreateDelegationTokenRequest(
            renewers=[Renewer(*renewer.split(":")) for renewer in renewers], max_lifetime_ms=max_lifetime_ms
        )
        if owner is not None:
            kind, _, request.owner_principal_name = owner.rpartition(":")
            request.owner_principal_type = kind or None
        made = await self.ask(user, request, version)
        told: list[Any] = [ErrorCode(made.error_code).name, made.principal_type, made.principal_name]
        told += [made.token_requester_principal_type, made.token_requester_principal_name]
        if made.error_code:
            told += [made.issue_timestamp_ms, made.expiry_timestamp_ms, made.max_timestamp_ms]
            told += [made.token_id, made.hmac]
        else:
            self._tokens[name] = made
            told += [made.expiry_timestamp_ms - made.issue_timestamp_ms]
            told += [made.max_timestamp_ms - made.issue_timestamp_ms]
            told += [len(made.token_id), len(made.hmac), abs(made.issue_timestamp_ms - _now_ms()) < HOUR_MS]
            await self._until(name, lambda described: described is not None)
        self.said.append((user, "creates", name, told))

    async def renew(self, user: str, name: str, period_ms: int = -1) -> None:
        answer = await self.ask(user, RenewDelegationTokenRequest(self._hmac(name), period_ms))
        self.said.append((user, "renews", name, await self._changed(name, answer)))

    async def expire(self, user: str, name: str, period_ms: int = -1) -> None:
        answer = await self.ask(user, ExpireDelegationTokenRequest(self._hmac(name), period_ms))
        if period_ms < 0 and not answer.error_code:
            await self._until(name, lambda described: described is None)
            self.said.append((user, "ends", name, abs(answer.expiry_timestamp_ms - _now_ms()) < HOUR_MS))
        else:
            self.said.append((user, "expires", name, await self._changed(name, answer)))

    async def describe(self, user: str, *owners: str, version: int | None = None) -> None:
        request = DescribeDelegationTokenRequest([Owner(*owner.split(":")) for owner in owners] or None)
        await self.describe_as(user, request, version)

    async def describe_as(
        self, user: str, request: DescribeDelegationTokenRequest, version: int | None = None
    ) -> None:
        answer = await self.ask(user, request, version)
        names = {token.token_id: name for name, token in self._tokens.items()}
        told = [
            (
                names.get(token.token_id, "?"),
                (token.principal_type, token.principal_name),
                (token.token_requester_principal_type, token.token_requester_principal_name),
                token.max_timestamp - token.issue_timestamp,
                token.hmac == self._hmac(names.get(token.token_id, "")),
                sorted((renewer.principal_type, renewer.principal_name) for renewer in token.renewers),
            )
            for token in answer.tokens
        ]
        self.said.append((user, "sees", ErrorCode(answer.error_code).name, sorted(told)))

    async def allow(self, user: str, kind: ResourceKind, name: str, operation: Operation) -> None:
        rule = CreateAclsRequest.AclCreation(kind, name, 3, user, "*", operation, Permission.ALLOW)
        answer = await self.ask("admin", CreateAclsRequest(creations=[rule]))
        assert answer.results[0].error_code == 0

    def token_id(self, name: str) -> str:
        return self._tokens[name].token_id

    def forget_connections(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    async def close(self) -> None:
        every = DeleteAclsRequest.DeleteAclsFilter(1, None, 1, None, None, 1, 1)
        await self.ask("admin", DeleteAclsRequest(filters=[every]))
        self.forget_connections()
        await asyncio.sleep(0)

    def _hmac(self, name: str) -> bytes:
        return self._tokens[name].hmac if name in self._tokens else b"no such token"

    async def _changed(self, name: str, answer: Any) -> Any:
        """The error, or how long the token lives now: to its end, or in hours."""
        error = ErrorCode(answer.error_code).name
        if answer.error_code:
            return error, answer.expiry_timestamp_ms
        expiry_ms = answer.expiry_timestamp_ms
        await self._until(name, lambda described: described.expiry_timestamp == expiry_ms)
        if expiry_ms == self._tokens[name].max_timestamp_ms:
            return error, "to its end"
        return error, round((expiry_ms - _now_ms()) / HOUR_MS)

    async def _until(self, name: str, is_so: Callable[[Any], bool]) -> None:
        """Brokers hear of tokens from their controller a moment later."""
        async with asyncio.timeout(30):
            patience = Patience()
            while True:
                answer = await self.ask("admin", DescribeDelegationTokenRequest(None))
                known = {token.token_id: token for token in answer.tokens}
                if is_so(known.get(self.token_id(name))):
                    return
                await patience.pause_async()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


async def who_may_create(users: Users) -> None:
    await users.create("alice", "one")
    await users.create("alice", "two", ("User:bob", "User:carol"), max_lifetime_ms=HOUR_MS)
    await users.create("alice", "three", ("User:bob",), version=1)
    await users.create("alice", "long", max_lifetime_ms=2**62)
    await users.create("alice", "none", ("Group:x",))
    await users.create("alice", "none", owner="User:bob")
    await users.create("admin", "for bob", owner="User:bob")
    await users.create("admin", "for a group", owner="Group:bob")
    await users.create("admin", "none", owner="bob")
    await users.create("nobody", "none")
    await users.create("nobody", "none", owner="User:alice")
    await users.allow("User:alice", ResourceKind.USER, "User:bob", Operation.CREATE_TOKENS)
    async with asyncio.timeout(30):
        # The entry counts a moment later.
        while users.said[-1][3][0] != "NONE":
            users.said.pop()
            await users.create("alice", "for bob too", owner="User:bob")


async def who_may_renew_and_expire(users: Users) -> None:
    await users.create("alice", "hers", ("User:bob",), max_lifetime_ms=40 * HOUR_MS)
    await users.create("admin", "his", owner="User:bob")
    for user in ("alice", "bob", "admin", "nobody"):
        for name in ("hers", "his", "unknown"):
            await users.renew(user, name)
            await users.renew(user, name, 10 * HOUR_MS)
            await users.renew(user, name, 2**62)
            await users.expire(user, name, 5 * HOUR_MS)
            await users.expire(user, name, 2**62)
    await users.expire("bob", "hers")
    await users.renew("alice", "hers")
    await users.expire("alice", "hers", 0)
    await users.expire("bob", "his", 0)
    # Expired, and not swept yet.
    await asyncio.sleep(0.01)
    await users.renew("bob", "his")
    await users.expire("bob", "his", 1)
    await users.expire("admin", "his")
    await users.expire("bob", "his")


async def who_may_describe(users: Users) -> None:
    await users.create("alice", "hers", ("User:bob",))
    await users.create("admin", "for bob", owner="User:bob")
    await users.create("admin", "for carol", owner="User:carol")
    for user in ("alice", "bob", "admin", "nobody"):
        await users.describe(user)
        await users.describe(user, version=1)
        await users.describe(user, "User:bob")
        await users.describe(user, "User:bob", "User:carol")
        await users.describe(user, "User:dave")
        await users.describe_as(user, DescribeDelegationTokenRequest([]))
    await users.allow(
        "User:alice", ResourceKind.DELEGATION_TOKEN, users.token_id("for carol"), Operation.DESCRIBE
    )
    await users.allow("User:bob", ResourceKind.USER, "User:carol", Operation.DESCRIBE_TOKENS)
    async with asyncio.timeout(30):
        for user in ("alice", "bob"):
            await users.describe(user, "User:carol")
            while not users.said[-1][3]:
                users.said.pop()
                await users.describe(user, "User:carol")


async def who_is_let_in(users: Users) -> None:
    await users.create("alice", "hers")
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        await users.log_in_by_token("hers", mechanism)
    await users.describe("hers")
    await users.create("hers", "none")
    await users.renew("hers", "hers")
    await users.expire("hers", "hers")
    cluster = await users.ask("hers", DescribeClusterRequest())
    users.said.append(cluster.error_code)
    await users.log_in_by_token("hers", sasl_password="wrong")
    await users.log_in_by_token("hers", sasl_tokenauth=False)
    await users.log_in_by_token("hers", sasl_username="nobody-knows")
    await users.log_in_by_token("hers", "PLAIN", sasl_tokenauth=False)
    await users.expire("alice", "hers")
    await users.log_in_by_token("hers")


async def said(broker: Kafka, scenario: Callable[[Users], Any]) -> list[Any]:
    users = Users(broker)
    try:
        await scenario(users)
        # So that the next scenario sees its own alone.
        answer = await users.ask("admin", DescribeDelegationTokenRequest(None))
        for token in answer.tokens:
            owner = "alice" if token.principal_name == "alice" else "bob"
            await users.ask(owner, ExpireDelegationTokenRequest(token.hmac, -1))
        return users.said
    finally:
        await users.close()


SCENARIOS = [who_may_create, who_may_renew_and_expire, who_may_describe, who_is_let_in]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_tokens_are_had_as_with_kafka(
    brokers: tuple[ApacheKafka, EmbeddedBroker], scenario: Callable[[Users], Any]
) -> None:
    expected, given = (asyncio.run(said(broker, scenario)) for broker in brokers)
    assert given == expected


def test_a_token_lets_its_owner_in_after_a_restart(brokers: tuple[ApacheKafka, EmbeddedBroker]) -> None:
    _, embedded = brokers

    async def scenario(users: Users) -> None:
        await users.create("alice", "hers", ("User:bob",))
        await users.describe("bob")
        embedded.restart()
        users.forget_connections()
        await users.describe("bob")
        await users.log_in_by_token("hers")

    _, before, after, login = asyncio.run(said(embedded, scenario))
    assert after == before
    assert login == ("hers", "SCRAM-SHA-256", "is let in")


def test_expired_tokens_are_swept_and_without_a_key_there_are_none(tmp_path: Path) -> None:
    alice = Principal("alice")

    def opened(secret_key: str) -> tuple[DataDirectory, DelegationTokenStore]:
        directory = DataDirectory(tmp_path)
        cluster = Cluster(directory, {"delegation.token.secret.key": secret_key}, [None])
        return directory, DelegationTokenStore(cluster.metadata.delegation_tokens, cluster.settings)

    directory, store = opened("secret")
    short = store.create(alice, alice, [], HOUR_MS)
    long = store.create(alice, alice, [], 3 * HOUR_MS)
    with pytest.MonkeyPatch.context() as time_goes_on:
        time_goes_on.setattr(CLOCK, "moved_by_ms", 2 * HOUR_MS)
        assert store.find(short.token_id) == short
        store.sweep()
    assert store.tokens() == [long]
    directory.release()
    directory, other = opened("")
    with pytest.raises(DelegationTokenAuthDisabledError):
        other.tokens()
    directory.release()
    directory, again = opened("secret")
    assert again.tokens() == [long]
    assert again.hmac(long) == store.hmac(long)
    directory.release()

"""The same requests to Apache Kafka with its StandardAuthorizer and to the embedded broker with its own, by
an administrator, who may do everything, and by a guest, `User:ANONYMOUS`, who may do what entries allow.

The guest of both comes by the plain listener. The administrator of Kafka comes by SASL.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from tests.waiting import Patience

from barnabas.broker.authorization.acls import Operation, Permission, ResourceKind
from barnabas.broker.client_connection import ClientConnection
from barnabas.broker.handlers import HANDLERS
from barnabas.broker.handlers.api import Call
from barnabas.broker.principal import Principal
from barnabas.broker.server import Broker
from barnabas.net.connection import Connection
from barnabas.net.security import Security
from barnabas.protocol.messages.create_acls import CreateAclsRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_acls import DeleteAclsRequest
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.settings.table import AdminConfig, load
from barnabas.testing import ApacheKafka, SecureListeners

TIMEOUT_MS = 30_000
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
GUEST = "User:ANONYMOUS"
LITERAL, PREFIXED = 3, 4


def rule(
    operation: Operation,
    resource: ResourceKind,
    name: str,
    *,
    principal: str = GUEST,
    host: str = "*",
    pattern: int = LITERAL,
    permission: Permission = Permission.ALLOW,
) -> CreateAclsRequest.AclCreation:
    return CreateAclsRequest.AclCreation(resource, name, pattern, principal, host, operation, permission)


def filter_of(rule: CreateAclsRequest.AclCreation) -> DeleteAclsRequest.DeleteAclsFilter:
    return DeleteAclsRequest.DeleteAclsFilter(
        rule.resource_type,
        rule.resource_name,
        rule.resource_pattern_type,
        rule.principal,
        rule.host,
        rule.operation,
        rule.permission_type,
    )


ALL_RULES = DeleteAclsRequest.DeleteAclsFilter(1, None, 1, None, None, 1, 1)


class Sender(Protocol):
    async def __call__(self, request: Any, version: int | None = None) -> Any: ...


class Stage:
    """One broker: `admin` and `guest` send it a request each, `tell` notes what it said."""

    def __init__(self, admin: Sender, guest: Sender) -> None:
        self.admin = admin
        self.guest = guest
        self.run = uuid.uuid4().hex[:8]
        self.said: list[Any] = []

    def tell(self, *facts: Any) -> None:
        self.said.append(tuple(self._without_run(fact) for fact in facts))

    def _without_run(self, fact: Any) -> Any:
        if isinstance(fact, str):
            return fact.replace(self.run, "RUN")
        if isinstance(fact, int):
            return int(fact)
        if isinstance(fact, list | tuple):
            return [self._without_run(each) for each in fact]  # pyright: ignore[reportUnknownVariableType]
        return fact

    def name(self, name: str) -> str:
        """One that nothing else on the broker has."""
        return f"{name}-{self.run}"

    async def create_topic(self, name: str, partitions: int = 1) -> uuid.UUID:
        topic = CreateTopicsRequest.CreatableTopic(name, partitions, 1)
        created = (await self.admin(CreateTopicsRequest(topics=[topic]))).topics[0]
        assert created.error_code == 0, created.error_message
        asked = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name)])
        patience = Patience()
        while True:
            (known,) = (await self.admin(asked, 12)).topics
            if not known.error_code and all(part.leader_id >= 0 for part in known.partitions):
                return created.topic_id
            await patience.pause_async()

    async def allow(self, *rules: CreateAclsRequest.AclCreation) -> None:
        """Adds entries, and waits until the broker goes by them."""
        answer = await self.admin(CreateAclsRequest(creations=list(rules)))
        assert all(result.error_code == 0 for result in answer.results), answer
        await self._settled(filter_of(rules[-1]), there=True)

    async def forbid(self, *filters: DeleteAclsRequest.DeleteAclsFilter) -> None:
        """Takes away what filters match, and waits until the broker goes without it."""
        filters = filters or (ALL_RULES,)
        answer = await self.admin(DeleteAclsRequest(filters=list(filters)))
        assert all(result.error_code == 0 for result in answer.filter_results), answer
        for asked in filters:
            await self._settled(asked, there=False)

    async def _settled(self, asked: DeleteAclsRequest.DeleteAclsFilter, *, there: bool) -> None:
        request = DescribeAclsRequest(
            asked.resource_type_filter,
            asked.resource_name_filter,
            asked.pattern_type_filter,
            asked.principal_filter,
            asked.host_filter,
            asked.operation,
            asked.permission_type,
        )
        patience = Patience()
        while True:
            found = (await self.admin(request)).resources
            if bool(found) is there:
                return
            await patience.pause_async()


Scenario = Callable[[Stage], Awaitable[None]]


def sender(connection: Connection) -> Sender:
    async def send(request: Any, version: int | None = None) -> Any:
        return await connection.submit(request, timeout_ms=TIMEOUT_MS, max_version=version)

    return send


@contextmanager
def secure_kafka(config: Mapping[str, str] | None = None) -> Generator[ApacheKafka]:
    with ApacheKafka(security=SecureListeners(), config=config) as kafka:
        yield kafka


async def play_on_kafka(kafka: ApacheKafka, scenario: Scenario) -> list[Any]:
    properties = {
        "bootstrap_servers": kafka.bootstrap_for("SASL_PLAINTEXT"),
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "admin",
        "sasl_password": "admin-secret",
    }
    security = Security(load(AdminConfig, properties))
    host, _, port = kafka.bootstrap_for("SASL_PLAINTEXT").partition(":")
    admin = await Connection.open(host, int(port), client_id="admin", security=security)
    guest = await Connection.open(host, int(kafka.bootstrap.partition(":")[2]), client_id="guest")
    try:
        stage = Stage(sender(admin), sender(guest))
        await asyncio.wait_for(scenario(stage), 120)
        await stage.forbid()
        return stage.said
    finally:
        admin.close()
        guest.close()


async def play_on_embedded(
    directory: Path, scenario: Scenario, config: Mapping[str, str] | None = None
) -> list[Any]:
    settings = {"authorizer.class.name": AUTHORIZER, "super.users": "User:admin", **(config or {})}
    broker = Broker(directory, config=settings)
    await broker.start()
    guest = await Connection.open("127.0.0.1", broker.port, client_id="guest")

    came_as_admin = ClientConnection("127.0.0.1", 1, principal=Principal("admin"))

    async def admin(request: Any, version: int | None = None) -> Any:
        handler = HANDLERS[request.API_KEY]
        highest = handler.highest if version is None else version
        assert broker._parts is not None  # pyright: ignore[reportPrivateUsage]
        call = Call(broker._parts, highest, "admin", came_as_admin)  # pyright: ignore[reportPrivateUsage]
        return await handler.handle(call, request)

    try:
        stage = Stage(admin, sender(guest))
        await asyncio.wait_for(scenario(stage), 120)
        return stage.said
    finally:
        guest.close()
        await broker.stop()


async def play_openly(bootstrap: str, scenario: Scenario) -> list[Any]:
    """On a broker that lets everybody do everything, or has no access control."""
    host, _, port = bootstrap.partition(":")
    connection = await Connection.open(host, int(port), client_id="guest")
    try:
        stage = Stage(sender(connection), sender(connection))
        await asyncio.wait_for(scenario(stage), 120)
        return stage.said
    finally:
        connection.close()


async def same_on_both(
    kafka: ApacheKafka, directory: Path, scenario: Scenario, config: Mapping[str, str] | None = None
) -> None:
    """Fails with all that the embedded broker answers in another way than Kafka does."""
    expected = await play_on_kafka(kafka, scenario)
    said = await play_on_embedded(directory, scenario, config)
    differing = [
        f"{number}: {ours}\n   {theirs} (Kafka)"
        for number, (ours, theirs) in enumerate(zip(said, expected, strict=True))
        if ours != theirs
    ]
    assert not differing, "\n" + "\n".join(differing)

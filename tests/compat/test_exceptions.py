"""No exception class of Barnabas's own leaves a facade of librdkafka's clients.

All that they offer is called with arguments of every kind, in every state, and with brokers that are away,
that refuse, and that answer.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import inspect
import itertools
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from barnabas.compat import confluent_kafka, mapr_streams_python
from barnabas.compat.confluent_kafka import admin, aio
from barnabas.compat.confluent_kafka.admin import AdminClient
from barnabas.errors import BarnabasError
from barnabas.testing import ApacheKafka, SecureListeners

SOON = 0.05
AWAY = {"bootstrap.servers": "127.0.0.1:1", "socket.timeout.ms": 1000, "log_level": 0}
TOPIC = "no-such-topic"
PARTITION = confluent_kafka.TopicPartition(TOPIC, 0, 0)
GROUP_PARTITIONS = confluent_kafka.ConsumerGroupTopicPartitions("g", [PARTITION])
ACL = admin.AclBinding(
    admin.ResourceType.TOPIC,
    TOPIC,
    admin.ResourcePatternType.LITERAL,
    "User:u",
    "*",
    admin.AclOperation.READ,
    admin.AclPermissionType.ALLOW,
)
ACLS = admin.AclBindingFilter(
    admin.ResourceType.ANY,
    None,
    admin.ResourcePatternType.ANY,
    None,
    None,
    admin.AclOperation.ANY,
    admin.AclPermissionType.ANY,
)
RESOURCE = admin.ConfigResource(admin.ResourceType.TOPIC, TOPIC)
ASKED = {"request_timeout": 1}

Call = tuple[tuple[Any, ...], dict[str, Any]]


def call(*args: Any, **kwargs: Any) -> Call:
    return args, kwargs


# What each method is called with where it is called as it should be. None of them waits for long.
PRODUCER: dict[str, Call] = {
    "init_transactions": call(SOON),
    "begin_transaction": call(),
    "produce": call(TOPIC, b"v"),
    "produce_batch": call(TOPIC, [{"value": b"v"}, {"value": 3}, "nonsense"]),
    "poll": call(SOON),
    "send_offsets_to_transaction": call([PARTITION], b"nonsense", SOON),
    "commit_transaction": call(SOON),
    "abort_transaction": call(SOON),
    "flush": call(SOON),
    "list_topics": call(timeout=SOON),
    "cluster_id": call(SOON),
    "set_sasl_credentials": call("u", "p"),
    "purge": call(),
    "forked": call(),
    "close": call(),
}
CONSUMER: dict[str, Call] = {
    "subscribe": call([TOPIC, "^pattern.*", "^(("]),
    "poll": call(SOON),
    "consume": call(2, SOON),
    "assign": call([PARTITION]),
    "assignment": call(),
    "incremental_assign": call([confluent_kafka.TopicPartition(TOPIC, 1, 0)]),
    "position": call([PARTITION]),
    "seek": call(PARTITION),
    "pause": call([PARTITION]),
    "resume": call([PARTITION]),
    "store_offsets": call(offsets=[PARTITION]),
    "commit": call(offsets=[PARTITION], asynchronous=True),
    "committed": call([PARTITION], SOON),
    "get_watermark_offsets": call(PARTITION, SOON),
    "offsets_for_times": call([PARTITION], SOON),
    "list_topics": call(timeout=SOON),
    "cluster_id": call(SOON),
    "memberid": call(),
    "consumer_group_metadata": call(),
    "incremental_unassign": call([PARTITION]),
    "set_sasl_credentials": call("u", "p"),
    "unassign": call(),
    "unsubscribe": call(),
    "close": call(),
}
SHARE_CONSUMER: dict[str, Call] = {
    "subscribe": call([TOPIC]),
    "subscription": call(),
    "set_acknowledgement_commit_callback": call(print),
    "poll": call(SOON),
    "acknowledge": call(confluent_kafka.Message(TOPIC, 0, 0)),
    "acknowledge_offset": call(TOPIC, 0, 0),
    "commit_async": call(),
    "commit_sync": call(SOON),
    "set_sasl_credentials": call("u", "p"),
    "unsubscribe": call(),
    "close": call(),
}
ADMIN: dict[str, Call] = {
    "alter_configs": call([RESOURCE], **ASKED),
    "alter_consumer_group_offsets": call([GROUP_PARTITIONS], **ASKED),
    "alter_user_scram_credentials": call(
        [admin.UserScramCredentialDeletion("u", admin.ScramMechanism.SCRAM_SHA_256)], **ASKED
    ),
    "cluster_id": call(1),
    "create_acls": call([ACL], **ASKED),
    "create_partitions": call([admin.NewPartitions(TOPIC, 9)], **ASKED),
    "create_topics": call([admin.NewTopic(TOPIC, 1)], **ASKED, validate_only=True),
    "delete_acls": call([ACLS], **ASKED),
    "delete_consumer_groups": call(["g"], **ASKED),
    "delete_records": call([PARTITION], **ASKED),
    "delete_topics": call([TOPIC], **ASKED),
    "describe_acls": call(ACLS, **ASKED),
    "describe_cluster": call(**ASKED),
    "describe_configs": call([RESOURCE], **ASKED),
    "describe_consumer_groups": call(["g"], **ASKED),
    "describe_topics": call(confluent_kafka.TopicCollection([TOPIC]), **ASKED),
    "describe_user_scram_credentials": call(["u"], **ASKED),
    "elect_leaders": call(confluent_kafka.ElectionType.PREFERRED, [PARTITION], **ASKED),
    "incremental_alter_configs": call(
        [
            admin.ConfigResource(
                admin.ResourceType.TOPIC,
                TOPIC,
                incremental_configs=[
                    admin.ConfigEntry("retention.ms", "1", incremental_operation=admin.AlterConfigOpType.SET)
                ],
            )
        ],
        **ASKED,
    ),
    "list_consumer_group_offsets": call([GROUP_PARTITIONS], **ASKED),
    "list_consumer_groups": call(**ASKED),
    "list_groups": call(timeout=1),
    "list_offsets": call({PARTITION: admin.OffsetSpec.earliest()}, **ASKED),
    "list_topics": call(timeout=1),
    "poll": call(SOON),
    "set_sasl_credentials": call("u", "p"),
}
MAPR_CONSUMER = {**CONSUMER, "subscribe": call([TOPIC])}

GROUP = {"group.id": "g"}
# An abort of a client for asyncio waits for messages.
BRIEF = {"message.timeout.ms": 500}
TRANSACTIONAL = {"transactional.id": "exceptions", "transaction.timeout.ms": 2000, **BRIEF}
SYNC: dict[str, tuple[type[Any], dict[str, Any], dict[str, Call]]] = {
    "Producer": (confluent_kafka.Producer, {}, PRODUCER),
    "transactional Producer": (confluent_kafka.Producer, TRANSACTIONAL, PRODUCER),
    "SerializingProducer": (confluent_kafka.SerializingProducer, {}, PRODUCER),
    "Consumer": (confluent_kafka.Consumer, GROUP, CONSUMER),
    "Consumer of KIP-848": (confluent_kafka.Consumer, {**GROUP, "group.protocol": "consumer"}, CONSUMER),
    "DeserializingConsumer": (confluent_kafka.DeserializingConsumer, GROUP, CONSUMER),
    "ShareConsumer": (confluent_kafka.ShareConsumer, GROUP, SHARE_CONSUMER),
    "DeserializingShareConsumer": (confluent_kafka.DeserializingShareConsumer, GROUP, SHARE_CONSUMER),
    "AdminClient": (AdminClient, {}, ADMIN),
    "mapr Producer": (mapr_streams_python.Producer, {}, PRODUCER),
    "mapr Consumer": (mapr_streams_python.Consumer, GROUP, MAPR_CONSUMER),
}
ASYNC: dict[str, tuple[type[Any], dict[str, Any], dict[str, Call]]] = {
    "AIOProducer": (aio.AIOProducer, BRIEF, PRODUCER),
    "transactional AIOProducer": (aio.AIOProducer, TRANSACTIONAL, PRODUCER),
    "AIOConsumer": (aio.AIOConsumer, GROUP, CONSUMER),
    "AsyncSerializingProducer": (aio.AsyncSerializingProducer, BRIEF, PRODUCER),
    "AsyncDeserializingConsumer": (aio.AsyncDeserializingConsumer, GROUP, CONSUMER),
}
# Each alone, then two at once: no method takes all of them.
WRONG: list[Any] = [object(), 3, -3, 2**70, 1.5, "\ud800", "", b"x", [3], [None], {"a": 1}, (1, 2), {1}, True]
# Waits without end, as it may be called with what is wrong for others.
WAITING = {"init_transactions", "commit_transaction", "abort_transaction", "close", "flush", "forked"}
# What waits as long as its last argument says.
TIMED = {
    "poll",
    "consume",
    "list_topics",
    "list_groups",
    "cluster_id",
    "committed",
    "offsets_for_times",
    "get_watermark_offsets",
    "commit_sync",
}


class Calls:
    """Makes calls, and keeps those that raised what they must not."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self._futures: list[tuple[str, concurrent.futures.Future[Any]]] = []
        self.count = 0

    def make(self, what: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self.count += 1
        try:
            result = call(*args, **kwargs)
        except Exception as error:
            self._judge(what, error)
            return None
        futures = result.values() if isinstance(result, dict) else [result]
        self._futures += [(what, f) for f in futures if isinstance(f, concurrent.futures.Future)]
        return result

    async def make_async(self, what: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self.count += 1
        try:
            result = call(*args, **kwargs)
            return await result if inspect.isawaitable(result) else result
        except Exception as error:
            self._judge(what, error)
        return None

    def settle(self) -> None:
        """Waits for what the futures have that calls gave."""
        while self._futures:
            what, future = self._futures.pop()
            error = future.exception(30)
            if error is not None:
                self._judge(what, error)

    def _judge(self, what: str, error: BaseException) -> None:
        if isinstance(error, BarnabasError) or type(error).__module__.startswith("barnabas.errors"):
            self.wrong.append(f"{what}: {error!r}")
        for argument in error.args:
            if isinstance(argument, BarnabasError):
                self.wrong.append(f"{what}: {error!r} in an exception")

    def check(self) -> None:
        self.settle()
        assert self.count
        assert self.wrong == []


def _closing(client: Any) -> Callable[[], Any]:
    """An admin client has no other end than that of its block."""
    return getattr(client, "close", lambda: client.__exit__(None, None, None))


def methods_of(kind: type[Any]) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}


def wrong_arguments() -> Iterator[tuple[Any, ...]]:
    yield from ((value,) for value in WRONG)
    yield from itertools.islice(itertools.permutations(WRONG, 2), 40)
    yield (object(),) * 12


@pytest.fixture(scope="module")
def secure() -> Iterator[ApacheKafka]:
    with ApacheKafka(security=SecureListeners()) as kafka:
        yield kafka


@pytest.fixture(
    params=[
        "away",
        pytest.param("refuses connections", marks=pytest.mark.differential),
        pytest.param("refuses requests", marks=pytest.mark.differential),
        pytest.param("answers", marks=pytest.mark.differential),
    ]
)
def conf(request: pytest.FixtureRequest) -> dict[str, Any]:
    """How to connect to a broker of each kind."""
    if request.param == "away":
        return AWAY
    if request.param == "answers":
        return {**AWAY, "bootstrap.servers": request.getfixturevalue("apache_kafka").bootstrap}
    # alice may do nothing.
    password = "alice-secret" if request.param == "refuses requests" else "wrong"
    return {
        **AWAY,
        "bootstrap.servers": request.getfixturevalue("secure").bootstrap_for("SASL_PLAINTEXT"),
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": password,
    }


@pytest.mark.parametrize(("kind", "_conf", "right"), [*SYNC.values(), *ASYNC.values()])
def test_every_method_is_called(kind: type[Any], _conf: dict[str, Any], right: dict[str, Call]) -> None:
    assert methods_of(kind) <= right.keys()


@pytest.mark.filterwarnings("ignore:Producer abort_transaction failed:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", SYNC)
@pytest.mark.integration
def test_calls_as_they_should_be(name: str, conf: dict[str, Any]) -> None:
    kind, more, right = SYNC[name]
    calls = Calls()
    client = kind({**conf, **more})
    for state in ("open", "closed"):
        for method in [method for method in right if method in methods_of(kind) - {"close", "forked"}]:
            args, kwargs = right[method]
            calls.make(f"{name}.{method}, {state}", getattr(client, method), *args, **kwargs)
        if hasattr(client, "purge"):
            calls.make(f"{name}.purge, {state}", client.purge)
        calls.settle()
        calls.make(f"{name}.close, {state}", _closing(client))
    calls.check()


@pytest.mark.filterwarnings("ignore:Producer abort_transaction failed:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", SYNC)
@pytest.mark.integration
def test_calls_with_wrong_arguments(name: str) -> None:
    kind, more, _ = SYNC[name]
    calls = Calls()
    client = kind({**AWAY, **more})
    for state in ("open", "closed"):
        for method in methods_of(kind) - WAITING:
            for args in wrong_arguments():
                hasty, kwargs = _hasty(method, args)
                what = f"{name}.{method}{args!r}, {state}"
                calls.make(what, getattr(client, method), *hasty, **kwargs)
            calls.make(f"{name}.{method}, {state}", getattr(client, method), nonsense=1)
        if hasattr(client, "purge"):
            client.purge() if state == "open" else None
        calls.settle()
        calls.make(f"{name}.close, {state}", _closing(client))
    calls.check()


def _hasty(method: str, args: tuple[Any, ...]) -> Call:
    """The arguments, with short times in place of long ones, or of the method's own, which is for ever."""
    if method not in TIMED:
        return args, {}
    hasty = tuple(SOON / 10 if isinstance(value, int | float) else value for value in args)
    return hasty, {} if method in ("poll", "cluster_id") and hasty else {"timeout": SOON / 10}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", SYNC)
def test_calls_of_what_was_never_initialized(name: str) -> None:
    kind, _, right = SYNC[name]
    calls = Calls()
    for method in methods_of(kind):
        args, kwargs = right[method]
        calls.make(f"{name}.{method}", getattr(kind.__new__(kind), method), *args, **kwargs)
    calls.check()


@pytest.mark.parametrize("name", ["AIOProducer", "AIOConsumer"])
def test_calls_of_a_client_for_asyncio_that_was_never_initialized(name: str) -> None:
    kind, _, right = ASYNC[name]
    calls = Calls()

    async def main() -> None:
        for method in methods_of(kind):
            args, kwargs = right[method]
            client = kind.__new__(kind)
            await calls.make_async(f"{name}.{method}", getattr(client, method), *args, **kwargs)

    asyncio.run(asyncio.wait_for(main(), 60))
    calls.check()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ASYNC)
@pytest.mark.integration
def test_calls_of_clients_for_asyncio(name: str, conf: dict[str, Any]) -> None:
    kind, more, right = ASYNC[name]
    calls = Calls()

    async def main() -> None:
        made = kind({**conf, **more})
        client = await made if inspect.isawaitable(made) else made
        produced: list[asyncio.Future[Any]] = []
        for state in ("open", "closed"):
            for method in [method for method in right if method in methods_of(kind) - {"close"}]:
                args, kwargs = right[method]
                what = f"{name}.{method}, {state}"
                result = await calls.make_async(what, getattr(client, method), *args, **kwargs)
                if isinstance(result, asyncio.Future):
                    produced.append(result)
                for wrong in (object(),), (object(),) * 12:
                    if method not in WAITING:
                        await calls.make_async(f"{what} {wrong}", getattr(client, method), *wrong)
            if hasattr(client, "purge") and state == "open":
                await client.purge()
            for future in produced:
                await calls.make_async(f"{name}.produce, its future", lambda made=future: made)
            await calls.make_async(f"{name}.close, {state}", client.close)

    asyncio.run(asyncio.wait_for(main(), 60))
    calls.check()


def modules() -> list[ModuleType]:
    """All public ones of both facades that can be imported."""
    found: list[ModuleType] = []
    for package in (confluent_kafka, mapr_streams_python):
        names = [module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
        public = [name for name in names if "._" not in name and "kafkatest" not in name]
        for name in [package.__name__, *public]:
            try:
                found.append(importlib.import_module(name))
            except ImportError:
                # Of what is not there yet.
                continue
    return found


def is_the_originals(module: ModuleType, name: str) -> bool:
    """Whether the original's module of this name has it, or would: of MapR's there is no package here."""
    if not module.__name__.startswith(confluent_kafka.__name__):
        return True
    return hasattr(importlib.import_module(module.__name__.removeprefix("barnabas.compat.")), name)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_functions_and_classes_with_arguments_of_every_kind() -> None:
    calls = Calls()
    seen: set[int] = set()
    for module in modules():
        for name, value in vars(module).items():
            home = str(getattr(value, "__module__", ""))
            # What a module of ours only needs of Barnabas is no name of the facade's.
            is_own = home.startswith(("barnabas.compat", "barnabas._kernel", "cimpl", "mapr_streams")) or (
                home.startswith("barnabas") and is_the_originals(module, name)
            )
            if name.startswith("_") or not callable(value) or not is_own or id(value) in seen:
                continue
            seen.add(id(value))
            for args in [(), *wrong_arguments()]:
                made = calls.make(f"{module.__name__}.{name}{args!r}", value, *args)
                if inspect.iscoroutine(made):
                    made.close()
    calls.check()


SECURITY: dict[str, dict[str, Any]] = {
    "GSSAPI": {"security.protocol": "sasl_plaintext"},
    "GSSAPI over TLS": {"security.protocol": "sasl_ssl"},
    "no such file": {"security.protocol": "ssl", "ssl.ca.location": "/nowhere"},
    "no certificate": {"security.protocol": "ssl", "ssl.ca.pem": "nonsense"},
    "no key": {"security.protocol": "ssl", "ssl.key.pem": "nonsense", "ssl.certificate.pem": "nonsense"},
    "no store": {"security.protocol": "ssl", "ssl.keystore.location": "/nowhere"},
    "no suite": {"security.protocol": "ssl", "ssl.cipher.suites": "nonsense"},
    "no crl": {"security.protocol": "ssl", "ssl.crl.location": "/nowhere"},
    "SCRAM-SHA-1": {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "SCRAM-SHA-1",
        "sasl.username": "u",
        "sasl.password": "p",
    },
    "no URL": {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "i",
        "sasl.oauthbearer.client.secret": "s",
        "sasl.oauthbearer.token.endpoint.url": "nonsense",
        "sasl.oauthbearer.extensions": "1=2",
    },
    "servers": {"bootstrap.servers": "a b,:,[::1,x:99999999,\u00fc:1"},
    "null": {"client.id": "a\0b"},
    "rack": {"client.rack": "\ud800"},
}


@pytest.mark.parametrize("setting", SECURITY)
@pytest.mark.parametrize("name", SYNC)
@pytest.mark.integration
def test_settings_that_cannot_work(name: str, setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(importlib.import_module("sys").modules, "gssapi", None)
    kind, more, _ = SYNC[name]
    calls = Calls()
    client = calls.make(f"{name}, {setting}", kind, {**AWAY, **more, **SECURITY[setting]})
    if client is not None:
        calls.make(f"{name}.poll", client.poll, SOON)
        calls.make(f"{name}.close", _closing(client))
    calls.check()

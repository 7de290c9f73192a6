"""OAUTHBEARER with tokens from `oauth_cb`, or without a signature: when it is asked, and what is told."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_secure, script
from tests.compat.differential.stage import UNREACHABLE, WAIT, Stage

OAUTH = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "OAUTHBEARER",
    "log_level": 0,
}
NOBODY = {**OAUTH, "bootstrap.servers": UNREACHABLE}
UNSECURED = {"enable.sasl.oauthbearer.unsecure.jwt": True}
CONFIG = "sasl.oauthbearer.config"
# How often the original looks whether a token nears its end.
LOOK_SECONDS = 1
CREDENTIALS = {"sasl.username": "admin", "sasl.password": "admin-secret"}


def token(seconds: float = 3600, subject: str = "admin") -> str:
    """Nobody signs it: the broker takes it nevertheless."""
    now = time.time()
    # Whole seconds, as issuers write: brokers compare with milliseconds, and refuse a later `iat`.
    parts = ({"alg": "none"}, {"sub": subject, "iat": int(now), "exp": now + seconds})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, ""])


def at_once(calls: Iterable[Callable[[], None]]) -> None:
    """For clients that the original makes only after ten seconds, if at all."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def makers(kafka: ModuleType, stage: Stage) -> dict[str, Callable[[dict[str, Any]], Any]]:
    """How clients of each kind are made, by name."""
    return {
        "Producer": kafka.Producer,
        "Consumer": lambda conf: kafka.Consumer({"group.id": "g", **conf}),
        "AdminClient": stage.module("admin").AdminClient,
    }


def all_makers(kafka: ModuleType, stage: Stage) -> dict[str, Callable[[dict[str, Any]], Any]]:
    """Also of those that need more than a token to be polled. Clients for asyncio are closed at once."""
    aio = stage.module("aio")

    async def made(make: Callable[[dict[str, Any]], Any], conf: dict[str, Any]) -> None:
        await make(conf).close()

    return makers(kafka, stage) | {
        "ShareConsumer": lambda conf: kafka.ShareConsumer({"group.id": "g", **conf}),
        "AIOProducer": lambda conf: asyncio.run(made(aio.AIOProducer, conf)),
        "AIOConsumer": lambda conf: asyncio.run(made(aio.AIOConsumer, {"group.id": "g", **conf})),
    }


def try_all(kafka: ModuleType, stage: Stage, cases: dict[str, dict[str, Any]]) -> None:
    """Records which configurations make a Producer."""
    found: dict[str, Any] = {}

    def make(label: str, conf: dict[str, Any]) -> None:
        try:
            producer = kafka.Producer({**NOBODY, **conf})
        except Exception as error:
            found[label] = error
        else:
            found[label] = "made"
            stage.closing(producer.close)

    at_once(lambda label=label, conf=conf: make(label, conf) for label, conf in cases.items())
    for label in cases:
        stage.record(label, found[label])


def failures(kafka: ModuleType, errors: list[Any]) -> list[Any]:
    """Those that have to do with tokens: of brokers that are away there are others."""
    return [error for error in errors if error.code() == kafka.KafkaError._AUTHENTICATION]


def _always(given: Any) -> Callable[[str | None], Any]:
    return lambda _config: given


def _in(seconds: float) -> float:
    return time.time() + seconds


def _raise(error: BaseException) -> Any:
    raise error


@script()
def an_oauth_callback_has_to_return_a_token_and_when_it_ends(kafka: ModuleType, stage: Stage) -> None:
    later = _in(600)
    returned: dict[str, Any] = {
        "two": ("token", later),
        "three": ("token", later, "principal"),
        "four": ("token", later, "principal", {"a": "b"}),
        "five": ("token", later, "principal", {}, 1),
        "one": ("token",),
        "nothing": None,
        "a list": ["token", later],
        "a text": "token",
        "bytes": (b"token", later),
        "whole seconds": ("token", int(later)),
        "a text for a time": ("token", str(later)),
        "None for a time": ("token", None),
        "True for a time": ("token", True),
        "ended": ("token", later - 3600),
        "before 1970": ("token", -1.0),
        "never ends": ("token", float("inf")),
        "no number": ("token", float("nan")),
        "far away": ("token", 2.0**40),
        "too far away": ("token", 2.0**70),
        "a control character": ("a\x01", later),
        "another alphabet": ("\u00fc", later),
    }
    try_all(kafka, stage, {label: {"oauth_cb": _always(given)} for label, given in returned.items()})


@script()
def an_oauth_callback_may_return_a_principal_and_extensions(kafka: ModuleType, stage: Stage) -> None:
    given: dict[str, Any] = {
        "no principal": (None, {}),
        "a number as principal": (3, {}),
        "an empty principal": ("", {}),
        "None as extensions": ("p", None),
        "a list as extensions": ("p", []),
        "an extension": ("p", {"traceId": "123"}),
        "blanks": ("p", {"a": "x y\tz"}),
        "a digit in the name": ("p", {"a1": "b"}),
        "auth": ("p", {"auth": "b"}),
        "no name": ("p", {"": "b"}),
        "a number as value": ("p", {"a": 3}),
        "None as value": ("p", {"a": None}),
        "bytes as value": ("p", {"a": b"b"}),
        "a number as name": ("p", {3: "b"}),
        "a control character": ("p", {"a": "\x01"}),
        "another alphabet": ("p", {"a": "\u00fc"}),
    }
    later = _in(600)
    cases = {label: {"oauth_cb": _always(("token", later, *more))} for label, more in given.items()}
    try_all(kafka, stage, cases)


@script()
def an_oauth_callback_that_fails_fails_the_client(kafka: ModuleType, stage: Stage) -> None:
    async def later(_config: str | None) -> Any:
        return ("token", _in(600))

    try_all(
        kafka,
        stage,
        {
            "raises": {"oauth_cb": lambda _config: _raise(RuntimeError("no token"))},
            "raises what ends programs": {"oauth_cb": lambda _config: _raise(SystemExit(1))},
            "wants other arguments": {"oauth_cb": lambda: ("token", _in(600))},
            "is never asked": {"oauth_cb": _always(("token", _in(600))), "security.protocol": "plaintext"},
            "is not asked for a password": {
                "oauth_cb": _always(("token", _in(600))),
                "sasl.mechanism": "PLAIN",
                **CREDENTIALS,
            },
            "is not asked beside an endpoint": {
                "oauth_cb": _always(("token", _in(600))),
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": "i",
                "sasl.oauthbearer.client.secret": "s",
                "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/",
            },
            "beside unsecured tokens": {"oauth_cb": _always(("token", _in(600))), **UNSECURED},
            "is not callable": {"oauth_cb": 3},
            "None": {"oauth_cb": None},
        },
    )


@script()
def clients_of_all_kinds_fail_without_a_first_token(kafka: ModuleType, stage: Stage) -> None:
    found: dict[str, Any] = {}

    def attempt(name: str, make: Callable[[dict[str, Any]], Any]) -> None:
        try:
            make({**NOBODY, "oauth_cb": _always(3)})
        except Exception as error:
            found[name] = error

    kinds = makers(kafka, stage)
    at_once(lambda name=name, make=make: attempt(name, make) for name, make in kinds.items())
    for name in kinds:
        stage.record(name, found.get(name))


@script()
def malformed_tokens_fail_clients_of_all_kinds(kafka: ModuleType, stage: Stage) -> None:
    later = _in(600)
    callbacks: dict[str, Callable[..., Any]] = {
        "nothing": _always(None),
        "a text": _always("token"),
        "one": _always(("token",)),
        "a list": _always(["token", later]),
        "bytes": _always((b"token", later)),
        "a text for a time": _always(("token", str(later))),
        "five": _always(("token", later, "principal", {}, 1)),
        "ended": _always(("token", later - 3600)),
        "a bad extension": _always(("token", later, "principal", {"auth": "b"})),
        "raises": lambda _config: _raise(ValueError("mine")),
        "raises what ends programs": lambda _config: _raise(KeyboardInterrupt()),
        "wants other arguments": lambda: ("token", later),
        "well": _always(("token", later)),
    }
    found: dict[str, Any] = {}

    def attempt(label: str, make: Callable[[dict[str, Any]], Any], callback: Callable[..., Any]) -> None:
        try:
            client = make({**NOBODY, "oauth_cb": callback})
        except BaseException as error:
            found[label] = error
        else:
            found[label] = "made"
            if hasattr(client, "close"):
                client.close()

    cases = [
        (f"{kind}: {label}", make, callback)
        for kind, make in all_makers(kafka, stage).items()
        for label, callback in callbacks.items()
    ]
    at_once(lambda case=case: attempt(*case) for case in cases)
    for label, _, _ in cases:
        stage.record(label, found.get(label))


class Tokens:
    """An `oauth_cb` that gives tokens of a few seconds; calls of the numbers in `failing` fail."""

    def __init__(self, seconds: float, failing: Callable[[int], bool] = lambda number: False) -> None:
        self._seconds = seconds
        self._failing = failing
        self.asked: list[tuple[str | None, float]] = []
        self.threads: set[int] = set()

    def __call__(self, config: str | None) -> tuple[str, float]:
        self.asked.append((config, time.time()))
        self.threads.add(threading.get_ident())
        if self._failing(len(self.asked)):
            raise RuntimeError("no token")
        return token(self._seconds), _in(self._seconds)


@script()
def tokens_are_replaced_as_they_near_their_end(kafka: ModuleType, stage: Stage) -> None:
    clients: dict[str, tuple[Any, Tokens]] = {}

    def make(name: str, maker: Callable[[dict[str, Any]], Any]) -> None:
        tokens = Tokens(4)
        clients[name] = maker({**NOBODY, CONFIG: "the=config", "oauth_cb": tokens}), tokens

    kinds = makers(kafka, stage)
    at_once(lambda name=name, maker=maker: make(name, maker) for name, maker in kinds.items())
    for name in kinds:
        client, tokens = clients[name]
        # Nobody has to poll.
        stage.until(lambda asked=tokens.asked: len(asked) >= 3)
        times = [when for _, when in tokens.asked[:3]]
        gaps = [after - before for before, after in itertools.pairwise(times)]
        stage.record(f"{name}: asked with", sorted({str(config) for config, _ in tokens.asked}))
        stage.record(f"{name}: in time", [2 < gap < 4 + LOOK_SECONDS for gap in gaps])
        stage.record(f"{name}: in the caller's thread", threading.get_ident() in tokens.threads)
        if hasattr(client, "close"):
            client.close()
    # The admin client ends with its last reference.
    clients.clear()


@script()
def a_refresh_that_fails_is_told_of_once_and_tried_again(kafka: ModuleType, stage: Stage) -> None:
    told: dict[str, list[Any]] = {}

    def watch(name: str, maker: Callable[[dict[str, Any]], Any]) -> None:
        tokens = Tokens(2, failing=lambda number: number in (2, 4))
        errors = told[name] = []
        client = maker({**NOBODY, "oauth_cb": tokens, "error_cb": errors.append})
        # The original takes ten seconds until it asks again after a failure.
        stage.until(lambda: len(tokens.asked) >= 5, lambda: client.poll(0.05), timeout=60)
        if hasattr(client, "close"):
            client.close()

    def share(conf: dict[str, Any]) -> Any:
        consumer = kafka.ShareConsumer({"group.id": "g", **conf})
        consumer.subscribe(["t"])
        return consumer

    kinds = makers(kafka, stage) | {"ShareConsumer": share}
    at_once(lambda name=name, maker=maker: watch(name, maker) for name, maker in kinds.items())
    for name in kinds:
        stage.record(
            name, [[error, error.fatal(), error.retriable()] for error in failures(kafka, told[name])]
        )


@script()
def one_failure_after_another_is_told_of_once(kafka: ModuleType, stage: Stage) -> None:
    errors: list[Any] = []
    tokens = Tokens(1, failing=lambda number: number > 1)
    producer = kafka.Producer({**NOBODY, "oauth_cb": tokens, "error_cb": errors.append})
    stage.closing(producer.close)
    stage.until(lambda: len(tokens.asked) >= 3, lambda: producer.poll(0.05))
    producer.poll(0.5)
    stage.record("failures", failures(kafka, errors))


@script()
def unsecured_tokens_are_what_their_configuration_says(kafka: ModuleType, stage: Stage) -> None:
    configs = (
        None,
        "",
        "   ",
        "nothing",
        "principal=a",
        " principal=a",
        "principal=",
        "principal=a principal=b",
        'principal=a"b',
        "principal=a=b",
        "principal =a",
        "principal=a foo=1",
        "principalClaimName=x principal=a",
        "principal=a principalClaimName=",
        "lifeSeconds=3",
        "principal=a lifeSeconds=",
        "principal=a lifeSeconds=0",
        "principal=a lifeSeconds=-1",
        "principal=a lifeSeconds=+3",
        "principal=a lifeSeconds=0x3",
        "principal=a lifeSeconds=3_0",
        "principal=a lifeSeconds=abc",
        "principal=a lifeSeconds=99999999999999999999",
        "principal=a lifeSeconds=3 lifeSeconds=4",
        "principal=a scope=",
        "principal=a scope=x scope=y",
        "principal=a scope=a,,b,a",
        "principal=a scope=a,b scopeClaimName=sc",
        'principal=a scopeClaimName="',
        'scope=a"b',
        "principal=a extension_a=b extension_c=d",
        "principal=a extension_=1",
    )
    for config in configs:
        errors: list[Any] = []
        given = {} if config is None else {CONFIG: config}
        producer = kafka.Producer({**NOBODY, **UNSECURED, **given, "error_cb": errors.append})
        # Brokers are away, which is told of as well: what is told of the token comes before.
        stage.until(lambda found=errors: found, lambda polled=producer: polled.poll(0.05))
        stage.record(repr(config), failures(kafka, errors))
        producer.close()


# With a broker that wants tokens


@on_secure()
def clients_of_all_kinds_get_in_by_a_token(kafka: ModuleType, stage: Stage) -> None:
    asked = stage.callback("oauth_cb", then=lambda config: (token(), _in(3600)))
    conf = {**OAUTH, "bootstrap.servers": stage.bootstrap, "oauth_cb": asked, CONFIG: "the=config"}
    topic = stage.topic()
    producer = kafka.Producer(conf)
    stage.closing(producer.close)
    delivered = stage.callback("on_delivery")
    producer.produce(topic, b"v", on_delivery=delivered)
    stage.attempt("flush", producer.flush, WAIT)
    stage.attempt("topics", lambda: topic in producer.list_topics(timeout=WAIT).topics)
    consumer = kafka.Consumer({**conf, "group.id": stage.group(), "auto.offset.reset": "earliest"})
    stage.closing(consumer.close)
    consumer.subscribe([topic])
    stage.values(consumer, 1)
    stage.attempt("commit", consumer.commit, asynchronous=False)
    stage.attempt("committed", consumer.committed, [kafka.TopicPartition(topic, 0)], WAIT)
    admin = stage.module("admin").AdminClient(conf)
    described = admin.describe_cluster(request_timeout=WAIT).result()
    stage.record("nodes", len(described.nodes))


@on_secure()
def principals_and_extensions_go_with_a_token(kafka: ModuleType, stage: Stage) -> None:
    later = _in(3600)
    for label, given in {
        "principal": (token(), later, "somebody"),
        "extensions": (token(), later, "somebody", {"traceId": "123", "b": "x y"}),
    }.items():
        conf = {**OAUTH, "bootstrap.servers": stage.bootstrap, "oauth_cb": _always(given)}
        producer = kafka.Producer(conf)
        stage.closing(producer.close)
        stage.attempt(label, lambda made=producer: len(made.list_topics(timeout=WAIT).brokers))


@on_secure()
def a_token_that_the_broker_refuses_is_told_of(kafka: ModuleType, stage: Stage) -> None:
    for name, make in makers(kafka, stage).items():
        errors: list[Any] = []
        client = make(
            {
                **OAUTH,
                "bootstrap.servers": stage.bootstrap,
                "oauth_cb": _always(("nonsense", _in(3600))),
                "error_cb": errors.append,
            }
        )
        if hasattr(client, "close"):
            stage.closing(client.close)
        stage.until(lambda found=errors: failures(kafka, found), lambda polled=client: polled.poll(0.05))
        stage.record(name, failures(kafka, errors)[:1])


@on_secure()
def messages_go_on_with_the_next_token(kafka: ModuleType, stage: Stage) -> None:
    tokens = Tokens(3)
    conf = {**OAUTH, "bootstrap.servers": stage.bootstrap, "oauth_cb": tokens}
    topic = stage.topic()
    producer = kafka.Producer(conf)
    stage.closing(producer.close)
    for number in range(3):
        stage.until(lambda count=number: len(tokens.asked) > count, lambda: producer.poll(0.05))
        producer.produce(topic, f"{number}", on_delivery=stage.callback(f"delivered {number}"))
        stage.attempt("flush", producer.flush, WAIT)


@on_secure()
def a_client_without_a_token_connects_to_nobody(kafka: ModuleType, stage: Stage) -> None:
    for label, more in {
        "unsecured": UNSECURED,
        "endpoint": {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": "i",
            "sasl.oauthbearer.client.secret": "s",
            "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/",
        },
    }.items():
        errors: list[Any] = []
        conf = {**OAUTH, "bootstrap.servers": stage.bootstrap, "error_cb": errors.append, **more}
        producer = kafka.Producer(conf)
        stage.closing(producer.close)
        stage.attempt(f"{label}: list_topics", producer.list_topics, timeout=3)
        stage.until(lambda found=errors: found, lambda polled=producer: polled.poll(0.05))
        producer.poll(1)
        stage.record(f"{label}: codes", [error.code() for error in errors])

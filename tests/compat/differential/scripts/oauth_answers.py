"""What an `oauth_cb` may be and give, in every form, and clients of all kinds that ask it."""

from __future__ import annotations

import asyncio
import collections
import decimal
import fractions
import functools
import time
import types
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_secure, script
from tests.compat.differential.scripts.oauth import (
    CONFIG,
    CREDENTIALS,
    NOBODY,
    OAUTH,
    all_makers,
    at_once,
    failures,
    makers,
    token,
    try_all,
)
from tests.compat.differential.stage import WAIT, Stage


def _later() -> float:
    return time.time() + 3600


class _Text(str):
    pass


class _Number(float):
    pass


class _Like:
    """Says that it is a number in a way of its own."""

    def __init__(self, name: str, number: Any) -> None:
        self.__class__ = type("Like", (_Like,), {name: lambda _self: number})


_Pair = collections.namedtuple("_Pair", ("token", "expiry"))


class _Triple(tuple):
    pass


def _given(answer: Any) -> dict[str, Any]:
    return {"oauth_cb": lambda _config: answer}


@script()
def an_oauth_callback_may_be_whatever_can_be_called(kafka: ModuleType, stage: Stage) -> None:
    class Source:
        def __call__(self, config: Any) -> Any:
            return "token", _later()

        def give(self, config: Any) -> Any:
            return "token", _later()

        @classmethod
        def give_for_all(cls, config: Any) -> Any:
            return "token", _later()

        @staticmethod
        def give_alone(config: Any) -> Any:
            return "token", _later()

    class Answer(tuple):
        def __new__(cls, config: Any) -> Any:
            return tuple.__new__(cls, ("token", _later()))

    def two(first: Any, config: Any) -> Any:
        return "token", _later()

    def generate(config: Any) -> Any:
        yield "token", _later()

    def keyword(*, config: Any) -> Any:
        return "token", _later()

    callbacks: dict[str, Any] = {
        "an object": Source(),
        "a method": Source().give,
        "a method of the class": Source.give_for_all,
        "a static method": Source.give_alone,
        "an unbound method": Source.give,
        "a class": Answer,
        "a partial function": functools.partial(two, 1),
        "one with defaults": lambda config, more=1: ("token", _later()),
        "one of any arguments": lambda *arguments, **keywords: ("token", _later()),
        "two arguments": two,
        "a generator": generate,
        "a keyword": keyword,
        "a builtin": print,
        "an object that is not called": object(),
        "a text": "token",
    }
    try_all(kafka, stage, {label: {"oauth_cb": callback} for label, callback in callbacks.items()})


@script()
def answers_of_an_oauth_callback_may_be_of_types_alike(kafka: ModuleType, stage: Stage) -> None:
    later = _later()
    answers: dict[str, Any] = {
        "a named tuple": _Pair("token", later),
        "a tuple's subclass": _Triple(("token", later)),
        "a text's subclass": (_Text("token"), later),
        "a float's subclass": ("token", _Number(later)),
        "a decimal": ("token", decimal.Decimal(int(later))),
        "a fraction": ("token", fractions.Fraction(int(later))),
        "a float in its own way": ("token", _Like("__float__", later)),
        "an index": ("token", _Like("__index__", int(later))),
        "an integer in its own way": ("token", _Like("__int__", int(later))),
        "a float that is none": ("token", _Like("__float__", "x")),
        "a complex number": ("token", complex(later)),
        "a great integer": ("token", 10**400),
        "no token": ("", later),
        "blanks": ("a b", later),
        "a line's end": ("a\n", later),
        "a zero": ("a\0b", later),
        "half a character": ("\ud800", later),
        "a long one": ("t" * 100_000, later),
        "a second ahead": ("token", time.time() + 30),
        "in milliseconds": ("token", later * 1000),
        "zero": ("token", 0),
        "empty": (),
    }
    try_all(kafka, stage, {label: _given(answer) for label, answer in answers.items()})


@script()
def extensions_of_a_token_may_be_of_types_alike(kafka: ModuleType, stage: Stage) -> None:
    later = _later()
    extensions: dict[str, Any] = {
        "an ordered dictionary": collections.OrderedDict(a="b"),
        "a default dictionary": collections.defaultdict(str, a="b"),
        "a proxy": types.MappingProxyType({"a": "b"}),
        "pairs": [("a", "b")],
        "a set": {"a"},
        "a text": "a=b",
        "texts' subclasses": {_Text("a"): _Text("b")},
        "many": {chr(97 + index) * 3: str(index) for index in range(26)},
        "an empty value": {"a": ""},
        "a line's end": {"a": "b\n"},
        "an equals sign": {"a": "b=c"},
        "a separator": {"a": "b\x01"},
        "an underscore": {"a_b": "c"},
        "capitals": {"AUTH": "b"},
        "a list as value": {"a": ["b"]},
        "a tuple as name": {("a",): "b"},
        "True as value": {"a": True},
        "half a character": {"a": "\ud800"},
    }
    cases = {label: _given(("token", later, "p", given)) for label, given in extensions.items()}
    principals: dict[str, Any] = {
        "a principal's subclass": _Text("p"),
        "a principal of bytes": b"p",
        "a principal with a zero": "p\0q",
        "a principal of half a character": "\ud800",
        "a principal in another alphabet": "ü",
        "a principal with blanks": " p ",
    }
    cases |= {label: _given(("token", later, given, {})) for label, given in principals.items()}
    cases["a principal and no extensions"] = _given(("token", later, "p"))
    cases["a principal's place for extensions"] = _given(("token", later, {"a": "b"}))
    try_all(kafka, stage, cases)


def _record_asked(kafka: ModuleType, stage: Stage, given: dict[str, dict[str, Any]]) -> None:
    """What clients of all kinds ask their `oauth_cb` with these settings."""
    found: dict[str, Any] = {}

    def play(label: str, make: Callable[[dict[str, Any]], Any], settings: dict[str, Any]) -> None:
        asked: list[Any] = []

        def give(*arguments: Any) -> Any:
            asked.append(arguments)
            return "token", _later()

        try:
            client = make({**NOBODY, "oauth_cb": give, **settings})
        except Exception as error:
            found[label] = error
            return
        found[label] = asked
        if hasattr(client, "close"):
            client.close()

    cases = [
        (f"{name} {label}", make, settings)
        for name, make in all_makers(kafka, stage).items()
        for label, settings in given.items()
    ]
    at_once(lambda case=case: play(*case) for case in cases)
    for label, _, _ in cases:
        stage.record(label, found.get(label))


@script()
def clients_of_all_kinds_give_an_oauth_callback_their_configuration(kafka: ModuleType, stage: Stage) -> None:
    given: dict[str, dict[str, Any]] = {
        "none": {},
        "empty": {CONFIG: ""},
        "pairs": {CONFIG: "principal=a, extension_b=c"},
        "a number": {CONFIG: 3},
        "None": {CONFIG: None},
        "method": {"sasl.oauthbearer.method": "default"},
        "scope": {"sasl.oauthbearer.scope": "s", "sasl.oauthbearer.extensions": "a=b"},
        "capitals": {"security.protocol": "SASL_PLAINTEXT"},
        "mechanisms": {"sasl.mechanisms": "OAUTHBEARER"},
    }
    _record_asked(kafka, stage, given)


@script()
def an_oauth_callback_is_a_key_or_a_keyword(kafka: ModuleType, stage: Stage) -> None:
    admin = stage.module("admin")
    for name, make in (
        ("Producer", kafka.Producer),
        ("Consumer", kafka.Consumer),
        ("ShareConsumer", kafka.ShareConsumer),
        ("AdminClient", admin.AdminClient),
    ):
        conf = {**NOBODY, **({} if name in ("Producer", "AdminClient") else {"group.id": "g"})}
        asked: list[str] = []

        def give(which: str, asked: list[str] = asked) -> Callable[[Any], Any]:
            def answer(config: Any) -> Any:
                asked.append(which)
                return "token", _later()

            return answer

        for label, call in (
            ("keyword", lambda make=make, conf=conf, give=give: make(conf, oauth_cb=give("keyword"))),
            (
                "both",
                lambda make=make, conf=conf, give=give: make(
                    {**conf, "oauth_cb": give("key")}, oauth_cb=give("keyword")
                ),
            ),
            ("no function", lambda make=make, conf=conf: make(conf, oauth_cb=3)),
        ):
            client = stage.within(f"{name} {label}", call)
            if hasattr(client, "close"):
                client.close()
        stage.record(f"{name}: asked", asked)


@script()
def clients_that_need_no_token_ask_no_oauth_callback(kafka: ModuleType, stage: Stage) -> None:
    given: dict[str, dict[str, Any]] = {
        "plaintext": {"security.protocol": "plaintext"},
        "ssl": {"security.protocol": "ssl"},
        "PLAIN": {"sasl.mechanism": "PLAIN", **CREDENTIALS},
        "SCRAM": {"sasl.mechanism": "SCRAM-SHA-256", **CREDENTIALS},
    }
    _record_asked(kafka, stage, given)


@script()
def credentials_mean_nothing_to_a_client_with_tokens(kafka: ModuleType, stage: Stage) -> None:
    kinds = makers(kafka, stage) | {
        "ShareConsumer": lambda conf: kafka.ShareConsumer({"group.id": "g", **conf})
    }
    for name, make in kinds.items():
        client = make({**NOBODY, **_given(("token", _later()))})
        stage.attempt(name, client.set_sasl_credentials, "u", "p")
        if hasattr(client, "close"):
            client.close()


@script()
def what_a_refresh_raises_or_gives_is_told_of(kafka: ModuleType, stage: Stage) -> None:
    def fail(error: BaseException) -> Any:
        raise error

    # Not what is of another kind, of which the original says nothing.
    answers: dict[str, Callable[[], Any]] = {
        "an error": lambda: fail(ValueError("mine")),
        "the client's own": lambda: fail(kafka.KafkaException(kafka.KafkaError(5))),
        "what ends programs": lambda: fail(KeyboardInterrupt()),
        "exit": lambda: fail(SystemExit(2)),
        "ended": lambda: ("token", time.time() - 5),
        "an extension": lambda: ("token", _later(), "p", {"auth": "b"}),
    }
    told: dict[str, list[Any]] = {}

    def watch(label: str, answer: Callable[[], Any]) -> None:
        asked: list[float] = []
        errors = told[label] = []

        def give(config: Any) -> Any:
            asked.append(time.monotonic())
            return ("token", time.time() + 2) if len(asked) == 1 else answer()

        producer = kafka.Producer({**NOBODY, "oauth_cb": give, "error_cb": errors.append})
        stage.until(lambda: failures(kafka, errors), lambda: producer.poll(0.05))
        producer.close()

    at_once(lambda label=label, answer=answer: watch(label, answer) for label, answer in answers.items())
    for label in answers:
        stage.record(label, failures(kafka, told[label])[:1])


@on_secure()
def share_consumers_get_in_by_a_token(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    conf = {**OAUTH, "bootstrap.servers": stage.bootstrap, **_given((token(), _later()))}
    consumer = kafka.ShareConsumer({**conf, "group.id": stage.group()})
    stage.closing(consumer.close)
    consumer.subscribe([topic])
    messages: list[Any] = []

    def fill_and_poll() -> None:
        # The group begins with what comes after it.
        stage.fill(topic, "a")
        messages.extend(consumer.poll(0.5))

    stage.until(lambda: messages, fill_and_poll)
    stage.record("value", messages[0].value())
    stage.attempt("commit", lambda: list(consumer.commit_sync(WAIT).values()))


@on_secure()
def clients_for_asyncio_get_in_by_a_token(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    aio = stage.module("aio")
    asked: list[Any] = []

    def give(config: Any) -> Any:
        asked.append(config)
        return token(), _later()

    conf = {**OAUTH, "bootstrap.servers": stage.bootstrap, "oauth_cb": give, CONFIG: "the=config"}

    async def work() -> None:
        producer = aio.AIOProducer(conf)
        delivered = await producer.produce(topic, value=b"v")
        await producer.flush()
        stage.record("delivered", (await delivered).value())
        await producer.close()
        consumer = aio.AIOConsumer({**conf, "group.id": stage.group(), "auto.offset.reset": "earliest"})
        await consumer.subscribe([topic])
        message = None
        while message is None:
            message = await consumer.poll(1)
        stage.record("message", message.error() or message.value())
        await consumer.close()

    asyncio.run(work())
    stage.record("asked", sorted(set(asked)))

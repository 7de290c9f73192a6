"""Every property, given as values of every type that programs have."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from tests.compat.differential.script import script
from tests.compat.differential.stage import Stage


class Number(enum.IntEnum):
    FIVE = 5


class Word(enum.StrEnum):
    TRUE = "true"


class Plain(enum.Enum):
    ONE = 1


class Text(str):
    __slots__ = ()


class Shown:
    def __str__(self) -> str:
        return "5"


class Unshown:
    def __str__(self) -> str:
        raise ValueError("not to be shown")


ADDED_NAMES = (
    "error_cb",
    "throttle_cb",
    "stats_cb",
    "oauth_cb",
    "on_delivery",
    "on_commit",
    "delivery.report.only.error",
    "default.topic.config",
    "topic.acks",
    "nonsense",
)
NUMBERS: tuple[Any, ...] = (0, 1, 5, -1, 3_000_000_000, 2**70, 1.5, -0.0, float("nan"), float("inf"), 1j)
OBJECTS: tuple[Any, ...] = (
    *(True, False, None, Number.FIVE, Word.TRUE, Plain.ONE, Shown(), Unshown(), Text("5"), range(3)),
    *(
        b"5",
        b"true",
        bytearray(b"5"),
        [],
        [1],
        ["range"],
        ["range", "roundrobin"],
        (),
        (1,),
        {},
        {"a": 1},
        {5},
    ),
)
TEXTS = (
    *("", " ", " 5", "5 ", "\t5", " true", "true ", "TRUE", "T", "a b", "5\0x", "5x", "0x10", "010", "+5"),
    *("1e2", ",", "all", "range,roundrobin", "é", "\ud800"),
)
SOME: tuple[Any, ...] = (
    1,
    -1,
    1.5,
    True,
    None,
    b"5",
    [1],
    ("a", "b"),
    {"a": 1},
    Word.TRUE,
    " 5",
    "5 ",
    "a b",
    "",
)
REFUSED = {"refused.at.the.end": 1}


def _makers(kafka: ModuleType, stage: Stage) -> dict[str, Any]:
    admin: Any = stage.module("admin")
    return {
        "Producer": kafka.Producer,
        "Consumer": lambda conf: kafka.Consumer({"group.id": "g", **conf}),
        "ShareConsumer": lambda conf: kafka.ShareConsumer({"group.id": "g", **conf}),
        "AdminClient": admin.AdminClient,
    }


def _judge(stage: Stage, make: Any, values: Iterable[Any], *, kind: str = "") -> None:
    """What each property says of each value. A property behind it, which is never taken, keeps the client
    from being made."""
    values = list(values)
    for name in [*stage.property_names(), *ADDED_NAMES]:
        said: dict[str, list[str]] = {}
        for number, value in enumerate(values):
            label = f"{type(value).__name__} {number}" if isinstance(value, Shown | Unshown) else repr(value)
            try:
                make({"log_level": 0, name: value, **REFUSED})
            except Exception as error:
                argument = error.args[0]
                code = argument.code() if hasattr(argument, "code") else None
                text = argument.str() if hasattr(argument, "str") else argument
                said.setdefault(f"{type(error).__name__} {code} {text}", []).append(label)
        stage.record(f"{kind}{name}", said)


@script()
def properties_are_given_as_numbers(kafka: ModuleType, stage: Stage) -> None:
    _judge(stage, kafka.Producer, NUMBERS)


@script()
def properties_are_given_as_objects(kafka: ModuleType, stage: Stage) -> None:
    _judge(stage, kafka.Producer, OBJECTS)


@script()
def properties_are_given_as_texts_of_every_form(kafka: ModuleType, stage: Stage) -> None:
    _judge(stage, kafka.Producer, TEXTS)


@script()
def every_kind_of_client_says_the_same_of_values(kafka: ModuleType, stage: Stage) -> None:
    for kind, make in _makers(kafka, stage).items():
        _judge(stage, make, SOME, kind=f"{kind}: ")


# What has the original wait ten seconds for a token, or fail where it is closed.
NOT_MADE = ("oauth_cb", "group.id", "log_level")


@script()
def clients_are_made_with_each_property_alone(kafka: ModuleType, stage: Stage) -> None:
    for kind, make in _makers(kafka, stage).items():
        for name in stage.property_names():
            if name in NOT_MADE:
                continue
            said: dict[str, list[str]] = {}
            for value in (None, 16, True):
                try:
                    client = make({"log_level": 0, name: value})
                except Exception as error:
                    said.setdefault(str(error), []).append(repr(value))
                else:
                    client.__exit__(None, None, None)
            stage.record(f"{kind}: {name}", said)


@script()
def share_consumers_say_first_what_is_not_for_them(kafka: ModuleType, stage: Stage) -> None:
    given: dict[str, Any] = {
        "enabled_events": 16,
        "allow.auto.create.topics": True,
        "enable.auto.commit": True,
        "topic.blacklist": "a",
        "session.timeout.ms": 1000,
        "receive.message.max.bytes": 1000,
        "auto.offset.reset": "earliest",
        "reconnect.backoff.ms": 20_000,
    }
    for first, one in given.items():
        for second, other in given.items():
            conf = {"log_level": 0, "group.id": "g", first: one, second: other}
            stage.attempt(f"{first} and {second}", kafka.ShareConsumer, conf)
    stage.attempt("oauth_cb", kafka.ShareConsumer, {"log_level": 0, "group.id": "g", "oauth_cb": print})


@script()
def assignors_are_named_in_a_list(kafka: ModuleType, stage: Stage) -> None:
    lists = (
        "range, roundrobin",
        "range ,roundrobin",
        "roundrobin ",
        "range,",
        ", ,range",
        ",",
        ",\trange",
        "RANGE",
    )
    for names in (
        *lists,
        "range, ",
        "range\t",
        "\trange",
        "range,range",
        "range,bogus",
        "roundrobin,cooperative-sticky",
    ):
        conf = {"log_level": 0, "group.id": "g", "partition.assignment.strategy": names}
        client = stage.within(names, kafka.Consumer, conf)
        stage.record(f"{names!r} is taken", client is not None)
        if client is not None:
            client.close()


@script()
def files_and_texts_for_tls_that_cannot_be_used(kafka: ModuleType, stage: Stage) -> None:
    this_file = __file__
    stage.call(this_file, "<a file without PEM>")
    for name in (
        "ssl.ca.location",
        "ssl.crl.location",
        "ssl.certificate.location",
        "ssl.key.location",
    ):
        for value in ("/nowhere/x.pem", this_file):
            conf = {"log_level": 0, "security.protocol": "ssl", name: value}
            stage.attempt(f"{name}: {value}", kafka.Producer, conf)
    for setting in (
        {"ssl.keystore.location": "/nowhere/x.p12", "ssl.keystore.password": "x"},
        {"ssl.ca.pem": "x"},
        {"ssl.certificate.pem": "x"},
        {"ssl.key.pem": "x"},
        {"ssl.key.pem": "x", "ssl.certificate.pem": "y"},
        {"ssl.cipher.suites": "nonsense"},
        {"ssl.cipher.suites": "nonsense", "ssl.ca.pem": "x"},
        {"ssl.ca.pem": "x", "ssl.crl.location": "/nowhere/x.pem"},
    ):
        conf = {"log_level": 0, "security.protocol": "ssl", **setting}
        stage.attempt(str(setting), kafka.Producer, conf)


@script()
def assertions_in_a_file_take_nothing_beside_them(kafka: ModuleType, stage: Stage) -> None:
    prefix = "sasl.oauthbearer.assertion"
    conf = {
        "log_level": 0,
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/",
        f"{prefix}.file": "/nowhere/assertion",
    }
    for name in ("private.key.file", "private.key.pem", "private.key.passphrase", "claim.sub", "claim.aud"):
        for value in (None, "", "x"):
            producer = stage.within(f"{name}: {value}", kafka.Producer, {**conf, f"{prefix}.{name}": value})
            stage.record(f"{name}: {value} is taken", producer is not None)
            if producer is not None:
                producer.close()

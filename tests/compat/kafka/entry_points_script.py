"""Prints, as JSON, which calls of clients raise an error of the core: made with settings of all kinds, and
called with and without a broker, open and closed."""

from __future__ import annotations

import importlib
import json
import logging
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import kafka
import kafka.admin
import kafka.structs

from barnabas.errors import BarnabasError

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")

UNREACHABLE = {"bootstrap_servers": "127.0.0.1:1", "api_version": "0.9", "request_timeout_ms": 11_000}
ODD_VALUES: tuple[Any, ...] = (-5, 0, 3.5, "nonsense", b"nonsense", [], {}, None, object(), True)
ODD_ARGUMENTS: tuple[tuple[Any, ...], ...] = (
    (),
    (None,),
    ("topic",),
    (["topic"],),
    ({},),
    (kafka.structs.TopicPartition("topic", 0),),
    ([kafka.structs.TopicPartition("topic", 0)],),
    ({kafka.structs.TopicPartition("topic", 0): 5},),
)

leaving: list[str] = []
tried = 0


def attempt(label: str, call: Callable[..., Any], *args: Any, **named: Any) -> Any:
    global tried
    tried += 1
    try:
        return call(*args, **named)
    except BarnabasError as error:
        leaving.append(f"{label}: {error!r}")
    except Exception:
        return None


def make_with_odd_settings(name: str, made: type[Any]) -> None:
    for setting in made.DEFAULT_CONFIG:
        for value in ODD_VALUES:
            if setting == "api_version" and value is None:
                # It would look for brokers.
                continue
            client = attempt(f"{name}({setting}={value!r})", made, **{**UNREACHABLE, setting: value})
            if client is not None:
                with suppress(Exception):
                    client.close()


def call_everything(name: str, client: Any, skipped: tuple[str, ...]) -> None:
    for method in dir(client):
        if method.startswith("_") or method in skipped:
            continue
        with suppress(Exception):
            if not callable(getattr(client, method)):
                continue
        for arguments in ODD_ARGUMENTS:
            attempt(f"{name}.{method}{arguments!r}", getattr(client, method), *arguments)


CLIENTS: dict[str, type[Any]] = {"KafkaConsumer": kafka.KafkaConsumer, "KafkaProducer": kafka.KafkaProducer}

for name, made in CLIENTS.items():
    make_with_odd_settings(name, made)
    settings = {"max_block_ms": 20} if name == "KafkaProducer" else {}
    client = made(**UNREACHABLE, **settings)
    client.close()
    call_everything(f"closed {name}", client, ())

attempt("SimpleClient", importlib.import_module("kafka.client").SimpleClient, "127.0.0.1:1", timeout=1)
for call in (kafka.KafkaConsumer, kafka.KafkaProducer, kafka.admin.KafkaAdminClient):
    for setting in ("bootstrap_timeout_ms", "api_version_auto_timeout_ms"):
        for server in ("127.0.0.1:1", "no.such.host.invalid:1", "a:b:c:d"):
            if setting in call.DEFAULT_CONFIG:
                attempt(call.__name__, call, bootstrap_servers=server, **{setting: 200})

print(json.dumps({"tried": tried, "leaving": leaving}))

"""Prints, as JSON, where a program for kafka-python sees a secret that it gave: `secrets_program.py SECRET
BOOTSTRAP_SASL BOOTSTRAP_PLAINTEXT GENERATION`. The secret is the password of alice, and part of every other
secret."""

from __future__ import annotations

import faulthandler
import importlib
import json
import logging
import sys
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Any

import kafka
import kafka.admin
import kafka.cluster
import kafka.conn
from kafka.client_async import KafkaClient

SECRET, SASL, PLAINTEXT, GENERATION = sys.argv[1:]
MOST_OBJECTS, MOST_PARTS = 500, 100
LONGEST_RUN_SECONDS = 240

warnings.simplefilter("ignore")
shown: list[str] = []
"""Every text in which the secret is."""
counts = {"texts": 0, "failures": 0, "reached": 0}


def look(where: str, text: str) -> None:
    counts["texts"] += 1
    if SECRET in text:
        shown.append(f"{where}: {text}")


class LookingHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        look(f"log of {record.name} at {record.levelname}", f"{record.getMessage()} {record.args!r}")
        if record.exc_info is not None:
            look(f"traceback in {record.name}", "".join(traceback.format_exception(*record.exc_info)))


def look_at_error(where: str, error: BaseException) -> None:
    counts["failures"] += 1
    causes: dict[int, BaseException] = {}
    cause: BaseException | None = error
    # An error may be raised from itself.
    while cause is not None and id(cause) not in causes:
        causes[id(cause)] = cause
        look(f"error of {where}", f"{cause} {cause!r} {cause.args!r} {getattr(cause, '__dict__', {})!r}")
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def parts_of(thing: Any) -> Iterable[Any]:
    if isinstance(thing, dict):
        return [*thing.keys(), *thing.values()]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(thing, (list, tuple, set, frozenset)):
        return list(thing)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if not type(thing).__module__.startswith("barnabas"):
        return []
    slots = [name for cls in type(thing).__mro__ for name in getattr(cls, "__slots__", ())]
    return [*getattr(thing, "__dict__", {}).values(), *(getattr(thing, name, None) for name in slots)]


def look_at_all_of(where: str, root: Any) -> None:
    """The text of the object, and of what it is made of, from the outside to the inside."""
    seen: dict[int, Any] = {}
    waiting = deque([root])
    while waiting and len(seen) < MOST_OBJECTS:
        thing = waiting.popleft()
        is_plain = isinstance(thing, (str, bytes, int, float, type, type(None)))
        if id(thing) in seen or is_plain or isinstance(thing, Provider):
            continue
        seen[id(thing)] = thing
        # What another thread changes at the moment has no text.
        with suppress(Exception):
            if not hasattr(thing, "__len__") or len(thing) <= MOST_PARTS:
                look(f"{where}: {type(thing).__name__}", repr(thing))
                waiting.extend(parts_of(thing))


def attempt(where: str, call: Callable[..., Any], *args: Any, **named: Any) -> Any:
    try:
        return call(*args, **named)
    except (Exception, SystemExit) as error:
        look_at_error(where, error)
        return None


class Provider:
    """Its text is the secret, as that of a dataclass with a token would be."""

    def __repr__(self) -> str:
        return f"Provider({SECRET})"

    def token(self) -> str:
        return f"{SECRET}.is.no.token"

    def extensions(self) -> dict[str, str]:
        return {}


PASSWORD = {
    "bootstrap_servers": SASL,
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "alice",
    "sasl_plain_password": SECRET,
}
PROXIES = (
    f"socks5://user:{SECRET}@127.0.0.1:1",
    f"socks5://user:{SECRET}/more@127.0.0.1:1",
    f"socks5://user:more#{SECRET}@127.0.0.1:1",
    f"socks5://user:{SECRET}@127.0.0.1:port",
    f"socks5://user:pass@127.0.0.1:{SECRET}",
    f"ftp://user:{SECRET}@127.0.0.1:1",
    f"user:{SECRET}@127.0.0.1:1",
)
MISTAKES: tuple[dict[str, Any], ...] = (
    {"sasl_plain_password": f"not {SECRET}"},
    {"sasl_plain_password": f"not {SECRET}", "sasl_mechanism": "SCRAM-SHA-256"},
    {"sasl_mechanism": "NONE"},
    {"security_protocol": "NONE"},
    {"sasl_plain_pasword": SECRET},
    {"sasl.password": SECRET, "group": {"password": SECRET}},
    {"sasl_plain_password": SECRET.encode()},
    {"sasl_plain_password": [SECRET]},
    {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": Provider()},
    {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": SECRET},
    {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": lambda: [SECRET]},
    {"security_protocol": "SSL", "ssl_certfile": __file__, "ssl_password": SECRET},
    {"security_protocol": "SSL", "ssl_certfile": __file__, "ssl_password": [SECRET]},
    {"client_id": object(), "request_timeout_ms": "soon"},
    *({setting: url} for setting in ("proxy_url", "socks5_proxy") for url in PROXIES),
    {"proxy_url": [PROXIES[0]]},
)


def patience(made: Any, settings: Collection[str]) -> dict[str, Any]:
    """Settings of a class by which it does not wait long for brokers that never answer."""
    # Nobody is at a proxy's address, however long it is tried.
    brief_ms = 200 if "proxy_url" in settings or "socks5_proxy" in settings else 1000
    names = ("bootstrap_timeout_ms", "api_version_auto_timeout_ms", "max_block_ms")
    return {name: brief_ms for name in names if name in made.DEFAULT_CONFIG}


def make(name: str, made: Any, *args: Any, **settings: Any) -> None:
    client = attempt(name, made, *args, **{**patience(made, settings), **settings})
    if client is None:
        return
    counts["reached"] += 1
    if hasattr(client, "connect_blocking"):
        attempt(f"{name}.connect_blocking", client.connect_blocking, 1)
    for call in ("topics", "list_topics", "flush"):
        if hasattr(client, call):
            attempt(f"{name}.{call}", getattr(client, call))
    look_at_all_of(name, client)
    attempt(f"{name}.close", client.close)


def make_each(settings: dict[str, Any]) -> None:
    make("KafkaProducer", kafka.KafkaProducer, **settings)
    make("KafkaConsumer", kafka.KafkaConsumer, **settings)
    make("KafkaAdminClient", kafka.KafkaAdminClient, **settings)
    make("KafkaClient", KafkaClient, **settings)
    host, _, port = SASL.rpartition(":")
    make("BrokerConnection", kafka.conn.BrokerConnection, host, int(port), 0, **settings)
    cluster = attempt("ClusterMetadata", kafka.cluster.ClusterMetadata, **settings)
    look_at_all_of("ClusterMetadata", cluster)


def use_mechanisms() -> None:
    sasl = importlib.import_module("kafka.sasl")
    for name in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"):
        mechanism = sasl.SASL_MECHANISMS[name]
        settings = {**PASSWORD, "sasl_mechanism": name, "sasl_oauth_token_provider": Provider()}
        made = attempt(name, mechanism, **settings, host="localhost")
        attempt(f"{name}.auth_bytes", getattr(made, "auth_bytes", None) or str)
        attempt(f"{name}.receive", getattr(made, "receive", None) or str, SECRET.encode())
        look_at_all_of(name, made)


def set_passwords_that_brokers_refuse() -> None:
    admin = kafka.KafkaAdminClient(bootstrap_servers=PLAINTEXT)
    for name in ("ssl.keystore.password", "listener.name.sasl_ssl.ssl.keystore.password"):
        configs = {name: SECRET, "num.io.threads": "many"}
        attempt("alter_configs", admin.alter_configs, [kafka.admin.ConfigResource("BROKER", "1", configs)])
    upsertion = kafka.admin.UserScramCredentialUpsertion("alice", "SCRAM_SHA_256", SECRET, iterations=1)
    look_at_all_of("upsertion", upsertion)
    attempt("alter_user_scram_credentials", admin.alter_user_scram_credentials, [upsertion])
    admin.close()


def use_the_command_line() -> None:
    command = importlib.import_module("kafka.cli.admin")
    login = ["-S", "SASL_PLAINTEXT", "-M", "PLAIN", "-U", "alice"]
    for arguments in (
        ["-b", SASL, *login, "-P", f"not {SECRET}", "-l", "DEBUG", "topics", "list"],
        ["-b", SASL, "-C", f"sasl_plain_pasword={SECRET}", "topics", "list"],
        ["-b", SASL, "-C", f"ssl_password:{SECRET}", "topics", "list"],
        ["-b", PLAINTEXT, "users", "alter-scram-credentials", "--upsert", f"alice:{SECRET}"],
        ["-b", PLAINTEXT, "users", "alter-scram-credentials", "--upsert", f"alice:NONE:{SECRET}"],
    ):
        attempt("command line", command.run_cli, arguments)


faulthandler.dump_traceback_later(LONGEST_RUN_SECONDS, exit=True)
logging.getLogger().setLevel(logging.DEBUG)
logging.getLogger().addHandler(LookingHandler())
make_each(PASSWORD)
make_each({**PASSWORD, "sasl_mechanism": "SCRAM-SHA-256"})
for mistake in MISTAKES:
    make_each({**PASSWORD, **mistake})
use_mechanisms()
set_passwords_that_brokers_refuse()
if GENERATION == "3":
    use_the_command_line()
print(json.dumps({"shown": shown, **counts}))

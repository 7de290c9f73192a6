"""The legacy package `avro`: its client of a registry, its serializer, its producer and consumer."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import pickle
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.compat.differential.recording_registry import RecordingRegistry
from tests.compat.differential.script import on_both, script
from tests.compat.differential.scripts.registry.clients import AVRO
from tests.compat.differential.stage import UNREACHABLE, WAIT, Stage

NEWER = """{"type": "record", "name": "R", "namespace": "n", "fields": [
    {"name": "f", "type": "string"}, {"name": "g", "type": ["null", "int"], "default": null}]}"""
VERSION = {"subject": "s", "version": 3, "id": 7, "schema": AVRO}


def _client(legacy: ModuleType, **settings: Any) -> Any:
    return legacy.CachedSchemaRegistryClient(settings)


@script()
def legacy_schemas_are_loaded_alike(kafka: ModuleType, stage: Stage) -> None:
    legacy = stage.module("avro")
    stage.record("a schema", str(legacy.loads(AVRO)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "schema.avsc"
        path.write_text(NEWER)
        stage.record("a file", str(legacy.load(str(path))))
    stage.call(folder, "<folder>")
    stage.attempt("no file", legacy.load, f"{folder}/schema.avsc")
    for broken in ("", "{", '{"type": "record"}', '{"type": "what"}', '"string"'):
        stage.attempt(broken, lambda text: str(legacy.loads(text)), broken)
    error = legacy.ClientError("words", 404)
    stage.record("an error", [str(error), repr(error), error.message, error.http_code])
    for kind in (legacy.SerializerError, legacy.KeySerializerError, legacy.ValueSerializerError):
        error = kind("words")
        stage.record(kind.__name__, [str(error), repr(error), error.message, isinstance(error, Exception)])


def shown(call: Callable[..., Any], *arguments: Any) -> str:
    """What a call gives, as text: a schema's is its JSON."""
    return str(call(*arguments))


@script(alone=True)
def the_legacy_client_asks_and_gives_the_same(kafka: ModuleType, stage: Stage) -> None:
    logging.getLogger("confluent_kafka.avro").addHandler(logging.NullHandler())
    legacy = stage.module("avro")
    schema, newer = legacy.loads(AVRO), legacy.loads(NEWER)
    calls: list[tuple[str, tuple[Any, ...], int, Any]] = [
        ("register", ("s", schema), 200, {"id": 7}),
        ("register", ("s", schema), 500, {}),
        *[("register", ("s", newer), code, {"message": "no"}) for code in (401, 403, 409, 422, 500)],
        ("register", ("s", newer), 500, b"<html>"),
        ("check_registration", ("t", schema), 200, {"id": 7}),
        ("check_registration", ("t", schema), 500, {}),
        *[("check_registration", ("t", newer), code, {"message": "no"}) for code in (401, 404, 500)],
        ("delete_subject", ("a b:c",), 200, [1, 2]),
        ("delete_subject", ("s",), 404, {"message": "no"}),
        ("get_by_id", (8,), 200, {"schema": NEWER}),
        ("get_by_id", (8,), 500, {}),
        ("get_by_id", (9,), 404, {}),
        ("get_by_id", (9,), 500, {}),
        ("get_by_id", (9,), 200, {"schema": "{"}),
        ("get_latest_schema", ("s",), 200, VERSION),
        ("get_by_version", ("s", 3), 200, VERSION),
        *[("get_by_version", ("s", 3), code, {}) for code in (404, 422, 500)],
        ("get_version", ("s", schema), 500, {}),
        ("get_version", ("s", newer), 404, {}),
        ("get_version", ("s", newer), 500, {}),
        ("get_version", ("s", newer), 200, {**VERSION, "id": 10, "version": 4}),
        ("get_version", ("s", newer), 500, {}),
        ("test_compatibility", ("s", schema), 200, {"is_compatible": True}),
        ("test_compatibility", ("s", schema, 3), 200, {"is_compatible": False}),
        *[("test_compatibility", ("s", schema), code, {}) for code in (404, 422, 500)],
        ("test_compatibility", ("s", schema), 200, []),
        ("update_compatibility", ("FULL",), 200, {"compatibility": "FULL"}),
        ("update_compatibility", ("NONE", "s"), 200, {"compatibility": "NONE"}),
        ("update_compatibility", ("NONE", "s"), 422, {}),
        ("update_compatibility", ("other",), 200, {}),
        ("get_compatibility", (), 200, {"compatibilityLevel": "FULL"}),
        ("get_compatibility", ("s",), 200, {"compatibilityLevel": "FULL_TRANSITIVE"}),
        ("get_compatibility", ("s",), 200, {}),
        ("get_compatibility", ("s",), 404, {}),
    ]
    server = RecordingRegistry(stage, (200, {}))
    url = server.url.replace("http://", "http://us%2Fer:pass@")
    with _client(legacy, url=f"{url}/path/") as client:
        stage.record("url", [client.url, client.auto_register_schemas])
        for name, arguments, status, answer in calls:
            server.answer_with((status, answer))
            label = f"{name} {len(arguments)} {status}"
            stage.attempt(
                label, lambda call, *given: stage.text(call(*given)), getattr(client, name), *arguments
            )
            server.record(label)


@script()
def the_legacy_client_says_who_it_is(kafka: ModuleType, stage: Stage) -> None:
    legacy = stage.module("avro")
    server = RecordingRegistry(stage, (200, [1]))
    cases: dict[str, dict[str, Any]] = {
        "user": {"basic.auth.credentials.source": "user_info", "basic.auth.user.info": "user:pass"},
        "inherited": {
            "basic.auth.credentials.source": "SASL_INHERIT",
            "sasl.username": "user",
            "sasl.password": "pass",
            "sasl.mechanism": "PLAIN",
        },
    }
    for label, settings in cases.items():
        stage.attempt(label, _client(legacy, url=server.url, **settings).delete_subject, "s")
        server.record(label)
    refused: list[Any] = [
        {},
        {"url": 5},
        {"url": "file:///x"},
        {"url": server.url, "other": 1, "another": 2},
        {"url": server.url, "ssl.key.location": "x"},
        {"url": server.url, "ssl.certificate.location": "x"},
        {"url": server.url, "basic.auth.credentials.source": "OTHER"},
        {"url": server.url, "basic.auth.credentials.source": "SASL_INHERIT", "sasl.mechanism": "gssapi"},
        {"url": server.url, "auto.register.schemas": False},
    ]
    for settings in refused:
        label = stage.text(settings)
        stage.attempt(label, lambda given: type(_client(legacy, **given)).__name__, settings)
    stage.attempt("by URL", lambda: legacy.CachedSchemaRegistryClient(server.url).url.rpartition(":")[0])


def _answering(stage: Stage, answer: bytes) -> str:
    """The URL of a server that answers each request so, and hangs up. Where there is a `%d`, its port is."""
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.settimeout(WAIT)
                connection.recv(65536)
                connection.sendall(answer.replace(b"%d", b"%d" % port))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()

    def close() -> None:
        # On Linux this ends the wait, which closing would not.
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()

    stage.closing(close)
    return f"127.0.0.1:{port}"


def _classes(error: BaseException, package: str) -> list[str]:
    """The exceptions of a library that catch this one."""
    exceptions = vars(importlib.import_module(f"{package}.exceptions")).items()
    return sorted(
        name
        for name, kind in exceptions
        if isinstance(kind, type) and kind.__module__.startswith(package) and isinstance(error, kind)
    )


def _record_refusal(stage: Stage, label: str, package: str, url: str, **settings: Any) -> None:
    client = stage.module("avro").CachedSchemaRegistryClient({"url": url, **settings})
    stage.closing(client.close)
    for name, arguments in (("get_by_id", (1,)), ("delete_subject", ("s",))):
        try:
            getattr(client, name)(*arguments)
        except Exception as error:
            stage.record(f"{label}, {name}", _classes(error, package))
        else:
            stage.record(f"{label}, {name}", "no exception")


BEGUN = b"HTTP/1.1 200 OK\r\n"
WITHOUT_AN_ANSWER = {
    "hangs up": b"",
    "not HTTP": b"nonsense\r\n\r\n",
    "half an answer": BEGUN + b"Content-Length: 100\r\n\r\n{}",
    "half a chunk": BEGUN + b"Transfer-Encoding: chunked\r\n\r\n10\r\n{}",
    "broken gzip": BEGUN + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
}


@script()
def without_an_answer_the_legacy_client_raises_what_requests_raises(kafka: ModuleType, stage: Stage) -> None:
    _record_refusal(stage, "refused", "requests", f"http://{UNREACHABLE}")
    for label, answer in WITHOUT_AN_ANSWER.items():
        _record_refusal(stage, label, "requests", f"http://{_answering(stage, answer)}")
    for url in (
        "http://",
        "httpfoo",
        "httpx://127.0.0.1:1",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:port",
        "http://*host",
        "http://.host",
        "http://a host",
    ):
        _record_refusal(stage, url, "requests", url)


@script()
def over_https_the_legacy_client_raises_what_requests_or_urllib3_raises(
    kafka: ModuleType, stage: Stage
) -> None:
    # Where the password of a key is given, the original asks with requests.
    for package, settings in (("urllib3", {}), ("requests", {"ssl.key.password": "x"})):
        stage.record("by", package)
        _record_refusal(stage, "refused", package, f"https://{UNREACHABLE}", **settings)
        plain = _answering(stage, BEGUN + b"Content-Length: 0\r\n\r\n")
        _record_refusal(stage, "without TLS", package, f"https://{plain}", **settings)


@script(alone=True)
def the_legacy_client_raises_what_requests_raises_behind_a_proxy(kafka: ModuleType, stage: Stage) -> None:
    names = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "no_proxy", "NO_PROXY")
    before = {name: os.environ.pop(name) for name in names if name in os.environ}
    refusing = _answering(stage, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    try:
        for label, proxy in (("not there", UNREACHABLE), ("refuses", refusing)):
            os.environ["http_proxy"] = os.environ["https_proxy"] = f"http://{proxy}"
            if label == "not there":
                _record_refusal(stage, label, "requests", "http://registry.invalid")
            settings = {"ssl.key.password": "x"}
            _record_refusal(stage, f"HTTPS, {label}", "requests", "https://registry.invalid", **settings)
            os.environ["no_proxy"] = "127.0.0.1"
            _record_refusal(stage, "by itself", "requests", f"http://{UNREACHABLE}")
            del os.environ["no_proxy"]
    finally:
        for name in names:
            os.environ.pop(name, None)
        os.environ.update(before)


@script()
def what_the_legacy_client_raises_can_be_pickled(kafka: ModuleType, stage: Stage) -> None:
    from requests.exceptions import ConnectionError

    client = stage.module("avro").CachedSchemaRegistryClient({"url": f"http://{UNREACHABLE}"})
    stage.closing(client.close)
    try:
        client.get_by_id(1)
    except Exception as error:
        stage.record("pickled", isinstance(pickle.loads(pickle.dumps(error)), ConnectionError))


class Registry:
    """A client of a program's own: `schemas` by id."""

    def __init__(self, auto_register: bool = True, **schemas: Any) -> None:
        self.auto_register_schemas = auto_register
        self.schemas = {int(name.removeprefix("id_")): schema for name, schema in schemas.items()}
        self.calls: list[Any] = []

    def register(self, subject: str, schema: Any) -> int | None:
        self.calls.append(("register", subject))
        return next((key for key, value in self.schemas.items() if str(value) == str(schema)), None)

    def check_registration(self, subject: str, schema: Any) -> int | None:
        self.calls.append(("check_registration", subject))
        return self.register(subject, schema)

    def get_by_id(self, schema_id: int) -> Any:
        self.calls.append(("get_by_id", schema_id))
        return self.schemas.get(schema_id)


class Touched:
    """A registry's client of a program, which notes what is asked of it."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.names: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.names.append(name)
        return getattr(self._client, name)


@script()
def the_legacy_serializer_asks_nothing_else_of_a_programs_own_client(kafka: ModuleType, stage: Stage) -> None:
    legacy = stage.module("avro")
    schema = legacy.loads(AVRO)
    for auto_register in (True, False):
        client = Touched(Registry(auto_register, id_1=schema))
        serializer = legacy.MessageSerializer(client)
        stage.record("made", client.names)
        data = serializer.encode_record_with_schema("t", schema, {"f": "x"})
        stage.record("encoded", client.names)
        serializer.encode_record_with_schema_id(1, {"f": "x"})
        legacy.MessageSerializer(client).encode_record_with_schema_id(1, {"f": "x"})
        stage.record("encoded by id", client.names)
        serializer.decode_message(data)
        stage.record("decoded", client.names)
        conf = {"bootstrap.servers": stage.bootstrap, "log_level": 0}
        legacy.AvroProducer(conf, schema_registry=client)
        legacy.AvroConsumer({**conf, "group.id": "g"}, client).close()
        stage.record("clients", client.names)


@script()
def the_legacy_serializer_writes_and_reads_the_same(kafka: ModuleType, stage: Stage) -> None:
    legacy = stage.module("avro")
    schema, newer, text = legacy.loads(AVRO), legacy.loads(NEWER), legacy.loads('"string"')
    for auto_register in (True, False):
        registry = Registry(auto_register, id_1=schema, id_2=newer, id_300=text)
        serializer = legacy.MessageSerializer(registry)
        data = {
            name: stage.attempt(f"encode {name}", serializer.encode_record_with_schema, "t", *arguments)
            for name, arguments in {
                "a record": (schema, {"f": "x"}),
                "a key": (text, "key", True),
                "a newer one": (newer, {"f": "é", "g": 5}),
                "again": (schema, {"f": "y"}),
            }.items()
        }
        stage.attempt("by id", serializer.encode_record_with_schema_id, 2, {"f": "z"})
        stage.attempt("no id", serializer.encode_record_with_schema_id, 5, {"f": "z"})
        stage.attempt("no id, a key", serializer.encode_record_with_schema_id, 5, "z", is_key=True)
        unknown = legacy.loads('"long"')
        stage.attempt("not there", serializer.encode_record_with_schema, "t", unknown, 5)
        stage.attempt("a key not there", serializer.encode_record_with_schema, "t", unknown, 5, True)
        readers = {
            "as it was written": legacy.MessageSerializer(registry),
            "newer": legacy.MessageSerializer(registry, text, newer),
        }
        for label, reader in readers.items():
            for name, message in data.items():
                stage.attempt(f"{label}: {name}", reader.decode_message, message, name == "a key")
            for message in (None, b"", b"\0\0\0\0\x01", b"\x01\0\0\0\x01xx", b"\0\0\0\0\x07xx"):
                stage.attempt(f"{label}: {message!r}", reader.decode_message, message)
        stage.record("calls", registry.calls)


@on_both()
def legacy_clients_send_and_receive_in_avro(kafka: ModuleType, stage: Stage) -> None:
    legacy = stage.module("avro")
    topic = stage.topic()
    schema, newer, text = legacy.loads(AVRO), legacy.loads(NEWER), legacy.loads('"string"')
    registry = Registry(id_1=schema, id_2=text, id_3=newer)
    settings = {"bootstrap.servers": stage.bootstrap}
    producer = legacy.AvroProducer(settings, text, schema, schema_registry=registry)
    stage.record("is a Producer", isinstance(producer, kafka.Producer))
    delivered = stage.callback("delivered")
    producer.produce(topic=topic, value={"f": "x"}, key="k", on_delivery=delivered)
    producer.produce(topic=topic, value={"f": "y", "g": 1}, value_schema=newer, headers={"a": b"b"})
    producer.produce(topic=topic, key="only a key")
    stage.attempt("no topic", producer.produce, value={"f": "x"})
    without = legacy.AvroProducer(settings, schema_registry=registry)
    stage.attempt("no schema", without.produce, topic=topic, value={"f": "x"})
    stage.attempt("no schema of a key", without.produce, topic=topic, key="k")
    stage.attempt("by position", producer.produce, topic)
    producer.flush(WAIT)
    stage.fill(topic, b"no Avro", b"")
    both = {**settings, "schema.registry.url": "http://127.0.0.1:1"}
    for kind in (legacy.AvroProducer, legacy.AvroConsumer):
        stage.attempt(f"{kind.__name__}: both", kind, both, schema_registry=registry)
        stage.attempt(f"{kind.__name__}: none", kind, settings)
    group = {**settings, "group.id": stage.group(), "auto.offset.reset": "earliest"}
    consumer = legacy.AvroConsumer(group, registry, reader_value_schema=newer)
    stage.closing(consumer.close)
    stage.record("is a Consumer", isinstance(consumer, kafka.Consumer))
    consumer.subscribe([topic])
    seen: list[Any] = []

    def step() -> None:
        try:
            message = consumer.poll(0.5)
            if message is not None:
                seen.append((message.key(), message.value(), message.headers()))
        except Exception as error:
            seen.append(error)

    stage.until(lambda: len(seen) >= 5, step)
    for each in seen:
        stage.record("seen", each)

from __future__ import annotations

import socket
import threading
import time

import pytest

from barnabas import Registry
from barnabas.errors import MisuseError
from barnabas.registry import Schema
from barnabas.registry_server.journal.journal import JournalTimeoutError
from barnabas.registry_server.journal.memory import MemoryJournal
from barnabas.registry_server.records import parse_key
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry


def test_a_registry_runs_beside_the_test_and_ends_with_it() -> None:
    before = set(threading.enumerate())
    with EmbeddedRegistry() as embedded:
        url = embedded.url
        with Registry(url) as registry:
            assert registry.register("s", Schema('"string"')).id == 1
            assert registry.subjects() == ["s"]
    with pytest.raises(MisuseError):
        _ = embedded.url
    assert not set(threading.enumerate()) - before
    with socket.socket() as again:
        # Its port is free.
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", int(url.rpartition(":")[2])))


def test_a_started_one_is_not_started_again_and_one_that_ended_is() -> None:
    embedded = EmbeddedRegistry().start()
    with pytest.raises(MisuseError, match="runs already"):
        embedded.start()
    embedded.close()
    embedded.close()
    with embedded.start() as again, Registry(again.url) as registry:
        assert registry.subjects() == []


def test_a_port_that_is_taken_is_an_error_of_the_start() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            EmbeddedRegistry(port=taken.getsockname()[1]).start()


def test_what_a_journal_has_is_there_in_the_next_registry() -> None:
    journal = MemoryJournal()
    with EmbeddedRegistry(journal=journal) as embedded, Registry(embedded.url) as registry:
        registered = registry.register(":.c:s", Schema('"string"'))
    kept = journal.records
    assert [type(parse_key(key)).__name__ for key, _ in kept] == ["ContextKey", "SchemaKey"]
    with EmbeddedRegistry(journal=MemoryJournal(kept)) as embedded, Registry(embedded.url) as registry:
        assert registry.version(":.c:s", 1) == registered


def test_a_request_that_never_ends_does_not_keep_it_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.registry_server.server.GRACE_SECONDS", 1)
    with EmbeddedRegistry() as embedded:
        host, port = embedded.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(b"POST /subjects/s HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{")
            with Registry(embedded.url) as registry:
                registry.subjects()
            embedded.close()
            while connection.recv(1 << 16):
                pass


def test_an_answer_is_sent_at_once() -> None:
    with EmbeddedRegistry() as embedded, Registry(embedded.url) as registry:
        registry.subjects()
        seconds: list[float] = []
        for _ in range(50):
            began = time.monotonic()
            registry.subjects()
            seconds.append(time.monotonic() - began)
        # With Nagle's algorithm each waits 40 ms for an acknowledgement, once a connection is no longer new.
        assert min(seconds[25:]) < 0.03


def test_schemas_in_a_topic_are_there_in_the_next_registry() -> None:
    with EmbeddedBroker() as broker:
        first = EmbeddedRegistry(bootstrap_servers=broker.bootstrap)
        with first, Registry(first.url) as registry:
            registered = registry.register("s", Schema('"string"'))
        second = EmbeddedRegistry(bootstrap_servers=broker.bootstrap)
        with second, Registry(second.url) as registry:
            assert registry.version("s", 1) == registered


def test_it_has_one_journal() -> None:
    with pytest.raises(MisuseError, match="in a Kafka cluster, or one that it is given"):
        EmbeddedRegistry(bootstrap_servers="localhost:1", journal=MemoryJournal())


def test_a_cluster_that_nobody_answers_for_is_an_error_of_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("barnabas.testing.embedded_registry.KAFKA_TIMEOUT_SECONDS", 0.5)
    with pytest.raises(JournalTimeoutError, match="was not read within 500 ms"):
        EmbeddedRegistry(bootstrap_servers="127.0.0.1:1").start()

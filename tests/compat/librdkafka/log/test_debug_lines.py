"""What `debug` tells on connections that are secured or break off, and that it costs nothing where it is not
set.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.waiting import wait_for

from barnabas.compat import confluent_kafka
from barnabas.testing import ApacheKafka, EmbeddedBroker, SecureListeners


class Log:
    def __init__(self) -> None:
        self.lines: list[tuple[int, str, str]] = []

    def log(self, level: int, form: str, facility: str, name: str, line: str) -> None:
        self.lines.append((level, facility, line))

    def of(self, facility: str) -> list[str]:
        return [line for _, told, line in self.lines if told == facility]


@pytest.fixture(scope="module")
def secure_kafka() -> Iterator[ApacheKafka]:
    with ApacheKafka(security=SecureListeners()) as kafka:
        yield kafka


def _poll_until(client: Any, condition: Callable[[], object]) -> None:
    def is_so() -> bool:
        client.poll(0.1)
        return bool(condition())

    wait_for(is_so)


def _settings(kafka: ApacheKafka, listener: str, **others: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": kafka.bootstrap_for(listener),
        "security.protocol": listener.lower(),
        "ssl.ca.location": str(kafka.certificates.ca),
        **others,
    }


def _states(log: Log) -> list[str]:
    """Those that the first connection came by."""
    changes = [line.rpartition("Broker changed state ")[2].split(" -> ") for line in log.of("STATE")]
    states = [changes[0][0]]
    for before, after in changes:
        if before != states[-1]:
            break
        states.append(after)
    return states


def test_a_connection_by_sasl_and_tls_comes_by_all_states(secure_kafka: ApacheKafka) -> None:
    user = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "admin", "sasl.password": "admin-secret"}
    log = Log()
    settings = _settings(secure_kafka, "SASL_SSL", debug="broker,security", **user)
    with confluent_kafka.Producer(settings, logger=log) as producer:
        producer.list_topics(timeout=30)
        producer.poll(0)
        assert _states(log) == [
            "INIT",
            "TRY_CONNECT",
            "CONNECT",
            "SSL_HANDSHAKE",
            "APIVERSION_QUERY",
            "AUTH_HANDSHAKE",
            "UP",
        ]
        server = secure_kafka.bootstrap_for("SASL_SSL")
        broker = f"sasl_ssl://{server}/bootstrap"
        assert f"[thrd:{broker}]: {broker}: Authenticated using SCRAM-SHA-512" in log.of("SCRAMAUTH")
        assert log.of("AUTH")
        assert "admin-secret" not in str(log.lines)


def test_a_wrong_password_is_told_with_the_state_that_it_failed_in(secure_kafka: ApacheKafka) -> None:
    log = Log()
    user = {"sasl.mechanism": "PLAIN", "sasl.username": "admin", "sasl.password": "no"}
    settings = _settings(secure_kafka, "SASL_PLAINTEXT", debug="broker", **user)
    producer = confluent_kafka.Producer(settings, logger=log)
    _poll_until(producer, lambda: {10, 40} <= {n for n, told, _ in log.lines if told == "FAIL"})
    (debug, *_) = [line for level, told, line in log.lines if told == "FAIL" and level == 10]
    assert "in state AUTH_HANDSHAKE" in debug
    assert debug.endswith("(_AUTHENTICATION)")
    producer.close()


def test_a_certificate_that_is_not_trusted_is_told(secure_kafka: ApacheKafka) -> None:
    log = Log()
    settings = _settings(secure_kafka, "SSL", debug="security,broker")
    settings["ssl.ca.location"] = str(secure_kafka.certificates.stranger_ca)
    producer = confluent_kafka.Producer(settings, logger=log)
    _poll_until(producer, lambda: log.of("FAIL"))
    assert _states(log) == ["INIT", "TRY_CONNECT", "CONNECT", "SSL_HANDSHAKE", "DOWN"]
    assert any("SSL handshake failed" in line for line in log.of("FAIL"))
    producer.close()


@pytest.mark.parametrize(
    ("tells", "levels"), [(True, {20}), (False, set[int]())], ids=["log.connection.close", "without"]
)
def test_a_broker_that_hangs_up_is_no_error(tells: bool, levels: set[int]) -> None:
    log, errors = Log(), list[Any]()
    with EmbeddedBroker() as broker:
        settings = {"bootstrap.servers": broker.bootstrap, "log.connection.close": tells}
        producer = confluent_kafka.Producer({**settings, "error_cb": errors.append}, logger=log)
        producer.list_topics(timeout=30)
        broker.stop()
        _poll_until(producer, lambda: errors)
    closed = {level for level, _, line in log.lines if "Disconnected" in line}
    assert closed == levels
    producer.close()


def test_a_request_without_an_answer_is_told() -> None:
    log = Log()
    with EmbeddedBroker() as broker:
        settings = {"bootstrap.servers": broker.bootstrap, "debug": "protocol", "socket.timeout.ms": 500}
        producer = confluent_kafka.Producer(settings, logger=log)
        producer.produce("topic", b"value")
        producer.flush(30)
        broker.pause()
        producer.produce("topic", b"value")
        _poll_until(producer, lambda: log.of("REQTMOUT"))
        broker.resume()
        producer.flush(30)
        producer.close()
    assert "Timed out ProduceRequest in flight (after 500ms" in log.of("REQTMOUT")[0]


def test_lines_about_a_transaction_that_fails_say_why(apache_kafka: ApacheKafka) -> None:
    log = Log()
    settings = {"bootstrap.servers": apache_kafka.bootstrap, "transactional.id": f"id-{time.time_ns()}"}
    old = confluent_kafka.Producer({**settings, "debug": "eos"}, logger=log)
    old.init_transactions(30)
    new = confluent_kafka.Producer(settings)
    new.init_transactions(30)
    old.begin_transaction()
    old.produce("transactions", b"value")
    with pytest.raises(confluent_kafka.KafkaException):
        old.commit_transaction(30)
    for _ in range(3):
        try:
            old.poll(0.1)
        except confluent_kafka.KafkaException:
            continue
    assert any("-> FatalError: " in line for line in log.of("TXNSTATE"))
    called = [line.partition(": Transactional API ")[2].partition(" (")[0] for line in log.of("TXNAPI")]
    assert called[:3] == [
        "called: init_transactions",
        "init_transactions return: Success",
        "called: begin_transaction",
    ]
    assert "called: commit_transaction" in called
    new.close()


def test_nobody_follows_a_client_without_debug(embedded_broker: EmbeddedBroker) -> None:
    plain = confluent_kafka.Producer({"bootstrap.servers": embedded_broker.bootstrap})
    assert not plain._core.kafka_client.steps
    plain.close()
    followed = confluent_kafka.Producer(
        {"bootstrap.servers": embedded_broker.bootstrap, "debug": "msg"}, logger=Log()
    )
    assert followed._core.kafka_client.steps
    followed.close()
    assert not followed._core.kafka_client.steps


def test_a_client_without_brokers_tells_of_none() -> None:
    log = Log()
    producer = confluent_kafka.Producer({"debug": "all"}, logger=log)
    deadline = time.monotonic() + 0.5
    while time.monotonic() < deadline:
        producer.poll(0.1)
    assert "invalid" not in str(log.lines)
    assert {"INIT", "CONFWARN", "CONF"} <= {facility for _, facility, _ in log.lines}
    producer.close()


def test_debug_keeps_no_client_that_the_program_has_dropped(embedded_broker: EmbeddedBroker) -> None:
    settings = {"bootstrap.servers": embedded_broker.bootstrap, "group.id": "g", "debug": "all"}
    for kind in (confluent_kafka.Producer, confluent_kafka.Consumer):
        client = kind(settings, logger=Log())
        client.poll(0)
        dropped = weakref.ref(client)
        del client
        gc.collect()
        assert dropped() is None

"""A stream goes on while what it proves itself with is replaced: a password in a file, tokens that end."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.security.secure_kafka import unsecured_token
from tests.waiting import wait_for

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition
from barnabas.client.admin.types import ScramMechanism, ScramUpsertion
from barnabas.errors import SaslAuthenticationError
from barnabas.spark.clients import ClientPool, make_consumer, meaning
from barnabas.spark.errors import InvalidOptionError
from barnabas.testing import EmbeddedBroker, SecureListeners

LISTENER, NODES = "SASL_PLAINTEXT", 3
BY_PLAIN: dict[str, Any] = {
    "security_protocol": LISTENER,
    "sasl_mechanism": "PLAIN",
    "sasl_username": "admin",
    "sasl_password": "admin-secret",
}
TOKEN_SECONDS = 4.0


@pytest.fixture
def secured(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    config: dict[str, str] = getattr(request, "param", {})
    with EmbeddedBroker(security=SecureListeners(), nodes=NODES, config=config) as broker:
        with Admin(broker.bootstrap_for(LISTENER), **BY_PLAIN) as admin:
            admin.create_topics([NewTopic(name, 2, NODES) for name in ("original", "copy")])
        yield broker


class Copying:
    """A stream from the topic original to the topic copy, exactly once."""

    def __init__(
        self, broker: EmbeddedBroker, spark: SparkSession, login: Mapping[str, str], checkpoint: Path
    ) -> None:
        self._bootstrap = broker.bootstrap_for(LISTENER)
        self._sent = 0
        options = {f"kafka.{name}": value for name, value in login.items()}
        options["kafka.bootstrap.servers"] = self._bootstrap
        frame = spark.readStream.format("barnabas").options(
            subscribe="original", startingOffsets="earliest", **options
        )
        self.query = (
            frame.load()
            .writeStream.format("barnabas")
            .options(topic="copy", **options)
            .option("delivery", "exactly-once")
            .option("checkpointLocation", str(checkpoint))
            .start()
        )

    def some(self) -> None:
        """Writes some records, and returns when they are copied."""
        with Producer(self._bootstrap, **BY_PLAIN) as producer:
            for _ in range(10):
                producer.send("original", b"%d" % self._sent, partition=self._sent % 2)
                self._sent += 1
            producer.flush()
        self.query.processAllAvailable()

    def has_copied_all_once(self) -> bool:
        partitions = [TopicPartition("copy", number) for number in range(2)]
        reading: dict[str, Any] = {"isolation_level": "read_committed", "auto_offset_reset": "earliest"}
        found: list[int] = []
        with Consumer(self._bootstrap, **reading, **BY_PLAIN) as consumer:
            consumer.assign(partitions)
            ends = consumer.end_offsets(partitions)
            while any(consumer.position(partition) < end for partition, end in ends.items()):
                found += [int(bytes(record.value or b"")) for record in consumer.poll(0.2)]
        return sorted(found) == list(range(self._sent))


def test_a_stream_goes_on_when_its_password_is_another_one(
    secured: EmbeddedBroker, spark: SparkSession, tmp_path: Path
) -> None:
    secret = tmp_path / "password"
    secret.write_text("admin-secret\n")
    login = {
        "security.protocol": LISTENER,
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "admin",
        "sasl.password": f"${{file:{secret}}}",
    }
    copying = Copying(secured, spark, login, tmp_path / "checkpoint")
    try:
        copying.some()
        for password in ("second", "third"):
            with Admin(secured.bootstrap_for(LISTENER), **BY_PLAIN) as admin:
                admin.alter_user_scram_credentials(
                    [ScramUpsertion("admin", ScramMechanism.SCRAM_SHA_256, password)]
                )
            # In one step, so that no client that is made meanwhile reads half of it.
            another = tmp_path / "another password"
            another.write_text(password)
            another.replace(secret)
            # Which ends all connections that were made with the old one.
            for node in secured.nodes.values():
                node.stop()
                node.start()
            copying.some()
        with (
            pytest.raises(SaslAuthenticationError),
            Admin(secured.bootstrap_for(LISTENER), **BY_PLAIN | {"sasl_mechanism": "SCRAM-SHA-256"}) as old,
        ):
            old.describe_cluster()
        assert copying.has_copied_all_once()
    finally:
        copying.query.stop()


@pytest.fixture
def issued() -> Iterator[tuple[str, list[str]]]:
    """Where tokens are issued that end soon, and those that were."""
    tokens: list[str] = []

    class Issuer(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            tokens.append(unsecured_token("admin", TOKEN_SECONDS))
            body = json.dumps({"access_token": tokens[-1], "expires_in": TOKEN_SECONDS}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/token", tokens
    server.shutdown()
    thread.join()
    server.server_close()


# Only then brokers end a connection with the token that it was made with.
@pytest.mark.parametrize("secured", [{"connections.max.reauth.ms": "3600000"}], indirect=True)
def test_a_stream_goes_on_when_its_tokens_end(
    secured: EmbeddedBroker, spark: SparkSession, tmp_path: Path, issued: tuple[str, list[str]]
) -> None:
    url, tokens = issued
    login = {
        "security.protocol": LISTENER,
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": url,
        "sasl.oauthbearer.client.credentials.client.id": "pipeline",
        "sasl.oauthbearer.client.credentials.client.secret": "pipeline-secret",
    }
    copying = Copying(secured, spark, login, tmp_path / "checkpoint")
    try:
        copying.some()
        # The planner alone, which asks at every trigger, takes a new one for each that ends.
        for _ in range(3):
            count = len(tokens)
            wait_for(lambda count=count: len(tokens) > count, timeout=60)
            copying.some()
        assert copying.has_copied_all_once()
    finally:
        copying.query.stop()


def test_clients_with_what_a_file_held_before_are_closed_and_not_lent_again(tmp_path: Path) -> None:
    secret = tmp_path / "id"
    secret.write_text("first\n")
    settings = {"bootstrap_servers": "localhost:1", "client_id": f"${{file:{secret}}}"}
    pool = ClientPool(make_consumer)
    with pool.lend(settings) as first:
        assert first.config.client_id == "first"
    with pool.lend(settings) as again:
        assert again is first
    secret.write_text("${env:HOME}")
    with pool.lend(settings) as second:
        # What a file holds is taken as it is.
        assert second.config.client_id == "${env:HOME}"
    with pool.lend(settings) as again:
        assert again is second
    pool.close_idle()


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidOptionError, match=r"kafka.sasl.password names the file \S+/none, which cannot"
    ):
        meaning({"sasl_password": f"${{file:{tmp_path}/none}}"})

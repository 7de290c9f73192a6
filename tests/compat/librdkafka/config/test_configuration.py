from __future__ import annotations

import collections
import logging
import re
import sys
import types
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from tests.compat.both import Outcome, outcome_of

from barnabas.compat import confluent_kafka as own_package
from barnabas.compat.confluent_kafka.admin import AdminClient as OwnAdminClient
from barnabas.compat.librdkafka.config.configuration import Configuration
from barnabas.compat.librdkafka.config.property_rules import ClientKind
from barnabas.compat.librdkafka.values.errors import KafkaException
from barnabas.errors import InvalidSettingError
from barnabas.settings.table import (
    AdminConfig,
    CommonConfig,
    ConsumerConfig,
    ProducerConfig,
    ShareConsumerConfig,
    load,
)

KINDS: tuple[ClientKind, ...] = ("producer", "consumer", "share_consumer", "admin")
REAL: dict[ClientKind, Any] = {
    "producer": confluent_kafka.Producer,
    "consumer": confluent_kafka.Consumer,
    "share_consumer": confluent_kafka.ShareConsumer,
    "admin": AdminClient,
}
MAKERS: dict[ClientKind, Any] = {
    "producer": own_package.Producer,
    "consumer": own_package.Consumer,
    "share_consumer": own_package.ShareConsumer,
    "admin": OwnAdminClient,
}
CONFIGS: dict[ClientKind, type[CommonConfig]] = {
    "producer": ProducerConfig,
    "consumer": ConsumerConfig,
    "share_consumer": ShareConsumerConfig,
    "admin": AdminConfig,
}
# Nobody listens there, and nothing is logged about that.
BASE = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "group.id": "group"}
SASL = {"security.protocol": "sasl_plaintext"}
USER = {"sasl.username": "user", "sasl.password": "password"}
OIDC = {**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc"}
URL = {"sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1"}
IDEMPOTENT = {"enable.idempotence": True}
TRANSACTIONAL = {"transactional.id": "transactions"}


class Unprintable:
    def __str__(self) -> str:
        raise ValueError("no text")


def made(kind: ClientKind, *args: Any, **kwargs: Any) -> None:
    """Takes a configuration as far as to a client's config of Barnabas."""
    configuration = Configuration.parse(kind, args, kwargs)
    load(CONFIGS[kind], {"bootstrap_servers": configuration.bootstrap_servers, **configuration.settings})


def both(kind: ClientKind, *args: Any, **kwargs: Any) -> tuple[Outcome, Outcome]:
    def real() -> None:
        REAL[kind](*args, **kwargs)

    return outcome_of(real), outcome_of(lambda: made(kind, *args, **kwargs))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"foo": 1},
        {"foo.bar": 1},
        {"": "x"},
        {5: 1},
        {None: 1},
        {b"client.id": "x"},
        {"client.id": 5},
        {"client.id": None},
        {"client.id": 1.5},
        {"client.id": "a\0b"},
        {"client.id": Unprintable()},
        {Unprintable(): 1},
        {"session.timeout.ms": "abc"},
        {"session.timeout.ms": 0},
        {"session.timeout.ms": None},
        {"session.timeout.ms": True},
        {"linger.ms": 5.5},
        {"linger.ms": True},
        {"linger.ms": 400_000},
        {"enable.partition.eof": "maybe"},
        {"enable.partition.eof": 2},
        {"security.protocol": "xxx"},
        {"security.protocol": "Plaintext"},
        {"security.protocol": None},
        {"debug": "xxx"},
        {"debug": ""},
        {"error_cb": 5},
        {"error_cb": None},
        {"error_cb": print},
        {"throttle_cb": 5},
        {"stats_cb": None},
        {"oauth_cb": "x"},
        {"on_commit": 5},
        {"on_commit": print},
        {"on_delivery": 5},
        {"on_delivery": print},
        {"logger": 5},
        {"logger": None},
        {"logger": logging.getLogger("test")},
        {"dr_cb": print},
        {"rebalance_cb": print},
        {"ssl_ca": "x"},
        {"foo": 1, "bar": 2},
        {"foo": 1, "error_cb": 5},
        {"error_cb": 5, "foo": 1},
        {"foo": 1, "on_commit": print},
        {"plugin.library.paths": ""},
        {"plugin.library.paths": "some-plugin"},
        {"foo": 1, "plugin.library.paths": "some-plugin"},
        {"default.topic.config": 5},
        {"default.topic.config": None},
        {"default.topic.config": {}},
        {"default.topic.config": {"foo": 1}},
        {"default.topic.config": {"client.id": "x"}},
        {"default.topic.config": {"partitioner": "murmur2"}},
        {"default.topic.config": {"partitioner": None}},
        {"acks": 1, "default.topic.config": {"acks": 5000}},
        {"acks": 5000, "default.topic.config": {"acks": 1}},
        {"partitioner": "xxx"},
        {"partitioner": "random"},
        {"partitioner": print},
        {"acks": "all"},
        {"acks": "xxx"},
        {"acks": 1001},
        {"acks": 0},
        {"delivery.report.only.error": "true"},
        {"delivery.report.only.error": True},
        {"delivery.report.only.error": 5},
        {"bootstrap.servers": ""},
        {"bootstrap.servers": "::"},
        {"bootstrap.servers": ","},
        {"bootstrap.servers": "[::1]:9092,::1,localhost,PLAINTEXT://127.0.0.1:9092"},
        {"bootstrap.servers": "SSL://127.0.0.1:9092"},
        {"bootstrap.servers": "localhost:notaport,a b"},
        {"topic.foo": 1},
        {"topic.acks": 1},
        {"topic.acks": 5000},
        {"topic.client.id": "x"},
        {"security.protocol": "ssl", "ssl.ca.location": "/nowhere"},
        {"security.protocol": "ssl", "ssl.certificate.location": "/nowhere"},
        {"security.protocol": "ssl", "ssl.key.location": "/nowhere"},
        {**IDEMPOTENT},
        {**IDEMPOTENT, "acks": 1},
        {**IDEMPOTENT, "acks": -1, "max.in.flight": 5},
        {**IDEMPOTENT, "max.in.flight": 6},
        {**IDEMPOTENT, "retries": 0},
        {**IDEMPOTENT, "queuing.strategy": "lifo"},
        {**IDEMPOTENT, "queue.buffering.backpressure.threshold": 2},
        {"retries": 0, "acks": 1},
        {"enable.gapless.guarantee": True},
        {**TRANSACTIONAL},
        {**TRANSACTIONAL, "enable.idempotence": False},
        {**TRANSACTIONAL, "acks": 1},
        {**TRANSACTIONAL, "message.timeout.ms": 60_001},
        {**TRANSACTIONAL, "message.timeout.ms": 60_000},
        {**TRANSACTIONAL, "transaction.timeout.ms": 1000},
        {**TRANSACTIONAL, "socket.timeout.ms": 60_101},
        {**TRANSACTIONAL, "acks": 1, "max.in.flight": 10, "reconnect.backoff.ms": 3_600_000},
        {**TRANSACTIONAL, "acks": 1, "reconnect.backoff.ms": 3_600_000},
        {"message.timeout.ms": 5, "linger.ms": 10},
        {"message.timeout.ms": 10, "linger.ms": 10},
        {"message.timeout.ms": 11, "linger.ms": 10},
        {"message.timeout.ms": 0, "linger.ms": 10},
        {"message.timeout.ms": 1},
        {"reconnect.backoff.ms": 200, "reconnect.backoff.max.ms": 100},
        {"reconnect.backoff.ms": 20_000},
        {"retry.backoff.ms": 2000},
        {**SASL, "sasl.mechanism": "PLAIN"},
        {**SASL, "sasl.mechanism": "PLAIN", **USER},
        {**SASL, "sasl.mechanism": "plain", **USER},
        {**SASL, "sasl.mechanism": "PLAIN", **USER, "sasl.username": ""},
        {**SASL, "sasl.mechanism": "SCRAM-SHA-256", **USER},
        {**SASL, "sasl.mechanism": "SCRAM-SHA-512"},
        {**SASL, "sasl.mechanism": "AWS_MSK_IAM"},
        {**SASL, "sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda _: ("token", 9e9)},
        {**SASL, "sasl.mechanism": "OAUTHBEARER", "enable.sasl.oauthbearer.unsecure.jwt": True},
        {
            **SASL,
            "sasl.mechanism": "OAUTHBEARER",
            "enable.sasl.oauthbearer.unsecure.jwt": True,
            "oauth_cb": print,
        },
        {"sasl.mechanism": "PLAIN"},
        {"sasl.username": "user"},
        {"sasl.oauthbearer.method": "oidc"},
        OIDC,
        {**OIDC, **URL},
        {**OIDC, **URL, "sasl.oauthbearer.client.id": "id"},
        {**OIDC, "enable.sasl.oauthbearer.unsecure.jwt": True},
        {"ssl.keystore.location": "/nowhere"},
        {"security.protocol": "ssl"},
        {"security.protocol": "ssl", "ssl.ca.location": "probe"},
        {"security.protocol": "ssl", "enable.ssl.certificate.verification": False},
        {"security.protocol": "ssl", "ssl.endpoint.identification.algorithm": "none"},
        {"ssl.ca.location": "/nowhere"},
        {"ssl.truststore.location": "/nowhere"},
        {"sasl.jaas.config": "x"},
        {"https.ca.location": "/nowhere"},
        {"https.ca.location": "/tmp", "https.ca.pem": "x"},
        {"https.ca.location": "probe"},
        {"partition.assignment.strategy": "foo"},
        {"partition.assignment.strategy": "range,cooperative-sticky"},
        {"partition.assignment.strategy": "cooperative-sticky"},
        {"partition.assignment.strategy": "range,, roundrobin"},
        {"partition.assignment.strategy": "RANGE"},
        {"partition.assignment.strategy": ","},
        {"group.protocol": "consumer"},
        {"group.protocol": "classic"},
        {"group.protocol": "consumer", "session.timeout.ms": 45_000},
        {"group.protocol": "consumer", "partition.assignment.strategy": "range"},
        {"group.protocol": "consumer", "heartbeat.interval.ms": 3000},
        {"group.protocol": "consumer", "group.protocol.type": "x"},
        {"group.protocol": "consumer", "group.remote.assignor": "uniform"},
        {"group.protocol.type": "x"},
        {"group.remote.assignor": "uniform"},
        {"group.instance.id": "instance"},
        {"max.poll.interval.ms": 44_999},
        {"max.poll.interval.ms": 45_000},
        {"session.timeout.ms": 400_000},
        {"session.timeout.ms": 1},
        {"heartbeat.interval.ms": 50_000},
        {"fetch.max.bytes": 999_999},
        {"fetch.max.bytes": 1_000_000},
        {"fetch.max.bytes": 200_000_000},
        {"fetch.max.bytes": 200_000_000, "receive.message.max.bytes": 1000},
        {"receive.message.max.bytes": 52_429_311},
        {"receive.message.max.bytes": 52_429_312},
        {"message.max.bytes": 100_000_000},
        {"fetch.min.bytes": 0},
        {"fetch.min.bytes": 100_000_001},
        {"fetch.min.bytes": 0, "fetch.max.bytes": 5, "session.timeout.ms": 999_999},
        {"fetch.max.bytes": 5, "session.timeout.ms": 999_999},
        {"fetch.max.bytes": 5, "reconnect.backoff.ms": 3_600_000},
        {"reconnect.backoff.ms": 3_600_000, "partition.assignment.strategy": "x"},
        {**SASL, "sasl.mechanism": "PLAIN", "partition.assignment.strategy": "x"},
        {"fetch.wait.max.ms": 60_000},
        {"socket.max.fails": 2},
        {"socket.max.fails": 1},
        {"isolation.level": "read_uncommitted"},
        {"auto.offset.reset": "error"},
        {"auto.offset.reset": "EARLIEST"},
        {"auto.commit.interval.ms": 0},
        {"share.acknowledgement.mode": "explicit"},
        {"share.acknowledgement.mode": "foo"},
        {"max.poll.records": 5},
        {"queued.min.messages": 5},
        {"queued.max.messages.kbytes": 5},
        {"fetch.queue.backoff.ms": 5},
        {"fetch.error.backoff.ms": 5},
        {"message.copy.max.bytes": 5},
        {"topic.blacklist": "x"},
        {"consume.callback.max.messages": 5},
        {"topic.metadata.refresh.interval.ms": -1},
        {"connections.max.idle.ms": 0},
        {"compression.type": "zstd", "compression.level": 5},
        {"socket.send.buffer.bytes": 65_536},
        {"broker.address.family": "v4"},
        {"client.rack": "rack"},
        {"enable.metrics.push": False},
    ],
    ids=lambda given: (
        ", ".join(f"{k}={v}" for k, v in given.items() if not isinstance(k, Unprintable))[:80]
        if isinstance(given, dict)
        and not any(isinstance(v, Unprintable) or callable(v) for v in given.values())
        else None
    ),
)
def test_a_configuration_is_taken_or_refused_as_by_the_real_package(
    kind: ClientKind, given: dict[Any, Any]
) -> None:
    theirs, ours = both(kind, {**BASE, **given})
    assert ours == theirs


@pytest.mark.parametrize("kind", ["producer", "consumer", "share_consumer"])
@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((None,), {}),
        ((5,), {}),
        (("x",), {}),
        (([],), {}),
        (({}, {}), {}),
        ((None,), {"logger": 5}),
        ((types.MappingProxyType(BASE),), {}),
        ((collections.OrderedDict(BASE),), {}),
        ((), BASE),
        (({},), BASE),
        ((BASE,), {"client.id": "x"}),
        ((BASE,), {"client_id": "x"}),
        ((BASE,), {"error_cb": 5}),
        (({"session.timeout.ms": "x"},), BASE),
        (({"bootstrap.servers": "127.0.0.1:1", "log_level": 0},), {"group_id": "x"}),
    ],
)
def test_arguments_are_taken_or_refused_as_by_the_real_package(
    kind: ClientKind, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    theirs, ours = both(kind, *args, **kwargs)
    assert ours == theirs


@pytest.mark.parametrize("kind", ["consumer", "share_consumer"])
@pytest.mark.parametrize("given", [{"foo": 1}, {"default.topic.config": {"group.id": "x"}}, {}])
def test_a_consumer_needs_a_group_before_anything_else_is_looked_at(
    kind: ClientKind, given: dict[str, Any]
) -> None:
    theirs, ours = both(kind, given)
    assert ours == theirs


def test_a_consumer_whose_group_has_no_name_is_refused() -> None:
    # librdkafka aborts the process.
    with pytest.raises(ValueError, match=r"group\.id must be set"):
        Configuration.parse("consumer", ({"group.id": ""},))


def parsed(kind: ClientKind, **given: Any) -> Configuration:
    named = {name.replace("_", "."): value for name, value in given.items()}
    return Configuration.parse(kind, ({**BASE, **named},))


def test_the_callers_dictionary_is_left_alone() -> None:
    given = {**BASE, "default.topic.config": {"acks": 1}, "plugin.library.paths": "", "error_cb": print}
    copy = dict(given)
    Configuration.parse("producer", (given,))
    assert given == copy


def test_callbacks_and_the_logger_are_taken_out() -> None:
    configuration = Configuration.parse("producer", ({**BASE, "error_cb": print},), {"logger": "logger"})
    assert (configuration.callbacks, configuration.logger) == ({"error_cb": print}, "logger")


def test_a_producer_without_settings_works_as_librdkafkas_does() -> None:
    config = load(ProducerConfig, parsed("producer").settings | {"bootstrap_servers": "localhost:9092"})
    assert config.client_id == "rdkafka"
    assert (config.acks, config.enable_idempotence, config.linger_ms) == ("all", False, 5)
    assert (config.partitioner, config.delivery_timeout_ms) == ("consistent_random", 300_000)
    assert (config.batch_size, config.max_request_size) == (1_000_000, 1_000_000)
    assert config.buffer_memory == 1 << 30


def test_a_consumer_without_settings_works_as_librdkafkas_does() -> None:
    config = load(ConsumerConfig, parsed("consumer").settings | {"bootstrap_servers": "localhost:9092"})
    assert (config.group_id, config.auto_offset_reset, config.isolation_level) == (
        "group",
        "latest",
        "read_committed",
    )
    assert config.partition_assignment_strategy == ("range", "roundrobin")
    assert (config.check_crcs, config.allow_auto_create_topics) == (False, False)
    assert (config.fetch_max_bytes, config.fetch_max_wait_ms) == (52_428_800, 500)


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"acks": 0}, "acks", "0"),
        ({"request.required.acks": "all"}, "acks", "all"),
        ({"compression.codec": "LZ4"}, "compression", "lz4"),
        ({"partitioner": "random"}, "partitioner_ignore_keys", True),
        ({"transactional.id": "x"}, "enable_idempotence", True),
        ({"transactional.id": "x"}, "delivery_timeout_ms", 60_000),
        ({"message.timeout.ms": 0}, "delivery_timeout_ms", 2**31 - 1),
        ({"message.timeout.ms": 3}, "linger_ms", 2),
        ({"delivery.timeout.ms": 1000}, "request_timeout_ms", 995),
        ({"connections.max.idle.ms": 5}, "connections_max_idle_ms", 5),
        ({"topic.metadata.refresh.interval.ms": -1}, "metadata_max_age_ms", 2**31 - 1),
        ({"max.in.flight": 1}, "max_in_flight_requests_per_connection", 1),
    ],
)
def test_a_property_becomes_a_setting_of_the_producer(given: dict[str, Any], name: str, value: Any) -> None:
    assert Configuration.parse("producer", ({**BASE, **given},)).settings[name] == value


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"auto.offset.reset": "smallest"}, "auto_offset_reset", "earliest"),
        ({"auto.offset.reset": "error"}, "auto_offset_reset", "none"),
        ({"auto.commit.interval.ms": 0}, "enable_auto_commit", False),
        ({"queued.max.messages.kbytes": 10}, "fetch_max_bytes", 1_000_000),
        ({"max.partition.fetch.bytes": 7}, "max_partition_fetch_bytes", 7),
        ({"partition.assignment.strategy": "roundrobin"}, "partition_assignment_strategy", ["roundrobin"]),
        (
            {"group.protocol": "consumer", "group.remote.assignor": "uniform"},
            "group_remote_assignor",
            "uniform",
        ),
        ({"session.timeout.ms": 2000}, "heartbeat_interval_ms", 1999),
        (
            {"security.protocol": "ssl", "ssl.endpoint.identification.algorithm": "none"},
            "ssl_endpoint_identification_algorithm",
            "",
        ),
        ({**SASL, "sasl.mechanisms": "PLAIN", **USER}, "security_protocol", "SASL_PLAINTEXT"),
        ({**SASL, "sasl.mechanisms": "PLAIN", **USER}, "sasl_username", "user"),
    ],
)
def test_a_property_becomes_a_setting_of_the_consumer(given: dict[str, Any], name: str, value: Any) -> None:
    assert Configuration.parse("consumer", ({**BASE, **given},)).settings[name] == value


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("a:1,b:2", ["a:1", "b:2"]),
        (" a , b:2 ,", ["a:9092", "b:2"]),
        ("[::1]:5,[::1],::1", ["[::1]:5", "[::1]:9092", "[::1]:9092"]),
        ("PLAINTEXT://a:1,SSL://b:2", ["a:1"]),
        ("", ["no-bootstrap-servers.invalid:9092"]),
    ],
)
def test_brokers_get_a_port_and_those_of_another_protocol_are_left_out(text: str, servers: list[str]) -> None:
    assert parsed("producer", bootstrap_servers=text).bootstrap_servers == servers


def test_a_password_shows_in_no_setting_of_a_client_that_does_not_authenticate() -> None:
    assert not any("password" in name for name in parsed("producer", sasl_password="x").settings)


def test_properties_that_mean_nothing_to_the_client_are_warned_of() -> None:
    given = {"retry_backoff_ms": 2000, "socket_blocking_max_ms": 5, "bootstrap_servers": ""}
    configuration = Configuration.parse(
        "producer", ({"group.id": "group", **{name.replace("_", "."): v for name, v in given.items()}},)
    )
    assert [(line.level, line.text[:60]) for line in configuration.warnings] == [
        (4, "Configuration property socket.blocking.max.ms is deprecated:"),
        (4, "Configuration property group.id is a consumer property and w"),
        (4, "Configuration `retry.backoff.ms` with value 2000 is greater "),
        (5, "No `bootstrap.servers` configured: client will not be able t"),
    ]


def test_clients_are_numbered_in_their_names() -> None:
    names = [parsed(kind).instance_name for kind in ("producer", "consumer", "admin")]
    assert [name.rpartition("-")[0] for name in names] == [
        "rdkafka#producer",
        "rdkafka#consumer",
        "rdkafka#producer",
    ]
    numbers = [int(name.rpartition("-")[2]) for name in names]
    assert numbers == [numbers[0], numbers[0] + 1, numbers[0] + 2]


def test_an_oauth_callback_gives_tokens_in_librdkafkas_way() -> None:
    asked: list[Any] = []

    def oauth_cb(config: Any) -> tuple[str, float, str, dict[str, str]]:
        asked.append(config)
        return "token", 4_000_000_000.5, "principal", {"a": "b"}

    given = {
        **BASE,
        **SASL,
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.config": "hello",
        "oauth_cb": oauth_cb,
    }
    source = Configuration.parse("consumer", (given,)).settings["sasl_oauthbearer_token_callback"]
    token = source()
    assert (token.value, token.expires_at_ms, token.extensions) == ("token", 4_000_000_000_500, {"a": "b"})
    assert asked == ["hello"]


def test_what_barnabas_refuses_is_a_configuration_error_too() -> None:
    refusal = InvalidSettingError("ssl_keystore_key: no key can be read there")
    error = parsed("producer").creation_error(refusal)
    assert isinstance(error, KafkaException)
    assert error.args[0].name() == "_INVALID_ARG"
    assert error.args[0].str() == f"Failed to create producer: {refusal}"
    error = parsed("share_consumer").creation_error(refusal)
    assert (type(error), str(error)) == (ValueError, f"Failed to create share consumer: {refusal}")


@pytest.mark.parametrize("kind", ["producer", "consumer", "share_consumer"])
def test_a_client_needs_a_configuration(kind: ClientKind) -> None:
    assert outcome_of(lambda: Configuration.parse(kind)) == outcome_of(lambda: REAL[kind]())


@pytest.mark.parametrize("protocol", ["sasl_plaintext", "sasl_ssl"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_extra_for_the_default_mechanism_is_named_where_it_is_missing(
    kind: ClientKind, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    conf = {**BASE, "security.protocol": protocol}
    said: list[str] = []
    for make in (MAKERS[kind], REAL[kind]):
        with pytest.raises((ValueError, KafkaException, confluent_kafka.KafkaException)) as raised:
            make(conf)
        error = raised.value.args[0]
        if kind != "share_consumer":
            assert error.name() == "_INVALID_ARG"
        said.append(error if kind == "share_consumer" else error.str())
    own, real = said
    beginning = real.partition("recompile")[0]
    assert beginning.endswith("No provider for SASL mechanism GSSAPI: ")
    assert own.startswith(beginning)
    assert "pip install 'barnabas[gssapi]'" in own
    assert "SCRAM-SHA-256" in own


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/tokens", "nonsense", "file:///etc/passwd"])
def test_a_url_of_tokens_that_is_of_no_http_server_is_named_by_its_property(url: str) -> None:
    name = "sasl.oauthbearer.token.endpoint.url"
    client = {"sasl.oauthbearer.client.id": "id", "sasl.oauthbearer.client.secret": "secret"}
    with pytest.raises(KafkaException, match=f"`{re.escape(name)}` must be .* not '{re.escape(url)}'"):
        made("producer", {**BASE, **OIDC, **client, name: url})

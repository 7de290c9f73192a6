from __future__ import annotations

import logging
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from barnabas.compat.kafka_engine.config.api_versions import known_version, version_of_text, version_spoken
from barnabas.compat.kafka_engine.config.client_settings import client_settings
from barnabas.compat.kafka_engine.config.merging import known, merged
from barnabas.compat.kafka_engine.config.servers import core_servers, hosts_in
from barnabas.compat.kafka_engine.generations import GENERATIONS
from barnabas.compat.kafka_engine.generations.settings import (
    ABSENT,
    PROVIDED,
    SETTINGS,
    UNKNOWN_SETTING_ERRORS,
    default_config,
)
from barnabas.credentials import OAuthBearerToken
from barnabas.errors import CredentialsError, InvalidSettingError
from barnabas.settings.table import ConsumerConfig, load

LOG = logging.getLogger("kafka.test")


class ConfigurationError(Exception):
    pass


def consumer_config(**given: Any) -> dict[str, Any]:
    defaults = default_config("KafkaConsumer", partition_assignment_strategy=(), kafka_client=None)
    return merged("KafkaConsumer", defaults, given, ConfigurationError)


def core_config(**given: Any) -> ConsumerConfig:
    return load(ConsumerConfig, client_settings(consumer_config(**given)))


@pytest.mark.parametrize("client", SETTINGS)
def test_every_default_is_told_for_each_generation_or_absent(client: str) -> None:
    for name, defaults in SETTINGS[client].items():
        assert len(defaults) == len(GENERATIONS), name
        assert any(default is not ABSENT for default in defaults), name


def test_defaults_leave_no_mark_of_the_table() -> None:
    config = consumer_config()
    assert not [name for name, value in config.items() if value is ABSENT or value is PROVIDED]
    assert config["client_id"] == "kafka-python-3.0.12"
    assert config["session_timeout_ms"] == 45000


def test_a_program_that_changes_a_list_of_the_defaults_changes_no_other_client() -> None:
    consumer_config()["socket_options"].clear()
    assert consumer_config()["socket_options"] == [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]


@pytest.mark.parametrize("client", UNKNOWN_SETTING_ERRORS)
def test_an_unknown_setting_is_refused_by_name(client: str) -> None:
    with pytest.raises((ConfigurationError, ValueError), match=r"Unrecognized configs: \{'no_such_setting'"):
        merged(client, {"bootstrap_servers": ""}, {"no_such_setting": 1}, ConfigurationError)


def test_a_class_below_takes_what_it_knows() -> None:
    assert known({"client_id": "a", "node_id": 0}, {"client_id": "b", "group_id": "c"}) == {
        "client_id": "b",
        "node_id": 0,
    }


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ("localhost", ["localhost:9092"]),
        ("a:1,b:2, c", ["a:1", "b:2", "c:9092"]),
        (["a:1", "10.0.0.1"], ["a:1", "10.0.0.1:9092"]),
        (("[::1]:99", "[::1]", "fe80::1"), ["[::1]:99", "[::1]:9092", "[fe80::1]:9092"]),
        ("PLAINTEXT://a:1,SSL://b", ["a:1", "b:9092"]),
        ("a:-1", ["a:9092"]),
        ([], ["no-bootstrap-servers.invalid:9092"]),
    ],
)
def test_servers_are_taken_in_every_form(servers: Any, expected: list[str]) -> None:
    assert core_servers(servers) == expected


def test_hosts_tell_their_address_family() -> None:
    assert hosts_in("1.2.3.4:5,[::1]:6,kafka:7") == [
        ("1.2.3.4", 5, socket.AF_INET),
        ("::1", 6, socket.AF_INET6),
        ("kafka", 7, socket.AF_UNSPEC),
    ]


def test_a_port_that_is_no_number_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="'abc'"):
        core_servers("localhost:abc")


def test_times_and_buffers_are_the_cores() -> None:
    config = core_config(
        retry_backoff_ms=7,
        reconnect_backoff_ms=9,
        reconnect_backoff_max_ms=5,
        request_timeout_ms=float("inf"),
        metadata_max_age_ms=12.5,
        connections_max_idle_ms=0,
        receive_buffer_bytes=4096,
        client_id=b"bytes",
    )
    assert (config.retry_backoff_ms, config.retry_backoff_max_ms) == (7, 7)
    assert (config.reconnect_backoff_ms, config.reconnect_backoff_max_ms) == (9, 9)
    assert config.request_timeout_ms == 2**31 - 1
    assert config.metadata_max_age_ms == 12
    assert config.connections_max_idle_ms == -1
    assert (config.receive_buffer_bytes, config.send_buffer_bytes) == (4096, -1)
    assert config.client_id == "bytes"
    assert not config.enable_metrics_push


def test_a_context_of_the_program_is_used_as_it_is() -> None:
    context = ssl.create_default_context()
    assert core_config(security_protocol="SSL", ssl_context=context).ssl_context is context


def test_tls_settings_make_a_context(tmp_path: Path) -> None:
    context = core_config(
        security_protocol="SSL", ssl_check_hostname=False, ssl_ciphers="ECDHE-RSA-AES256-GCM-SHA384"
    ).ssl_context
    assert context is not None
    assert not context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert "ECDHE-RSA-AES256-GCM-SHA384" in {cipher["name"] for cipher in context.get_ciphers()}
    with pytest.raises(FileNotFoundError):
        core_config(security_protocol="SSL", ssl_cafile=str(tmp_path / "nowhere"))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_users_and_passwords_are_the_cores(mechanism: str) -> None:
    given = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism}
    config = core_config(**given, sasl_plain_username="me", sasl_plain_password="secret")
    assert (config.sasl_mechanism, config.sasl_username) == (mechanism, "me")
    assert config.sasl_password is not None
    assert config.sasl_password.reveal() == "secret"
    with pytest.raises(InvalidSettingError, match="sasl_plain_password required for"):
        core_config(**given, sasl_plain_username="me")


@pytest.mark.parametrize(
    ("given", "service", "host"),
    [
        ({}, "kafka", None),
        ({"sasl_kerberos_domain_name": "kafka.example"}, "kafka", "kafka.example"),
        ({"sasl_kerberos_name": "broker@example"}, "broker", "example"),
        ({"sasl_kerberos_name": "broker/example@REALM"}, "broker", "example"),
    ],
)
def test_kerberos_names_the_service_and_its_host(
    given: dict[str, str], service: str, host: str | None
) -> None:
    config = core_config(security_protocol="SASL_PLAINTEXT", sasl_mechanism="GSSAPI", **given)
    assert (config.sasl_kerberos_service_name, config.sasl_kerberos_host) == (service, host)


class Provider:
    def token(self) -> str:
        return "abc"

    def extensions(self) -> dict[str, str]:
        return {"traceId": "1"}


def failing() -> str:
    raise RuntimeError("no token today")


def tokens_of(provider: Any) -> Any:
    config = core_config(
        security_protocol="SASL_PLAINTEXT", sasl_mechanism="OAUTHBEARER", sasl_oauth_token_provider=provider
    )
    assert config.sasl_oauthbearer_token_callback is not None
    return config.sasl_oauthbearer_token_callback()


def test_tokens_come_from_the_provider() -> None:
    assert tokens_of(Provider()) == OAuthBearerToken("abc", extensions={"traceId": "1"})
    assert tokens_of(lambda: "def") == OAuthBearerToken("def")


def test_a_provider_that_fails_says_so() -> None:
    with pytest.raises(CredentialsError, match="no token today"):
        tokens_of(failing)


@pytest.mark.parametrize("provider", [None, object()])
def test_what_gives_no_tokens_is_refused(provider: Any) -> None:
    with pytest.raises(InvalidSettingError, match="sasl_oauth_token_provider"):
        tokens_of(provider)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"security_protocol": "TLS"},
            "security_protocol must be in PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
        ),
        ({"security_protocol": "SASL_SSL"}, "sasl_mechanism must be in"),
        (
            {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "AWS_MSK_IAM"},
            "AWS_MSK_IAM requires SASL_SSL",
        ),
    ],
)
def test_security_that_cannot_be_is_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidSettingError, match=message):
        core_config(**given)


def test_a_version_is_the_nearest_that_is_known(caplog: pytest.LogCaptureFixture) -> None:
    assert known_version((2, 6), LOG) == (2, 6)
    assert not caplog.records
    assert known_version((0, 10), LOG) == (0, 10, 0)
    assert "Configured api_version (0, 10) is ambiguous; using (0, 10, 0)" in caplog.text
    assert known_version((9, 9), LOG) == (4, 3)
    assert "Configured api_version (9, 9) not supported; using (4, 3)" in caplog.text
    assert known_version((0, 7), LOG) is None
    with pytest.raises(TypeError, match="api_version must be tuple"):
        known_version(3, LOG)


def test_a_version_as_text_is_taken_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert version_of_text("auto", LOG) is None
    assert version_of_text("0.10.2", LOG) == (0, 10, 2)
    assert 'use api_version=(0, 10, 2) [tuple] -- "0.10.2" as str is deprecated' in caplog.text


def test_a_version_shows_in_what_brokers_speak() -> None:
    assert version_spoken({35: (1, 5), 1: (4, 18)}) == (4, 3)
    assert version_spoken({0: (0, 9), 1: (0, 12)}) == (2, 8)
    assert version_spoken({18: (0, 0)}) == (0, 10, 0)

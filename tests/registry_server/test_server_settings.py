"""Settings by the names of Confluent's configuration file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.errors import InvalidSettingError, UnknownSettingError
from barnabas.registry_server.entities import LEVELS
from barnabas.registry_server.journal.group import GroupTimes
from barnabas.registry_server.journal.kafka import JournalSettings
from barnabas.registry_server.settings import ServerSettings, TlsSettings, settings_from


def test_a_file_of_confluents_is_understood() -> None:
    assert settings_from(
        {
            "listeners": "http://0.0.0.0:8085",
            "host.name": "sr1.example",
            "kafkastore.bootstrap.servers": "SASL_SSL://kafka1:9092,SASL_SSL://kafka2:9092",
            "kafkastore.sasl.mechanism": "PLAIN",
            "kafkastore.topic": "_my_schemas",
            "kafkastore.topic.replication.factor": "2",
            "kafkastore.timeout.ms": "700",
            "schema.registry.group.id": "my-registries",
            "leader.eligibility": "false",
            "kafkagroup.session.timeout.ms": "7000",
            "debug": "false",
        }
    ) == ServerSettings(
        client={
            "bootstrap_servers": "kafka1:9092,kafka2:9092",
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "PLAIN",
        },
        host="0.0.0.0",
        port=8085,
        host_name="sr1.example",
        group_id="my-registries",
        is_eligible=False,
        journal=JournalSettings("_my_schemas", 2, 700),
        times=GroupTimes(7000),
    )


def test_nothing_is_needed() -> None:
    assert settings_from({}) == ServerSettings()


def test_https_takes_files_in_pem() -> None:
    found = settings_from(
        {
            "listeners": "https://sr1:8443",
            "ssl.certificate.location": "/c.pem",
            "ssl.key.location": "/k.pem",
            "ssl.ca.location": "/ca.pem",
            "ssl.client.authentication": "required",
        }
    )
    assert found.tls == TlsSettings(Path("/c.pem"), Path("/k.pem"), None, Path("/ca.pem"), "REQUIRED")
    assert (found.host, found.port) == ("sr1", 8443)


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"listeners": "http://a:1,http://b:2"}, "a registry listens on one"),
        ({"listeners": "a:1"}, "is not of the form http://host:8081"),
        ({"listeners": "http://a"}, "is not of the form"),
        ({"listeners": "http://a:99999"}, "is not of the form"),
        ({"listeners": "https://a:1"}, "ssl.certificate.location"),
        ({"listeners": "http://a:1", "ssl.certificate.location": "c"}, "https"),
        ({"ssl.key.location": "k"}, "TLS needs ssl.certificate.location"),
        ({"ssl.certificate.location": "c", "ssl.client.authentication": "REQUIRED"}, "ssl.ca.location"),
        ({"ssl.certificate.location": "c", "ssl.client.authentication": "maybe"}, "MAYBE"),
        ({"kafkastore.timeout.ms": "soon"}, "kafkastore.timeout.ms=soon"),
        ({"kafkastore.topic.replication.factor": "0"}, "kafkastore.topic.replication.factor=0"),
        ({"leader.eligibility": "perhaps"}, "leader.eligibility=perhaps"),
        ({"authentication.method": "BASIC"}, "authentication.users.file"),
        ({"authentication.method": "DIGEST"}, "DIGEST"),
    ],
)
def test_what_cannot_be_is_named(properties: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidSettingError, match=said):
        settings_from(properties)


def test_a_name_that_means_nothing_is_an_error() -> None:
    with pytest.raises(UnknownSettingError, match=r"no\.such\.setting"):
        settings_from({"no.such.setting": "1"})


def test_levels_modes_and_sizes_of_confluents_file_are_taken() -> None:
    found = settings_from(
        {
            "schema.compatibility.level": "full_transitive",
            "mode.mutability": "false",
            "size.limit.filter.max.request.body.size": "1000",
        }
    )
    assert (found.default_level, found.modes_change, found.largest_body_bytes) == (
        "FULL_TRANSITIVE",
        False,
        1000,
    )
    with pytest.raises(InvalidSettingError, match=r"schema\.compatibility\.level=sideways"):
        settings_from({"schema.compatibility.level": "sideways"})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kafkastore.connection.url", "kafkastore.bootstrap.servers"),
        ("ssl.keystore.location", "ssl.certificate.location"),
        ("ssl.truststore.password", "ssl.ca.location"),
        ("metadata.encoder.secret", "keep secrets out"),
        ("resource.extension.class", "authentication.users.file"),
        ("response.http.headers.config", "a proxy"),
    ],
)
def test_what_confluents_file_has_and_this_has_not_is_told_with_what_to_do(name: str, said: str) -> None:
    with pytest.raises(InvalidSettingError, match=f"{name} here: .*{said}"):
        settings_from({name: "x"})


def test_what_has_no_effect_is_taken_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    names = ("schema.cache.size", "kafkastore.checkpoint.dir")
    assert settings_from(dict.fromkeys(names, "5")) == ServerSettings()
    assert [record.getMessage() for record in caplog.records] == [
        f"{name}=5 has no effect here" for name in sorted(names)
    ]


NAMES = sorted(
    {
        *("listeners", "host.name", "mode.mutability", "schema.compatibility.level", "kafkastore.timeout.ms"),
        *("kafkastore.bootstrap.servers", "ssl.certificate.location", "ssl.client.authentication", "port"),
        *("size.limit.filter.max.request.body.size", "authentication.method", "schema.cache.size", "x"),
    }
)


@given(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=20) | st.sampled_from(["1", "true", "NONE"])))
def test_whatever_a_file_says_it_is_taken_or_one_clear_error(properties: dict[str, str]) -> None:
    said = ""
    try:
        found = settings_from(properties)
    except (InvalidSettingError, UnknownSettingError) as error:
        said = str(error)
    else:
        assert found.largest_body_bytes > 0
        assert found.default_level in LEVELS
        return
    assert any(name in said for name in (*properties, "TLS", "users.file", "ssl.ca.location"))

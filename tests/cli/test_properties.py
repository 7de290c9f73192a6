"""Properties files are read as Java reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.options import client_settings, registry_settings
from barnabas.cli.properties import read_properties
from barnabas.errors import InvalidSettingError
from barnabas.settings.table import AdminConfig, CommonConfig, ConsumerConfig, ProducerConfig


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=1\nb = 2 \nc:3\nd 4\n", {"a": "1", "b": "2 ", "c": "3", "d": "4"}),
        ("# no\n! no\n   # no\n\n  a = 1", {"a": "1"}),
        ("a=1\\\n   2\\\n\t3\nb=4", {"a": "123", "b": "4"}),
        ("a=one\\\\\nb=2", {"a": "one\\", "b": "2"}),
        ("a=x=y:z", {"a": "x=y:z"}),
        (r"a\=b\:c=d\te\u00e9", {"a=b:c": "d\teé"}),
        ("a=1\na=2", {"a": "2"}),
        ("empty", {"empty": ""}),
        (
            'j=P required \\\n  username="u" \\\n  password="p#1";',
            {"j": 'P required username="u" password="p#1";'},
        ),
    ],
)
def test_a_file_is_read_as_java_reads_it(tmp_path: Path, text: str, pairs: dict[str, str]) -> None:
    path = tmp_path / "client.properties"
    path.write_text(text)
    assert read_properties(path) == pairs


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidSettingError, match=r"client\.properties' cannot be read as a properties file"):
        read_properties(path)


@pytest.mark.parametrize(
    ("config_type", "expected"),
    [
        (AdminConfig, {}),
        (ProducerConfig, {"linger_ms": "5", "compression_type": "lz4"}),
        (ConsumerConfig, {"group_id": "g"}),
    ],
)
def test_one_file_serves_all_kinds_of_clients(
    tmp_path: Path, config_type: type[CommonConfig], expected: dict[str, Any]
) -> None:
    path = tmp_path / "client.properties"
    path.write_text("linger.ms=5\ngroup.id=g\nclient.id=me\ncompression.type=lz4\nno.such.setting=1\n")
    settings = client_settings(config_type, None, path, ["client.id=you"])
    common = {"client_id": "you", "no_such_setting": "1", "default_api_timeout_ms": 15_000}
    assert settings == {**common, "bootstrap_servers": "localhost:9092", **expected}


def test_the_command_line_names_the_brokers_before_the_file(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("bootstrap.servers=file:1\n")
    assert client_settings(AdminConfig, None, path, None)["bootstrap_servers"] == "file:1"
    assert client_settings(AdminConfig, "given:2", path, None)["bootstrap_servers"] == "given:2"


def test_what_only_java_knows_is_left_out_with_one_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "client.properties"
    path.write_text("value.serializer=org.x.S\nmetric.reporters=\nclient.id=me\nsasl.login.class=org.x.L\n")
    for kind in (AdminConfig, ProducerConfig):
        assert client_settings(kind, None, path, None).keys() == {
            "client_id",
            "bootstrap_servers",
            "default_api_timeout_ms",
        }
    assert capsys.readouterr().err == (
        "warning: left out, as only Java's clients know them: metric.reporters, sasl.login.class, "
        "value.serializer\n"
    )


def test_librdkafkas_names_are_taken_and_what_only_it_knows_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kcat.conf"
    path.write_text(
        "metadata.broker.list=file:1\nsasl.username=u\nqueue.buffering.max.ms=5\nmax.in.flight=2\n"
        "log_level=7\nsocket.keepalive.enable=true\n"
    )
    settings = client_settings(ProducerConfig, None, path, ["request.required.acks=1"])
    assert settings == {
        "bootstrap_servers": "file:1",
        "default_api_timeout_ms": 15_000,
        "sasl_username": "u",
        "linger_ms": "5",
        "max_in_flight_requests_per_connection": "2",
        "acks": "1",
    }
    assert capsys.readouterr().err == (
        "warning: left out, as only librdkafka knows them: log_level, socket.keepalive.enable\n"
    )
    path.write_text(
        "metadata.broker.list=old:1\nbootstrap.servers=new:1\nsecurity.providers=x\nlog_level=1\n"
    )
    assert client_settings(AdminConfig, None, path, None)["bootstrap_servers"] == "new:1"
    told = capsys.readouterr().err
    assert told == (
        "warning: left out, as only Java's clients and librdkafka know them: log_level, security.providers\n"
    )


CLOUD = """
bootstrap.servers=kafka:9092
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";
schema.registry.url=https://registry
basic.auth.credentials.source={source}
basic.auth.user.info=KEY:SECRET
"""


@pytest.mark.parametrize(
    ("source", "user_info"), [("USER_INFO", "KEY:SECRET"), ("URL", "KEY:SECRET"), ("SASL_INHERIT", "u:p")]
)
def test_a_registrys_lines_of_confluent_clouds_file_are_the_registrys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, user_info: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "client.properties"
    file.write_text(CLOUD.format(source=source))
    assert registry_settings(file, None) == ("https://registry", {"basic_auth_user_info": user_info})
    assert not [name for name in client_settings(ConsumerConfig, None, file, None) if "auth" in name]


def test_a_source_of_credentials_that_is_not_known_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "client.properties"
    file.write_text("basic.auth.credentials.source=VAULT\n")
    with pytest.raises(InvalidSettingError, match="URL, USER_INFO or SASL_INHERIT, not 'VAULT'"):
        registry_settings(file, None)
    file.write_text("basic.auth.credentials.source=SASL_INHERIT\n")
    with pytest.raises(InvalidSettingError, match=r"needs sasl\.jaas\.config, or sasl\.username"):
        registry_settings(file, None)

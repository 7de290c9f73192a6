from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from barnabas.credentials import Secret
from barnabas.errors import InvalidSettingError, UnknownSettingError
from barnabas.settings import keywords as settings
from barnabas.settings import table
from barnabas.settings.table import (
    ALIASES,
    SERIALIZERS,
    AdminConfig,
    CommonConfig,
    ConsumerConfig,
    ProducerConfig,
    ShareConsumerConfig,
    from_properties,
    load,
    names,
    parse_server,
    reset_duration_ms,
)

CONFIGS = [CommonConfig, ProducerConfig, ConsumerConfig, ShareConsumerConfig, AdminConfig]


def producer(**given: Any) -> ProducerConfig:
    return load(ProducerConfig, {"bootstrap_servers": "host:9092", **given})


def test_defaults_hold_where_nothing_is_given() -> None:
    config = producer()
    assert config == ProducerConfig(bootstrap_servers=("host:9092",))
    assert config.enable_idempotence
    assert config.acks == "all"


def test_an_unknown_setting_names_the_nearest_one() -> None:
    with pytest.raises(UnknownSettingError, match=r"'lingerms'; did you mean 'linger_ms'"):
        producer(lingerms=5)
    with pytest.raises(UnknownSettingError, match=r"unknown setting 'zzzzzz'$"):
        producer(zzzzzz=5)


def test_a_setting_of_another_client_is_told_as_such() -> None:
    with pytest.raises(UnknownSettingError) as raised:
        producer(group_id="g")
    assert str(raised.value) == ("unknown setting 'group_id': it is a consumer's setting, not a producer's")


def test_the_nearest_setting_may_be_another_clients() -> None:
    with pytest.raises(UnknownSettingError) as raised:
        producer(max_poll_recs=5)
    assert str(raised.value) == (
        "unknown setting 'max_poll_recs'; did you mean 'max_poll_records', which is a consumer's setting?"
    )
    with pytest.raises(UnknownSettingError, match="did you mean 'compression', which is a producer's"):
        load(ConsumerConfig, {"bootstrap_servers": "host:9092", "compresion": "zstd"})


def test_a_serializer_is_a_function() -> None:
    with pytest.raises(InvalidSettingError, match="value_serializer must be a function, such as"):
        producer(value_serializer="org.apache.kafka.common.serialization.StringSerializer")
    with pytest.raises(UnknownSettingError, match="'key_deserializer': it is a consumer's setting"):
        producer(key_deserializer=bytes.decode)


def test_a_deserializer_that_has_to_be_awaited_says_what_to_do() -> None:
    class Awaited:
        is_awaited = True

        def __call__(self) -> None: ...

    with pytest.raises(InvalidSettingError, match=r"await deserializer.value_of\(record\)"):
        load(ConsumerConfig, {"bootstrap_servers": "host:9092", "value_deserializer": Awaited()})


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"linger_ms": -1}, "linger_ms must be at least 0, not -1"),
        ({"linger_ms": "soon"}, "linger_ms must be a number, not 'soon'"),
        ({"linger_ms": float("nan")}, "linger_ms"),
        ({"batch_size": 1.5}, "batch_size must be a whole number, not 1.5"),
        ({"batch_size": True}, "batch_size must be a whole number, not True"),
        ({"compression": "brotli"}, "compression must be one of none, gzip, snappy, lz4, zstd, not 'brotli'"),
        ({"acks": 2}, "acks must be one of"),
        ({"enable_idempotence": "maybe"}, "enable_idempotence must be true or false"),
        ({"client_id": 7}, "client_id must be a string"),
        ({"compression": "gzip", "compression_type": "lz4"}, "'compression' is given twice"),
        ({"acks": 1, "enable_idempotence": True}, "enable_idempotence needs acks='all'"),
        ({"retries": 0, "enable_idempotence": True}, "enable_idempotence needs retries"),
        (
            {"max_in_flight_requests_per_connection": 6, "enable_idempotence": True},
            "max_in_flight_requests_per_connection <= 5",
        ),
        ({"delivery_timeout_ms": 10}, "delivery_timeout_ms must be at least linger_ms"),
        ({"bootstrap_servers": ""}, "bootstrap_servers is missing"),
        ({"bootstrap_servers": "host"}, "'host' is not host:port"),
        ({"bootstrap_servers": "host:99999"}, "'host:99999' is not host:port"),
    ],
)
def test_a_value_that_cannot_work_is_refused_by_name(given: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidSettingError, match=match.replace("(", r"\(")):
        producer(**given)


@pytest.mark.parametrize(
    "given", [{"acks": 1}, {"acks": "0"}, {"retries": 0}, {"max_in_flight_requests_per_connection": 6}]
)
def test_idempotence_gives_way_to_a_setting_that_contradicts_it(given: dict[str, Any]) -> None:
    assert not producer(**given).enable_idempotence


def test_the_delivery_timeout_grows_with_the_time_outs_in_it_unless_it_is_given() -> None:
    assert producer(request_timeout_ms=300_000).delivery_timeout_ms == 300_005


def test_strings_of_a_properties_file_are_taken() -> None:
    properties = {"bootstrap.servers": "a:1, b:2", "linger.ms": "0.5", "enable.idempotence": "TRUE"}
    config = load(ProducerConfig, from_properties(properties))
    assert config.bootstrap_servers == ("a:1", "b:2")
    assert config.linger_ms == 0.5
    assert config.enable_idempotence is True


@pytest.mark.parametrize(
    ("server", "parts"),
    [
        ("host:9092", ("host", 9092)),
        ("PLAINTEXT://host:9092", ("host", 9092)),
        ("[::1]:9092", ("::1", 9092)),
    ],
)
def test_a_server_is_a_host_and_a_port(server: str, parts: tuple[str, int]) -> None:
    assert parse_server(server) == parts


@pytest.mark.parametrize("config_type", CONFIGS)
def test_every_setting_is_read_somewhere(config_type: Any) -> None:
    package = Path(table.__file__).parents[1]
    sources = [path for part in ("client", "net", "sync") for path in (package / part).rglob("*.py")]
    read = {name for path in sources for name in re.findall(r"\.(\w+)", path.read_text())}
    read_by_the_table = set(re.findall(r"self\.(\w+)", Path(table.__file__).read_text()))
    assert set(names(config_type)) - read - read_by_the_table == set()


@pytest.mark.parametrize("config_type", CONFIGS)
def test_every_setting_says_what_it_is_and_has_a_default_in_its_range(config_type: Any) -> None:
    for field in dataclasses.fields(config_type):
        assert field.metadata["doc"].endswith("."), field.name
        low = field.metadata["low"]
        assert low is None or field.default is None or field.default >= low, field.name


@pytest.mark.parametrize(
    ("config_type", "typed"),
    [
        (CommonConfig, settings.CommonSettings),
        (ProducerConfig, settings.ProducerSettings),
        (ConsumerConfig, settings.ConsumerSettings),
        (ShareConsumerConfig, settings.ShareConsumerSettings),
        (AdminConfig, settings.AdminSettings),
    ],
)
def test_the_typed_keyword_arguments_are_those_of_the_table(config_type: Any, typed: Any) -> None:
    # These two are parameters of their own.
    named = set(names(config_type)) - {"bootstrap_servers", "group_id"}
    hints = get_type_hints(typed)
    assert set(hints) - set(ALIASES) == named
    fields = get_type_hints(config_type)
    looser = {"acks", "partitioner", *SERIALIZERS} | {
        n for n in named if get_origin(fields[n]) is tuple or Secret in get_args(fields[n])
    }
    assert {n: hints[n] for n in named - looser} == {n: fields[n] for n in named - looser}


@pytest.mark.parametrize(
    ("reset", "duration_ms"),
    [
        ("by_duration:PT1H30M", 5_400_000),
        ("by_duration:P2DT0.25S", 172_800_250),
        ("BY_DURATION:pt0s", 0),
        ("earliest", None),
        ("None", None),
    ],
)
def test_a_reset_may_go_back_by_a_duration(reset: str, duration_ms: int | None) -> None:
    config = load(ConsumerConfig, {"bootstrap_servers": "host:9092", "auto_offset_reset": reset})
    assert config.auto_offset_reset == reset.lower()
    assert reset_duration_ms(config.auto_offset_reset) == duration_ms


@pytest.mark.parametrize(
    "reset",
    [
        "middle",
        "by_duration",
        "by_duration:",
        "by_duration:P",
        "by_duration:PT",
        "by_duration:-PT1H",
        "PT1H",
        "by_duration:P99999999999D",
        7,
    ],
)
def test_a_reset_that_is_none_says_what_there_is(reset: object) -> None:
    with pytest.raises(InvalidSettingError, match="auto_offset_reset must be"):
        load(ConsumerConfig, {"bootstrap_servers": "host:9092", "auto_offset_reset": reset})

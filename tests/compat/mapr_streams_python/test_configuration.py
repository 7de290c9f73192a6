"""What clients of `mapr_streams_python` are made with, and what the module says of itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.compat import mapr_streams_python as mapr
from barnabas.compat.mapr_streams_python import Consumer, KafkaException, Producer

MAKERS: list[Callable[..., Any]] = [Producer, Consumer]


def brokers(client: Any, told: list[str]) -> list[str]:
    """What the statistics name."""
    while not told:
        client.poll(0.05)
    client.close()
    return sorted(broker.partition("/")[0] for broker in json.loads(told[0])["brokers"])


def made(make: Callable[..., Any], *conf: dict[str, Any], **kwargs: Any) -> list[str]:
    told: list[str] = []
    watched = {"statistics.interval.ms": 50, "stats_cb": told.append}
    group = {"group.id": "g"} if make is Consumer else {}
    return brokers(make({**watched, **group, **conf[0]}, **kwargs), told)


def test_versions_are_a_text_and_a_number() -> None:
    # As programs of that time write it.
    shown = "%s (0x%x)"
    assert shown % mapr.version() == "0.11.3 (0xb0300)"
    assert shown % mapr.libversion() == "0.11.3 (0xb03ff)"


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((), "expected configuration dict"),
        ((None,), "expected configuration dict"),
        (("conf",), "expected configuration dict"),
        (({}, {}), "expected tuple containing single dict"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("servers", [None, "127.0.0.1:1"])
def test_a_client_needs_a_configuration(
    make: Callable[..., Any],
    args: tuple[Any, ...],
    text: str,
    servers: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if servers is not None:
        monkeypatch.setenv("BARNABAS_BOOTSTRAP_SERVERS", servers)
    with pytest.raises(TypeError, match=f"^{text}$"):
        make(*args)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.integration
def test_None_for_brokers_is_as_none(make: Callable[..., Any]) -> None:
    assert made(make, {"bootstrap.servers": None}) == made(make, {})
    conf = {"bootstrap.servers": "127.0.0.1:1"}
    assert "127.0.0.1:1" in made(make, conf)
    later = {"bootstrap.servers": None}
    assert made(make, conf, **later) == made(make, {})
    assert made(make, {**conf, "default.topic.config": later}) == made(make, {})
    assert made(make, {**conf, "metadata.broker.list": None}) == made(make, {})


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.integration
def test_None_for_brokers_leaves_those_of_the_environment(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BARNABAS_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    for unset in ({"bootstrap.servers": None}, {"metadata.broker.list": None, "bootstrap.servers": None}):
        assert "127.0.0.1:1" in made(make, unset)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "name", ["streams.consumer.default.stream", "streams.producer.default.stream", "streams.topic.naming"]
)
@pytest.mark.integration
def test_None_for_what_only_streams_have_is_as_none(make: Callable[..., Any], name: str) -> None:
    assert made(make, {name: None}) == made(make, {})


@pytest.mark.parametrize("make", MAKERS)
def test_None_for_a_number_is_refused(make: Callable[..., Any]) -> None:
    with pytest.raises(KafkaException, match="cannot be set to empty value"):
        make({"group.id": "g", "socket.timeout.ms": None})

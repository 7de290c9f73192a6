"""The settings of the broker and of topics, and the requests that show and change them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barnabas import Admin, ConfigResource, ResourceType
from barnabas.broker.configs.broker_values import BrokerSettings
from barnabas.broker.configs.setting_kinds import SettingSource
from barnabas.broker.settings import TopicSettings
from barnabas.broker_errors import ErrorCode, InvalidConfigError
from barnabas.protocol.messages.alter_configs import AlterConfigsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.testing import EmbeddedBroker

from .conftest import batch_of
from .in_process import Client, run

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)


async def describe(client: Client, kind: int, name: str, *keys: str) -> dict[str, tuple[str, int]]:
    resource = DescribeConfigsRequest.DescribeConfigsResource(kind, name, list(keys) or None)
    response = await client.send(DescribeConfigsRequest([resource]))
    assert response.results[0].error_code == 0, response.results[0].error_message
    return {config.name: (config.value, config.config_source) for config in response.results[0].configs}


async def change(client: Client, kind: int, name: str, *changes: tuple[str, int, str | None]) -> Any:
    configs = [IncrementalAlterConfigsRequest.AlterableConfig(*each) for each in changes]
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(kind, name, configs)
    return (await client.send(IncrementalAlterConfigsRequest([resource]))).responses[0]


def test_a_topic_falls_back_to_the_broker_and_then_to_the_default() -> None:
    broker = BrokerSettings({"log.segment.bytes": "5000", "log.retention.hours": "2"})
    topic = TopicSettings({"retention.bytes": "7"}, broker)
    assert topic.get("retention.bytes").source is SettingSource.TOPIC
    assert (topic.number("segment.bytes"), topic.number("retention.ms")) == (5_000, 7_200_000)
    assert topic.get("max.message.bytes").source is SettingSource.DEFAULT
    assert topic.number("max.message.bytes") == 1_048_588


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log.segment.bytes", "10"),
        ("num.partitions", "0"),
        ("log.cleanup.policy", "remove"),
        ("auto.create.topics.enable", "yes"),
        ("log.cleaner.min.cleanable.ratio", "1.5"),
        ("compression.type", "rar"),
        ("message.max.bytes", "99999999999"),
    ],
)
def test_values_outside_a_setting_are_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InvalidConfigError, match=f"Invalid value {value} for configuration {name}: "):
        BrokerSettings({name: value})


@pytest.mark.integration
def test_a_change_holds_at_once_and_after_a_restart(tmp_path: Path) -> None:
    async def before(client: Client) -> None:
        await client.create_topic("t")
        assert (await client.produce("t", batch_of([(None, bytes(500))]))).error_code == 0
        assert (await change(client, TOPIC, "t", ("max.message.bytes", SET, "100"))).error_code == 0
        produced = await client.produce("t", batch_of([(None, bytes(500))]))
        assert produced.error_code == ErrorCode.MESSAGE_TOO_LARGE

    async def after(client: Client) -> None:
        found = await describe(client, TOPIC, "t", "max.message.bytes")
        assert found == {"max.message.bytes": ("100", SettingSource.TOPIC)}
        assert (await change(client, TOPIC, "t", ("max.message.bytes", DELETE, None))).error_code == 0
        assert (await client.produce("t", batch_of([(None, bytes(500))]))).error_code == 0

    run(tmp_path, before)
    run(tmp_path, after)


@pytest.mark.integration
def test_a_change_of_the_broker_holds_for_topics_that_say_nothing(tmp_path: Path) -> None:
    async def before(client: Client) -> None:
        await client.create_topic("own", retention_ms="5")
        await client.create_topic("default")
        assert (await change(client, BROKER, "", ("log.retention.ms", SET, "9"))).error_code == 0
        assert (await change(client, BROKER, "1", ("log.retention.bytes", SET, "7"))).error_code == 0

    async def after(client: Client) -> None:
        assert await describe(client, TOPIC, "own", "retention.ms") == {"retention.ms": ("5", 1)}
        of_default = await describe(client, TOPIC, "default", "retention.ms", "retention.bytes")
        assert of_default == {"retention.ms": ("9", 3), "retention.bytes": ("7", 2)}
        of_all = await describe(client, BROKER, "")
        assert of_all == {"log.retention.ms": ("9", 3), "min.insync.replicas": ("1", 3)}

    run(tmp_path, before)
    run(tmp_path, after)


@pytest.mark.integration
def test_what_is_set_of_one_node_is_told_of_that_node_alone() -> None:
    first, second = (ConfigResource(ResourceType.BROKER, name) for name in "12")
    name = "max.connections"
    with EmbeddedBroker(nodes=2) as broker, Admin(broker.bootstrap) as admin:
        admin.alter_configs({second: {name: "50"}})
        told = admin.describe_configs([first, second])
        assert (told[first][name].value, told[second][name].value) == ("2147483647", "50")
        assert [told[each]["node.id"].value for each in (first, second)] == ["1", "2"]


@pytest.mark.integration
def test_lists_can_be_added_to_and_taken_from(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")

        async def policy() -> str:
            return (await describe(client, TOPIC, "t", "cleanup.policy"))["cleanup.policy"][0]

        await change(client, TOPIC, "t", ("cleanup.policy", APPEND, "compact"))
        assert await policy() == "delete,compact"
        await change(client, TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete"))
        assert await policy() == "compact"
        refused = await change(client, TOPIC, "t", ("retention.ms", APPEND, "1"))
        assert refused.error_code == ErrorCode.INVALID_CONFIG
        assert "Can't APPEND to key retention.ms because its type is not LIST." in refused.error_message

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("kind", "name", "changed", "code", "text"),
    [
        (TOPIC, "t", ("retention.m", SET, "1"), ErrorCode.INVALID_CONFIG, "did you mean retention.ms?"),
        (TOPIC, "t", ("retention.ms", SET, "soon"), ErrorCode.INVALID_CONFIG, "Not a number of type LONG"),
        (
            TOPIC,
            "x",
            ("retention.ms", SET, "1"),
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "The topic 'x' does not exist.",
        ),
    ],
)
@pytest.mark.integration
def test_changes_that_cannot_be_are_refused_with_a_reason(
    tmp_path: Path, kind: int, name: str, changed: tuple[str, int, str], code: ErrorCode, text: str
) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        refused = await change(client, kind, name, changed)
        assert refused.error_code == code
        assert text in refused.error_message

    run(tmp_path, scenario)


@pytest.mark.integration
def test_a_full_change_puts_away_what_it_does_not_name(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", retention_ms="5", max_message_bytes="1000")
        resource = AlterConfigsRequest.AlterConfigsResource(
            TOPIC, "t", [AlterConfigsRequest.AlterableConfig("retention.ms", "6")]
        )
        assert (await client.send(AlterConfigsRequest([resource]))).responses[0].error_code == 0
        found = await describe(client, TOPIC, "t", "retention.ms", "max.message.bytes")
        assert found == {"retention.ms": ("6", 1), "max.message.bytes": ("1048588", 5)}

    run(tmp_path, scenario)


@pytest.mark.integration
def test_batches_are_compressed_as_hard_as_the_topic_asks(tmp_path: Path) -> None:
    words = [(None, b" ".join(b"%d" % (number * number % 997) for number in range(5_000)))]

    async def scenario(client: Client) -> None:
        sizes: dict[str, list[int]] = {}
        for codec, level in (("gzip", "1"), ("gzip", "9"), ("zstd", "-1000"), ("zstd", "19")):
            name = f"{codec}.{level}"
            await client.create_topic(name)
            changes = (("compression.type", SET, codec), (f"compression.{codec}.level", SET, level))
            assert (await change(client, TOPIC, name, *changes)).error_code == 0
            assert (await client.produce(name, batch_of(words))).error_code == 0
            fetched = await client.fetch(name, 0)
            sizes.setdefault(codec, []).append(len(fetched.records or b""))
        for fast, small in sizes.values():
            assert small < fast

    run(tmp_path, scenario)


@pytest.mark.integration
def test_a_topic_has_segments_as_small_as_a_test_wants_them(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        refused = await change(client, TOPIC, "t", ("segment.bytes", SET, "1000"))
        assert refused.error_code == ErrorCode.INVALID_CONFIG
        assert (await change(client, TOPIC, "t", ("internal.segment.bytes", SET, "1000"))).error_code == 0
        for _ in range(3):
            assert (await client.produce("t", batch_of([(None, bytes(900))]))).error_code == 0
        assert "internal.segment.bytes" not in await describe(client, TOPIC, "t")

    run(tmp_path, scenario)
    assert len(list(tmp_path.rglob("t-0/*.log"))) == 3

"""What docs/testing.md says that the embedded broker cannot do, line by line."""

from __future__ import annotations

import re
import uuid
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker_errors import ErrorCode
from barnabas.protocol.messages.add_raft_voter import AddRaftVoterRequest
from barnabas.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from barnabas.protocol.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.push_telemetry import PushTelemetryRequest
from barnabas.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from barnabas.protocol.messages.update_features import UpdateFeaturesRequest
from barnabas.protocol.messages.update_raft_voter import UpdateRaftVoterRequest

from ..in_process import Client, run

PAGE = Path(__file__).resolve().parents[3] / "docs" / "testing.md"
BROKER, LOGGER, CLIENT_METRICS = 4, 8, 16
SET, DELETE = 0, 1
SAFE_DOWNGRADE = 2
Try = Callable[[Client], Awaitable[None]]


async def offered(client: Client) -> set[int]:
    return {api.api_key for api in (await client.send(ApiVersionsRequest("test", "1"))).api_keys}


async def change(client: Client, kind: int, resource: str, name: str, value: str | None) -> Any:
    act = DELETE if value is None else SET
    changed = IncrementalAlterConfigsRequest.AlterableConfig(name, act, value)
    asked = IncrementalAlterConfigsRequest.AlterConfigsResource(kind, resource, [changed])
    answer = (await client.send(IncrementalAlterConfigsRequest([asked]))).responses[0]
    return ErrorCode(answer.error_code).name, answer.error_message


async def shown(client: Client, kind: int, resource: str, *names: str) -> dict[str, Any]:
    asked = DescribeConfigsRequest.DescribeConfigsResource(kind, resource, [*names] or None)
    answer = (await client.send(DescribeConfigsRequest([asked]))).results[0]
    assert answer.error_code == 0
    return {config.name: config.value for config in answer.configs}


async def telemetry_is_offered_only_with_a_subscription(client: Client) -> None:
    apis = {GetTelemetrySubscriptionsRequest.API_KEY, PushTelemetryRequest.API_KEY}
    assert not apis & await offered(client)
    assert await change(client, CLIENT_METRICS, "all", "metrics", "*") == ("NONE", None)
    other = await client.another()
    with closing(other.connection):
        assert apis <= await offered(other)


async def voters_cannot_be_added_or_removed(client: Client) -> None:
    requests = (AddRaftVoterRequest, RemoveRaftVoterRequest, UpdateRaftVoterRequest)
    assert not {request.API_KEY for request in requests} & await offered(client)


async def there_are_no_tiers_and_no_second_log_directory(client: Client) -> None:
    tiered = CreateTopicsRequest.CreatableTopicConfig("remote.storage.enable", "true")
    topic = CreateTopicsRequest.CreatableTopic("tiered", 1, 1, configs=[tiered])
    refused = (await client.send(CreateTopicsRequest(topics=[topic]))).topics[0]
    assert ErrorCode(refused.error_code).name == "INVALID_CONFIG"
    assert (refused.error_message or "").startswith("Tiered Storage functionality is disabled")
    await client.create_topic("t")
    assert len((await client.send(DescribeLogDirsRequest())).results) == 1
    elsewhere = AlterReplicaLogDirsRequest.AlterReplicaLogDir(
        "/elsewhere", [AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic("t", [0])]
    )
    answer = await client.send(AlterReplicaLogDirsRequest([elsewhere]))
    assert ErrorCode(answer.results[0].partitions[0].error_code).name == "LOG_DIR_NOT_FOUND"
    for name in ("leader.replication.throttled.rate", "follower.replication.throttled.rate"):
        assert await change(client, BROKER, "1", name, "1") == ("NONE", None)
        assert await shown(client, BROKER, "1", name) == {name: "1"}


async def min_insync_replicas_is_not_taken_away(client: Client) -> None:
    level = UpdateFeaturesRequest.FeatureUpdateKey(
        "eligible.leader.replicas.version", 0, upgrade_type=SAFE_DOWNGRADE
    )
    assert (await client.send(UpdateFeaturesRequest(feature_updates=[level]))).error_code == 0
    for value in ("2", None):
        assert await change(client, BROKER, "", "min.insync.replicas", value) == ("NONE", None)
    assert await shown(client, BROKER, "1", "min.insync.replicas") == {"min.insync.replicas": "1"}


async def loggers_are_its_own(client: Client) -> None:
    names = (await shown(client, LOGGER, "1")).keys()
    assert "org.apache.kafka.raft.KafkaRaftClient" not in names


async def limits_are_kept_that_change_nothing(client: Client) -> None:
    assert await change(client, BROKER, "1", "cordoned.log.dirs", "*") == ("NONE", None)
    assert await change(client, BROKER, "1", "max.connection.creation.rate", "1") == ("NONE", None)
    await client.create_topic(f"cordoned-{uuid.uuid4().hex[:6]}")
    with ExitStack() as ends:
        others = [await client.another() for _ in range(20)]
        for other in others:
            ends.enter_context(closing(other.connection))
        for other in others:
            await offered(other)


TRIES: dict[str, Try] = {
    "client telemetry (KIP-714) is offered to clients": telemetry_is_offered_only_with_a_subscription,
    "all nodes are in one process": voters_cannot_be_added_or_removed,
    "tiered storage, several log directories": there_are_no_tiers_and_no_second_log_directory,
    "`min.insync.replicas` cannot be taken": min_insync_replicas_is_not_taken_away,
    "which loggers there are": loggers_are_its_own,
    "`cordoned.log.dirs` and `max.connection.creation.rate`": limits_are_kept_that_change_nothing,
}


def test_each_line_of_the_list_is_tried() -> None:
    found = re.search(r"^It cannot do:\n\n(.*?)\n\n", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert found is not None
    lines = re.findall(r"^- (.*)$", found[1], re.MULTILINE)
    assert [line for line in lines if not any(line.startswith(begin) for begin in TRIES)] == []
    assert len(lines) == len(TRIES)


@pytest.mark.parametrize("line", TRIES)
def test_it_cannot_do_what_the_list_says(tmp_path: Path, line: str) -> None:
    run(tmp_path, TRIES[line])

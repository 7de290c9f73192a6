"""Each API in each version that the broker advertises, also where it passes for an older release."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.handlers import HANDLERS, offered_versions
from barnabas.broker.handlers.cluster.api_versions import TELEMETRY
from barnabas.broker.older_release import Release
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.messages.alter_configs import AlterConfigsRequest
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_records import DeleteRecordsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.releases import RELEASES

from .conftest import batch_of, values
from .in_process import Client, run

# Who logs in, says what it is, and changes a token of its own.
OPEN_TO_ALL = {
    *("ApiVersions", "SaslHandshake", "SaslAuthenticate", "GetTelemetrySubscriptions", "PushTelemetry"),
    *("RenewDelegationToken", "ExpireDelegationToken"),
}
CLIENT_METRICS, SET = 16, 0
ADVERTISED = [
    (handler.request_type, version)
    for handler in HANDLERS.values()
    for version in range(handler.lowest, handler.highest + 1)
]
OLDER = [
    (handler.request_type, version)
    for api_key, (lowest, _) in offered_versions(Release.named("3.9")).items()
    if (handler := HANDLERS[api_key]).lowest > lowest
    for version in range(lowest, handler.lowest)
]


def filled(request_type: type[Any], version: int) -> Any:
    """A request that names things that are there and things that are not."""
    names = ["t", "missing"]
    request = request_type()
    if request_type is ProduceRequest:
        data = [
            ProduceRequest.PartitionProduceData(index=index, records=batch_of(values("a")))
            for index in (0, 9)
        ]
        request.acks = 1
        request.topic_data = [
            ProduceRequest.TopicProduceData(name=name, partition_data=data) for name in names
        ]
    elif request_type is FetchRequest:
        partitions = [FetchRequest.FetchPartition(partition=index, fetch_offset=index) for index in (0, 9)]
        request.topics = [FetchRequest.FetchTopic(topic=name, partitions=partitions) for name in names]
    elif request_type is ListOffsetsRequest:
        offsets = [ListOffsetsRequest.ListOffsetsPartition(index, timestamp=-1) for index in (0, 9)]
        request.topics = [ListOffsetsRequest.ListOffsetsTopic(name, offsets) for name in names]
    elif request_type is MetadataRequest:
        request.topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in [*names, "no/slash"]]
        request.allow_auto_topic_creation = version < 4
    elif request_type is OffsetForLeaderEpochRequest:
        epochs = [OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=index) for index in (0, 9)]
        request.topics = [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(name, epochs) for name in names]
    elif request_type is OffsetCommitRequest:
        request.group_id = "g"
        committed = [
            OffsetCommitRequest.OffsetCommitRequestPartition(index, 5, committed_metadata=None)
            for index in (0, 9)
        ]
        request.topics = [
            OffsetCommitRequest.OffsetCommitRequestTopic(name=name, partitions=committed) for name in names
        ]
    elif request_type is OffsetFetchRequest and version < 8:
        request.group_id = "g"
        request.topics = [OffsetFetchRequest.OffsetFetchRequestTopic(name, [0, 9]) for name in names]
    elif request_type is OffsetFetchRequest:
        topics = [
            OffsetFetchRequest.OffsetFetchRequestTopics(name=name, partition_indexes=[0]) for name in names
        ]
        request.groups = [
            OffsetFetchRequest.OffsetFetchRequestGroup("g", topics=topics),
            OffsetFetchRequest.OffsetFetchRequestGroup("g", "stranger", 3, topics=None),
        ]
    elif request_type is OffsetDeleteRequest:
        topic = OffsetDeleteRequest.OffsetDeleteRequestTopic(
            "t", [OffsetDeleteRequest.OffsetDeleteRequestPartition(0)]
        )
        request.group_id, request.topics = "g", [topic]
    elif request_type is FindCoordinatorRequest and version >= 4:
        request.coordinator_keys = ["g", "h"]
    elif request_type is JoinGroupRequest:
        request.group_id, request.session_timeout_ms = "h", 1
    elif request_type is LeaveGroupRequest and version >= 3:
        request.group_id, request.members = "h", [LeaveGroupRequest.MemberIdentity("x")]
    elif request_type is DescribeGroupsRequest:
        request.groups = ["g", "missing"]
    elif request_type is CreateTopicsRequest:
        request.topics = [CreateTopicsRequest.CreatableTopic(name, 2, 1) for name in ("t", "new", "new")]
    elif request_type is DeleteTopicsRequest:
        request.topic_names = ["missing"]
        if version >= 6:
            request.topics = [DeleteTopicsRequest.DeleteTopicState(name="missing")]
    elif request_type is CreatePartitionsRequest:
        request.topics = [CreatePartitionsRequest.CreatePartitionsTopic(name, 1, None) for name in names]
    elif request_type is DeleteRecordsRequest:
        deleted = [DeleteRecordsRequest.DeleteRecordsPartition(index, 0) for index in (0, 9)]
        request.topics = [DeleteRecordsRequest.DeleteRecordsTopic(name, deleted) for name in names]
    elif request_type is DescribeAclsRequest:
        request.resource_type_filter = request.operation = request.permission_type = 1
    elif request_type is DescribeConfigsRequest:
        request.resources = [
            DescribeConfigsRequest.DescribeConfigsResource(kind, name, None)
            for kind, name in ((2, "t"), (2, "missing"), (4, "1"), (4, ""), (4, "2"), (9, "x"))
        ]
        request.include_synonyms = version >= 1
        request.include_documentation = version >= 3
    elif request_type is AlterConfigsRequest:
        wrong = [AlterConfigsRequest.AlterableConfig("retention.ms", "soon")]
        request.resources = [AlterConfigsRequest.AlterConfigsResource(2, name, wrong) for name in names]
    elif request_type is IncrementalAlterConfigsRequest:
        wrong = [IncrementalAlterConfigsRequest.AlterableConfig("retention.ms", 2, "soon")]
        request.resources = [
            IncrementalAlterConfigsRequest.AlterConfigsResource(2, name, wrong) for name in names
        ]
    return request


@pytest.mark.parametrize(
    ("request_type", "version"), ADVERTISED, ids=[f"{kind.NAME}-{version}" for kind, version in ADVERTISED]
)
def test_it_is_answered_and_the_broker_goes_on(
    tmp_path: Path, request_type: type[Any], version: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        if request_type.API_KEY in TELEMETRY:
            client = await offered_telemetry(client)
        response = await client.send(filled(request_type, version), version=version)
        assert decode(type(response), version, encode(response, version)) == response
        assert (await client.send(MetadataRequest(topics=None))).error_code == 0

    run(tmp_path, scenario)
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize(
    ("request_type", "version"), OLDER, ids=[f"{kind.NAME}-{version}" for kind, version in OLDER]
)
def test_it_is_answered_where_the_broker_passes_for_an_older_release(
    tmp_path: Path, request_type: type[Any], version: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        response = await client.send(filled(request_type, version), version=version)
        assert decode(type(response), version, encode(response, version)) == response
        assert (await client.send(MetadataRequest(topics=None))).error_code == 0

    run(tmp_path, scenario, as_version="3.9")
    assert not [record for record in caplog.records if record.exc_info]


async def offered_telemetry(client: Client) -> Client:
    """A client that came when there was a subscription to telemetry, without which that is not offered."""
    interval = IncrementalAlterConfigsRequest.AlterableConfig("interval.ms", SET, "1000")
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(CLIENT_METRICS, "all", [interval])
    answer = await client.send(IncrementalAlterConfigsRequest([resource]))
    assert answer.responses[0].error_code == 0
    return await client.another()


def test_the_versions_are_those_of_the_newest_release_up_to_the_last_that_messages_have() -> None:
    newest = Release.named(RELEASES[-1])
    assert offered_versions() == {api_key: newest.versions(api_key) for api_key in HANDLERS}
    behind = [
        each.request_type.NAME for each in HANDLERS.values() if each.highest < each.request_type.VERSIONS[1]
    ]
    assert behind == []


def test_every_handler_asks_who_may_do_it_where_kafka_asks() -> None:
    modules = {each.request_type.NAME: sys.modules[each.handle.__module__] for each in HANDLERS.values()}
    # What asks is the authorizer, or a module that calls it.
    asking = re.compile(r"authorizer|\brights\.|\.admission\b")
    asks_nobody = {name for name, module in modules.items() if not asking.search(inspect.getsource(module))}
    assert asks_nobody == OPEN_TO_ALL


def test_only_what_is_handled_is_advertised(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        client = await offered_telemetry(client)
        assert client.connection.versions == {
            # As Kafka says, and does not do (KAFKA-18659).
            api_key: (0 if api_key == ProduceRequest.API_KEY else handler.lowest, handler.highest)
            for api_key, handler in HANDLERS.items()
        }

    run(tmp_path, scenario)

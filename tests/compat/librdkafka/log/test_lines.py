"""Steps and events as librdkafka's lines: those that a test with a broker meets too seldom."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from barnabas.broker_errors import ErrorCode, error_for
from barnabas.compat.librdkafka.log.client_log import DebugLine
from barnabas.compat.librdkafka.log.cluster_lines import ClusterLines
from barnabas.compat.librdkafka.log.group_lines import GroupLines
from barnabas.compat.librdkafka.log.producing_lines import ProducingLines
from barnabas.errors import KafkaConnectionError
from barnabas.events import PartitionsLost
from barnabas.steps import (
    BatchFailed,
    BatchRetried,
    CoordinatorFound,
    FetchAnswered,
    GroupRefused,
    HeartbeatSent,
    MemberPhaseChanged,
    MetadataReceived,
    PositionSought,
    StageReached,
    TelemetryPushed,
    TelemetrySubscribed,
    TransactionPhaseChanged,
    VersionsLearned,
)
from barnabas.types import Node, TopicPartition

NODE = Node(1, "broker", 9092)
PARTITION = TopicPartition("topic", 3)


def _texts(lines: Iterable[DebugLine], context: str) -> list[str]:
    """`FACILITY text` of those that belong to a context."""
    return [f"{line.facility} {line.text}" for line in lines if context in line.contexts.split()]


def _cluster() -> ClusterLines:
    return ClusterLines("plaintext", "")


def _group(protocol: str = "classic") -> GroupLines:
    return GroupLines(_cluster().broker, "consumer" if protocol == "consumer" else "classic")


def test_each_connection_to_a_broker_has_a_state_of_its_own() -> None:
    cluster = _cluster()
    list(cluster.of(StageReached(NODE, 1, "connecting")))
    list(cluster.of(StageReached(NODE, 1, "connected", "1.2.3.4:9092")))
    second = _texts(cluster.of(StageReached(NODE, 2, "connecting")), "broker")
    assert "STATE broker:9092/1: Broker changed state INIT -> TRY_CONNECT" in second
    first = _texts(cluster.of(StageReached(NODE, 1, "up")), "broker")
    assert first == ["STATE broker:9092/1: Broker changed state CONNECT -> UP"]


def test_a_broker_is_new_once() -> None:
    cluster = _cluster()
    step = MetadataReceived("id", 1, (NODE,), {}, {})
    assert "BROKER broker:9092/1: Added new broker with NodeId 1" in _texts(cluster.of(step), "broker")
    assert _texts(cluster.of(step), "broker") == []


def test_a_connection_that_ends_says_in_which_state() -> None:
    cluster = _cluster()
    list(cluster.of(StageReached(NODE, 1, "up")))
    error = KafkaConnectionError("it hung up")
    lines = _texts(cluster.of(StageReached(NODE, 1, "closed", error=error)), "broker")
    assert lines == [
        "FAIL broker:9092/1: it hung up (after 0ms in state UP) (_TRANSPORT)",
        "STATE broker:9092/1: Broker changed state UP -> DOWN",
    ]


def test_an_api_that_is_not_known_is_numbered() -> None:
    lines = _texts(_cluster().of(VersionsLearned(NODE, 1, {0: (3, 13), 999: (0, 1)})), "feature")
    assert lines == [
        "APIVERSION broker:9092/1: Broker API support:",
        "APIVERSION broker:9092/1:   ApiKey Produce (0) Versions 3..13",
        "APIVERSION broker:9092/1:   ApiKey Unknown-999? (999) Versions 0..1",
    ]


def test_new_leaders_and_partitions_are_told_as_they_change() -> None:
    cluster = _cluster()
    list(cluster.of(MetadataReceived("id", 1, (), {"topic": ((0, 1, 4),)}, {})))
    step = MetadataReceived("id", 1, (), {"topic": ((1, 2, 0), (0, 2, 5))}, {})
    assert _texts(cluster.of(step), "topic") == [
        "PARTCNT Topic topic partition count changed from 1 to 2",
        "METADATA Topic topic [0] Leader 2 Epoch 5",
        "BROKER topic [0]: leader 1 epoch 4 -> leader 2 epoch 5",
        "METADATA Topic topic [1] Leader 2 Epoch 0",
        "BROKER topic [1]: leader -1 epoch -1 -> leader 2 epoch 0",
    ]


def test_a_topic_that_is_not_there_is_told_with_its_error() -> None:
    step = MetadataReceived("id", 1, (), {"gone": ()}, {"gone": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
    lines = _cluster().of(step)
    told = [line for line in lines if "gone" in line.text]
    assert [line.text for line in told] == [
        "  Topic gone with 0 partitions: Broker: Unknown topic or partition"
    ]


def test_telemetry_is_told() -> None:
    cluster = _cluster()
    subscribed = _texts(cluster.of(TelemetrySubscribed(7, 2.5, ("org.", ""))), "telemetry")
    assert "scheduling FSM after 2500000 microseconds" in subscribed[0]
    assert subscribed[0].startswith("GETSUBSCRIPTIONS Handled GetTelemetrySubscriptions")
    assert _texts(cluster.of(TelemetryPushed(120, True, 0)), "telemetry") == [
        "PUSH Sent PushTelemetryRequest with 120 bytes, terminating = true",
        "PUSH PushTelemetryRequest succeeded",
    ]
    refused = _texts(cluster.of(TelemetryPushed(120, False, ErrorCode.TELEMETRY_TOO_LARGE)), "telemetry")
    assert "PushTelemetryRequest failed: Broker: " in refused[1]


def test_a_coordinator_that_is_found_again_is_no_new_one() -> None:
    group = _group()
    step = CoordinatorFound("group", "g", NODE)
    assert len(_texts(group.of(step), "cgrp")) == 4
    assert _texts(group.of(step), "cgrp") == ['CGRPCOORD Group "g" coordinator is broker:9092 id 1']


def test_join_states_have_librdkafkas_names() -> None:
    group = _group()
    phases = ["outside", "joining", "assigned", "member", "outside"]
    lines = [
        _texts(group.of(MemberPhaseChanged("g", before, after)), "cgrp")[0]
        for before, after in itertools.pairwise(phases)
    ]
    names = ["init", "wait-join", "wait-assign-call", "steady", "init"]
    assert lines == [
        f'CGRPJOINSTATE Group "g" changed join state {before} -> {after} (state init)'
        for before, after in itertools.pairwise(names)
    ]


def test_heartbeats_are_those_of_the_groups_protocol() -> None:
    step = HeartbeatSent("g", "me", 5)
    assert _texts(_group().of(step), "cgrp") == ['HEARTBEAT Heartbeat for group "g" generation id 5']
    assert _texts(_group("consumer").of(step), "cgrp") == [
        'HEARTBEAT ConsumerGroupHeartbeat of member id "me", group id "g", generation id 5'
    ]


def test_what_the_coordinator_refuses_and_what_is_lost_is_told() -> None:
    group, error = _group(), error_for(ErrorCode.UNKNOWN_MEMBER_ID)
    assert _texts(group.of(GroupRefused("g", "heartbeat", error)), "cgrp") == [
        "HEARTBEAT Heartbeat: Broker: Unknown member"
    ]
    assert _texts(group.of(GroupRefused("g", "joining", error)), "cgrp") == [
        "JOINGROUP JoinGroup response: Broker: Unknown member"
    ]
    lost = _texts(group.of(PartitionsLost("client", "g", (PARTITION,))), "consumer")
    assert lost == [
        'REBALANCE Group "g" initiating rebalance in state init (join-state init) with 1 assigned '
        "partition(s): lost"
    ]


def test_where_reading_begins_and_what_a_fetch_refuses_is_told() -> None:
    group = _group()
    other = TopicPartition("topic", 4)
    sought = PositionSought({PARTITION: "committed", other: "earliest"})
    assert _texts(group.of(sought), "consumer") == ["OFFSET Fetch committed offsets for 1/2 partition(s)"]
    assert _texts(group.of(sought), "topic") == [
        "OFFREQ Partition topic [4]: querying for logical offset BEGINNING"
    ]
    answered = FetchAnswered(NODE, {PARTITION: 0}, {PARTITION: ErrorCode.OFFSET_OUT_OF_RANGE})
    assert _texts(group.of(answered), "fetch") == [
        "FETCHERR broker:9092/1: topic [3]: Fetch failed: OFFSET_OUT_OF_RANGE"
    ]


def test_batches_that_fail_and_transactions_that_do_are_told_with_the_error() -> None:
    producing = ProducingLines(lambda node_id: f"node {node_id}", _cluster().broker, "lz4")
    error = error_for(ErrorCode.NOT_ENOUGH_REPLICAS)
    retried = _texts(producing.of(BatchRetried(PARTITION, 2, 7, error)), "msg")
    failed = _texts(producing.of(BatchFailed(PARTITION, 2, None, error)), "msg")
    reason = "encountered error: Broker: Not enough in-sync replicas"
    assert retried == [f"MSGSET topic [3]: MessageSet with 2 message(s) (BaseSeq 7) {reason} (actions Retry)"]
    assert failed == [
        f"MSGSET topic [3]: MessageSet with 2 message(s) (BaseSeq -1) {reason} (actions Permanent)"
    ]
    fenced = TransactionPhaseChanged("id", "IN_TRANSACTION", "FATAL_ERROR", error)
    assert _texts(producing.of(fenced), "eos")[0].startswith(
        "TXNSTATE Transaction state change InTransaction -> FatalError: "
    )

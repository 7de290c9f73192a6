"""Following a client: what its listener hears of, in which order, and that nothing is told where nobody
follows.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from tests.waiting import wait_for

import barnabas
from barnabas.errors import BootstrapError
from barnabas.events import Event, OffsetOutOfRange
from barnabas.steps import (
    AnswerReceived,
    BatchDelivered,
    BatchFailed,
    BatchRetried,
    BatchSent,
    CoordinatorFound,
    FetchAnswered,
    FetchSent,
    GroupAssigned,
    GroupJoined,
    GroupLeft,
    MemberPhaseChanged,
    MetadataReceived,
    PositionFound,
    ProducerIdReceived,
    RequestSent,
    StageReached,
    Step,
    TransactionPhaseChanged,
    VersionsLearned,
)
from barnabas.testing import ApacheKafka, EmbeddedBroker
from barnabas.types import TopicPartition


def unique_name(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex}"


def test_a_connections_stages_and_requests_are_told_in_their_order(broker: Any) -> None:
    topic, steps = unique_name("topic"), list[Step]()
    with barnabas.Producer(broker.bootstrap) as producer:
        producer.follow(steps.append)
        producer.send(topic, b"value").result(timeout=30)
    first = next(step for step in steps if isinstance(step, StageReached)).connection
    of_first = [step for step in steps if getattr(step, "connection", None) == first]
    stages = [step.stage for step in of_first if isinstance(step, StageReached)]
    assert stages == ["connecting", "connected", "negotiating", "up", "closed"]
    connected = next(s for s in of_first if isinstance(s, StageReached) and s.stage == "connected")
    assert connected.address == broker.bootstrap
    sent = [step for step in of_first if isinstance(step, RequestSent)]
    answers = [step for step in of_first if isinstance(step, AnswerReceived)]
    assert [step.correlation_id for step in sent] == [step.correlation_id for step in answers]
    assert [step.api for step in sent][:2] == ["ApiVersions", "Metadata"]
    assert all(step.size > 0 for step in (*sent, *answers))
    versions = next(step for step in of_first if isinstance(step, VersionsLearned)).versions
    assert versions[0][1] >= 13
    metadata = [step for step in steps if isinstance(step, MetadataReceived)][-1]
    assert [node.node_id for node in metadata.nodes] == [1]
    assert metadata.topics[topic][0][:2] == (0, 1)


def test_sizes_and_answers_that_are_told_are_those_that_the_figures_count(broker: Any) -> None:
    topic, steps = unique_name("topic"), list[Step]()
    with barnabas.Producer(broker.bootstrap, linger_ms=0) as producer:
        producer.follow(steps.append)
        for _ in range(20):
            producer.send(topic, b"value").result(timeout=30)
        brokers = producer.stats().client.brokers
        told = list(steps)
    sizes = sum(step.size for step in told if isinstance(step, RequestSent))
    assert sizes == sum(broker.bytes_sent for broker in brokers)
    answered = sum(1 for step in told if isinstance(step, AnswerReceived))
    assert answered == sum(broker.responses for broker in brokers)
    produced = [step for step in told if isinstance(step, RequestSent) and step.api == "Produce"]
    assert len(produced) == len([step for step in told if isinstance(step, BatchSent)]) == 20


def test_a_batchs_way_is_told(broker: Any) -> None:
    topic, steps = unique_name("topic"), list[Step]()
    with barnabas.Producer(broker.bootstrap) as producer:
        producer.follow(steps.append)
        producer.send(topic, b"value", partition=0).result(timeout=30)
    producer_id = next(step for step in steps if isinstance(step, ProducerIdReceived))
    sent = next(step for step in steps if isinstance(step, BatchSent))
    delivered = next(step for step in steps if isinstance(step, BatchDelivered))
    assert sent.partition == delivered.partition == TopicPartition(topic, 0)
    assert (sent.record_count, sent.base_sequence, sent.attempt, sent.node_id) == (1, 0, 1, 1)
    assert sent.producer_id == producer_id.producer_id
    assert delivered.base_offset == 0


def test_a_batch_that_is_refused_for_good_is_told(broker: Any) -> None:
    topic, steps = unique_name("topic"), list[Step]()
    with barnabas.Admin(broker.bootstrap) as admin:
        admin.create_topics([barnabas.NewTopic(topic, configs={"max.message.bytes": "100"})])
    with barnabas.Producer(broker.bootstrap) as producer:
        producer.follow(steps.append)
        with pytest.raises(barnabas.errors.BarnabasError):
            producer.send(topic, b"v" * 1000).result(timeout=30)
    failed = next(step for step in steps if isinstance(step, BatchFailed))
    assert failed.record_count == 1
    assert "max.message.bytes" in str(failed.error)
    assert not any(isinstance(step, BatchRetried) for step in steps)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_members_way_through_its_group_is_told(broker: Any, protocol: Any) -> None:
    topic, group, steps = unique_name("topic"), unique_name("group"), list[Step]()
    with barnabas.Producer(broker.bootstrap) as producer:
        producer.send(topic, b"value").result(timeout=30)
    consumer = barnabas.Consumer(
        broker.bootstrap, group_id=group, group_protocol=protocol, auto_offset_reset="earliest"
    )
    with consumer:
        consumer.follow(steps.append)
        consumer.subscribe([topic])
        wait_for(lambda: list(consumer.poll(0.2)))
    phases = [(s.previous, s.phase) for s in steps if isinstance(s, MemberPhaseChanged)]
    assert phases[0] == ("outside", "joining")
    assert ("joining", "assigned") in phases or ("joining", "member") in phases
    assert phases[-1] == ("member", "outside")
    coordinator = next(step for step in steps if isinstance(step, CoordinatorFound))
    assert (coordinator.kind, coordinator.key, coordinator.node.node_id) == ("group", group, 1)
    joined = next(step for step in steps if isinstance(step, GroupJoined))
    assigned = next(step for step in steps if isinstance(step, GroupAssigned))
    assert assigned.partitions == (TopicPartition(topic, 0),)
    assert joined.member_id == assigned.member_id != ""
    assert joined.leader == (joined.member_id if protocol == "classic" else "")
    found = next(step for step in steps if isinstance(step, PositionFound))
    assert (found.partition, found.offset, found.is_committed) == (TopicPartition(topic, 0), 0, False)
    sent = next(step for step in steps if isinstance(step, FetchSent))
    assert sent.offsets == {TopicPartition(topic, 0): 0}
    assert any(isinstance(step, FetchAnswered) and step.sizes for step in steps)
    left = next(step for step in steps if isinstance(step, GroupLeft))
    assert left.member_id == joined.member_id


def test_a_transactions_states_are_told(broker: ApacheKafka | EmbeddedBroker) -> None:
    topic, steps = unique_name("topic"), list[Step]()
    with barnabas.Producer(broker.bootstrap, transactional_id=unique_name("id")) as producer:
        producer.follow(steps.append)
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"value")
        producer.commit_transaction()
    states = [step.state for step in steps if isinstance(step, TransactionPhaseChanged)]
    assert states == ["INITIALIZING", "READY", "IN_TRANSACTION", "COMMITTING", "READY"]


def test_an_offset_that_is_gone_is_an_event(broker: Any) -> None:
    partition, events = TopicPartition(unique_name("topic"), 0), list[Event]()
    with barnabas.Producer(broker.bootstrap) as producer:
        producer.send(partition.topic, b"value").result(timeout=30)
    with barnabas.Consumer(broker.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.add_event_listener(events.append)
        consumer.assign([partition])
        consumer.seek(partition, 1000)
        wait_for(lambda: list(consumer.poll(0.2)))
    gone = next(event for event in events if isinstance(event, OffsetOutOfRange))
    assert (gone.partition, gone.leader, gone.position, gone.offset) == (partition, 1, 1000, 0)
    assert gone.reset_to == "earliest"


def test_a_connection_that_fails_is_told_with_its_error() -> None:
    steps: list[Step] = []
    with barnabas.Producer("127.0.0.1:1", default_api_timeout_ms=500, max_block_ms=500) as producer:
        producer.follow(steps.append)
        with pytest.raises(BootstrapError):
            producer.send("topic", b"value").result(timeout=30)
    first = [step for step in steps if isinstance(step, StageReached)][:2]
    assert [step.stage for step in first] == ["connecting", "closed"]
    assert "refused" in str(first[1].error)


def test_requests_go_without_the_loop_only_while_nobody_follows(broker: Any) -> None:
    topic, steps = unique_name("topic"), list[Step]()

    def produced(work: Callable[[], object]) -> int:
        before = len(steps)
        work()
        return sum(1 for s in steps[before:] if isinstance(s, RequestSent) and s.api == "Produce")

    with barnabas.Producer(broker.bootstrap, linger_ms=0) as producer:

        def send_ten() -> None:
            for _ in range(10):
                producer.send(topic, b"value", partition=0).result(timeout=30)

        assert produced(send_ten) == 0
        producer.follow(steps.append)
        # What a thread has on loan comes back soon.
        wait_for(lambda: produced(send_ten) == 10)
        assert produced(send_ten) == 10
        producer.unfollow(steps.append)
        assert produced(send_ten) == 0


def test_what_a_follower_raises_goes_no_further(broker: Any, caplog: pytest.LogCaptureFixture) -> None:
    def fail(step: Step) -> None:
        raise ValueError(type(step).__name__)

    with barnabas.Producer(broker.bootstrap) as producer:
        producer.follow(fail)
        producer.send(unique_name("topic"), b"value").result(timeout=30)
    assert "an event listener failed on StageReached" in caplog.text

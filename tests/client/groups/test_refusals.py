"""What a broker refuses: polls raise it at the pace of back-off while it lasts, then reading goes on. On both
brokers, behind a proxy that answers in their place."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest
from tests.waiting import Patience

from barnabas import Admin, Consumer, NewTopic, ShareConsumer, TopicPartition
from barnabas.aio import Consumer as AsyncConsumer
from barnabas.aio import ShareConsumer as AsyncShareConsumer
from barnabas.broker_errors import FencedInstanceIdError
from barnabas.client.cluster import topic_watch
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import BarnabasError
from barnabas.testing import EmbeddedBroker, KafkaProxy

MakeTopic = Callable[..., str]
FillTopic = Callable[..., None]
Eventually = Callable[..., Any]

CLASSIC: dict[str, Any] = {"group_protocol": "classic", "heartbeat_interval_ms": 200}
COOPERATIVE: dict[str, Any] = {**CLASSIC, "partition_assignment_strategy": "cooperative-sticky"}
CONSUMER: dict[str, Any] = {"group_protocol": "consumer"}
PROTOCOLS = {"classic": CLASSIC, "cooperative": COOPERATIVE, "consumer": CONSUMER}

GROUP = "GROUP_AUTHORIZATION_FAILED"
TOPIC = "TOPIC_AUTHORIZATION_FAILED"
REFUSALS = [
    ("classic", "FindCoordinator", GROUP),
    ("classic", "JoinGroup", GROUP),
    ("classic", "JoinGroup", "INCONSISTENT_GROUP_PROTOCOL"),
    ("classic", "JoinGroup", "GROUP_MAX_SIZE_REACHED"),
    ("classic", "JoinGroup", "INVALID_SESSION_TIMEOUT"),
    ("classic", "SyncGroup", GROUP),
    ("classic", "Heartbeat", GROUP),
    ("classic", "OffsetFetch", GROUP),
    ("classic", "ListOffsets", TOPIC),
    ("classic", "Metadata", TOPIC),
    ("classic", "Fetch", TOPIC),
    ("cooperative", "JoinGroup", GROUP),
    ("consumer", "FindCoordinator", GROUP),
    ("consumer", "ConsumerGroupHeartbeat", GROUP),
    ("consumer", "ConsumerGroupHeartbeat", TOPIC),
    ("consumer", "ConsumerGroupHeartbeat", "GROUP_MAX_SIZE_REACHED"),
    ("consumer", "ConsumerGroupHeartbeat", "UNSUPPORTED_ASSIGNOR"),
    ("consumer", "Fetch", TOPIC),
]


@pytest.fixture
def proxy(broker: Any) -> Iterator[KafkaProxy]:
    with KafkaProxy(broker.bootstrap) as proxy:
        yield proxy


def new_name(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex[:12]}"


def assigned(consumer: Any) -> list[TopicPartition]:
    return consumer._core.assignment if isinstance(consumer, ShareConsumer) else consumer.assignment()


def until_refused(poll: Callable[[], Any], error: type[BarnabasError], times: int = 3) -> int:
    """Polls until the error was raised so often, and gives the records that came meanwhile."""
    read = refused = 0
    patience = Patience()
    while refused < times:
        patience.check(f"{error.__name__} was raised {refused} times")
        try:
            read += len(poll())
        except error:
            refused += 1
    return read


def until_read(poll: Callable[[], Any], wanted: int, error: type[BarnabasError]) -> int:
    """Polls until so many records came. What was refused before may still be raised once."""
    read = raised = 0
    patience = Patience()
    while read < wanted:
        patience.check(f"{read} of {wanted} records came")
        try:
            read += len(poll())
        except error:
            raised += 1
            assert raised <= 2
    return read


@pytest.mark.parametrize(("protocol", "api", "refusal"), REFUSALS)
def test_polls_of_a_member_raise_a_refusal_while_it_lasts_and_read_when_it_is_over(
    broker: Any,
    proxy: KafkaProxy,
    make_topic: MakeTopic,
    fill_topic: FillTopic,
    protocol: str,
    api: str,
    refusal: str,
) -> None:
    topic = make_topic(broker, partitions=2)
    fill_topic(broker, topic, [b"x"] * 20)
    error = type(error_for(ErrorCode[refusal]))
    with Consumer(
        proxy.bootstrap,
        group_id=new_name("group"),
        auto_offset_reset="earliest",
        **PROTOCOLS[protocol],
    ) as consumer:
        fault = proxy.faults.error(api, refusal)
        consumer.subscribe([topic])
        read = until_refused(lambda: consumer.poll(0.2), error)
        fault.remove()
        # A heartbeat may be refused while records come.
        assert until_read(lambda: consumer.poll(0.2), 20 - read, error) + read >= 20


@pytest.mark.parametrize("api", ["Fetch", "ListOffsets", "Metadata"])
def test_polls_raise_a_refusal_of_assigned_partitions_while_it_lasts_and_read_when_it_is_over(
    broker: Any, proxy: KafkaProxy, make_topic: MakeTopic, fill_topic: FillTopic, api: str
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, [b"x"] * 20)
    error = type(error_for(ErrorCode[TOPIC]))
    with Consumer(proxy.bootstrap, auto_offset_reset="earliest") as consumer:
        fault = proxy.faults.error(api, TOPIC)
        consumer.assign([TopicPartition(topic, 0)])
        assert until_refused(lambda: consumer.poll(0.2), error) == 0
        fault.remove()
        assert until_read(lambda: consumer.poll(0.2), 20, error) == 20


def test_partitions_that_are_not_refused_are_read_while_another_is(
    broker: Any, proxy: KafkaProxy, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    allowed, refused = make_topic(broker), make_topic(broker)
    error = type(error_for(ErrorCode[TOPIC]))
    with Consumer(proxy.bootstrap, auto_offset_reset="earliest") as consumer:
        proxy.faults.error("Fetch", TOPIC, topic=refused)
        consumer.assign([TopicPartition(allowed, 0), TopicPartition(refused, 0)])
        until_refused(lambda: consumer.poll(0.2), error)
        fill_topic(broker, allowed, [b"x"] * 20)
        read, patience = 0, Patience()
        while read < 20:
            patience.check()
            try:
                read += len(consumer.poll(0.2))
            except error:
                continue


@pytest.mark.parametrize(
    ("api", "refusal"),
    [
        ("FindCoordinator", GROUP),
        ("ShareGroupHeartbeat", GROUP),
        ("ShareGroupHeartbeat", TOPIC),
        ("ShareFetch", TOPIC),
        ("Metadata", TOPIC),
    ],
)
def test_polls_of_a_share_consumer_raise_a_refusal_while_it_lasts_and_read_when_it_is_over(
    broker: Any,
    proxy: KafkaProxy,
    make_topic: MakeTopic,
    fill_topic: FillTopic,
    eventually: Eventually,
    api: str,
    refusal: str,
) -> None:
    topic = make_topic(broker)
    error = type(error_for(ErrorCode[refusal]))
    with ShareConsumer(proxy.bootstrap, group_id=new_name("share")) as consumer:
        fault = proxy.faults.error(api, refusal)
        consumer.subscribe([topic])
        assert until_refused(lambda: consumer.poll(0.2), error) == 0
        fault.remove()

        def reads() -> bool:
            # A share group begins at the end, wherever that is when it has joined.
            fill_topic(broker, topic, [b"x"])
            try:
                return len(consumer.poll(0.2)) > 0
            except error:
                return False

        eventually(reads)


@pytest.mark.parametrize("kind", ["classic", "consumer", "share", "without a group"])
@pytest.mark.parametrize("error", ["UNKNOWN_SERVER_ERROR", "NOT_LEADER_OR_FOLLOWER"])
def test_an_error_that_passes_in_the_answer_to_a_fetch_is_not_raised_and_reading_goes_on(
    broker: Any,
    proxy: KafkaProxy,
    make_topic: MakeTopic,
    fill_topic: FillTopic,
    eventually: Eventually,
    kind: str,
    error: str,
) -> None:
    """Kafka answers a ShareFetch with UNKNOWN_SERVER_ERROR while it deletes a topic."""
    topic = make_topic(broker)
    if kind == "share":
        consumer: Any = ShareConsumer(proxy.bootstrap, group_id=new_name("share"))
    else:
        group = {} if kind == "without a group" else {"group_id": new_name("group"), **PROTOCOLS[kind]}
        consumer = Consumer(proxy.bootstrap, auto_offset_reset="earliest", **group)
    api = "ShareFetch" if kind == "share" else "Fetch"
    with consumer:
        proxy.faults.error(api, error, times=2, at_top=True)
        if kind == "without a group":
            consumer.assign([TopicPartition(topic, 0)])
        else:
            consumer.subscribe([topic])
        # A share group begins at the end, wherever that is when it has joined.
        eventually(lambda: [fill_topic(broker, topic, [b"x"]), consumer.poll(0.2)][1])
        assert len(proxy.faults.requests(api)) > 2


def test_a_member_that_is_fenced_is_told_once_and_leaves_the_other_in_peace(
    broker: Any, proxy: KafkaProxy, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker, partitions=2)
    settings = {"group_id": new_name("group"), "group_instance_id": "one", **CLASSIC}
    first = Consumer(proxy.bootstrap, topics=[topic], **settings)
    second = Consumer(proxy.bootstrap, topics=[topic], **settings)
    with first, second:
        while not first.assignment():
            first.poll(0.1)
        while not second.assignment():
            second.poll(0.1)
        until_refused(lambda: first.poll(0.1), FencedInstanceIdError, times=1)
        assert first.assignment() == []
        joins, heartbeats = len(proxy.faults.requests("JoinGroup")), len(proxy.faults.requests("Heartbeat"))
        # The time in which the first would have fenced the second several times.
        while len(proxy.faults.requests("Heartbeat")) < heartbeats + 5:
            first.poll(0.1)
            second.poll(0.1)
        assert len(second.assignment()) == 2
        assert len(proxy.faults.requests("JoinGroup")) == joins
        # A call that would have it join raises the error again.
        first.subscribe([topic, new_name("other")])
        until_refused(lambda: first.poll(0.1), FencedInstanceIdError, times=1)
        assert len(proxy.faults.requests("JoinGroup")) == joins


def test_a_static_member_that_was_refused_does_not_fence_the_one_that_took_its_place(
    broker: Any, proxy: KafkaProxy, make_topic: MakeTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker)
    settings = {"group_id": new_name("group"), "group_instance_id": "one", **CLASSIC}
    refused = type(error_for(ErrorCode[GROUP]))
    first = Consumer(proxy.bootstrap, topics=[topic], client_id="first", **settings)
    second = Consumer(proxy.bootstrap, topics=[topic], client_id="second", **settings)
    with first, second:
        eventually(lambda: [first.poll(0.1), first.assignment()][1])
        fault = proxy.faults.error("JoinGroup", GROUP, client_id="first")
        first.enforce_rebalance()
        until_refused(lambda: first.poll(0.1), refused, times=1)
        eventually(lambda: [second.poll(0.1), second.assignment()][1])
        fault.remove()
        with pytest.raises(FencedInstanceIdError):
            until_read(lambda: first.poll(0.1), 1, refused)
        second.poll(0.5)
        assert len(second.assignment()) == 1


@pytest.mark.parametrize("kind", ["classic", "cooperative", "consumer", "share", "without a group"])
def test_a_topic_that_is_deleted_and_made_again_is_found_soon(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, eventually: Eventually, kind: str
) -> None:
    topic, other = make_topic(broker), make_topic(broker)
    # Much more than the test may take.
    settings: dict[str, Any] = {"metadata_max_age_ms": 600_000, "allow_auto_create_topics": False}
    if kind == "share":
        consumer: Any = ShareConsumer(broker.bootstrap, group_id=new_name("share"), **settings)
        consumer.subscribe([topic, other])
    else:
        group = {} if kind == "without a group" else {"group_id": new_name("group"), **PROTOCOLS[kind]}
        consumer = Consumer(
            broker.bootstrap, topics=[topic, other], auto_offset_reset="earliest", **group, **settings
        )
    seen: Counter[str] = Counter()

    def poll() -> Counter[str]:
        seen.update(record.topic for record in consumer.poll(0.1))
        return seen

    with consumer, Admin(broker.bootstrap) as admin:
        eventually(lambda: [poll(), len(assigned(consumer)) == 2][1])
        admin.delete_topics([topic])
        if kind in ("classic", "cooperative", "share"):
            # Apart from those that have to ask, everybody hears of it from the coordinator.
            eventually(lambda: [poll(), len(assigned(consumer)) == 1][1])
        else:
            eventually(lambda: topic not in admin.list_topics())
        eventually(lambda: _is_made(admin, topic))
        eventually(lambda: [fill_topic(broker, topic, [b"x"]), poll()][1][topic])


@pytest.mark.parametrize("kind", ["classic", "consumer", "share", "without a group"])
def test_a_topic_that_a_consumer_waits_for_is_named_once_in_a_warning(
    embedded_broker: EmbeddedBroker,
    make_topic: MakeTopic,
    fill_topic: FillTopic,
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    kind: str,
) -> None:
    monkeypatch.setattr(topic_watch, "WARN_AFTER_SECONDS", 0.01)
    there, missing = make_topic(embedded_broker), new_name("missing")
    settings: dict[str, Any] = {"allow_auto_create_topics": False, "retry_backoff_ms": 20}
    if kind == "share":
        consumer: Any = ShareConsumer(embedded_broker.bootstrap, group_id=new_name("share"), **settings)
    else:
        group = {} if kind == "without a group" else {"group_id": new_name("group"), **PROTOCOLS[kind]}
        consumer = Consumer(embedded_broker.bootstrap, **group, **settings)
    with consumer, Admin(embedded_broker.bootstrap) as admin:
        consumer.subscribe([there, missing])
        eventually(lambda: [consumer.poll(0.1), "waits for topics" in caplog.text][1])
        eventually(lambda: _is_made(admin, missing))
        eventually(lambda: [consumer.poll(0.1), len(assigned(consumer)) == 2][1])
    said = [record.message for record in caplog.records if "waits for topics" in record.message]
    assert len(said) == 1
    assert repr(missing) in said[0]
    assert there not in said[0]


def _is_made(admin: Admin, topic: str) -> bool:
    try:
        admin.create_topics([NewTopic(topic, 1, 1)])
    except BarnabasError:
        return topic in admin.list_topics()
    return True


# Of both pauses between tries, as jitter makes it at least.
BACKOFF_MS = 250
LEAST_PAUSE_SECONDS = BACKOFF_MS * 0.8 / 1000
PACED: dict[str, Any] = {"retry_backoff_ms": BACKOFF_MS, "retry_backoff_max_ms": BACKOFF_MS}
CODES = [code.name for code in ErrorCode if code != ErrorCode.NONE]


@pytest.mark.parametrize(
    ("protocol", "api"),
    [
        ("classic", "FindCoordinator"),
        ("classic", "JoinGroup"),
        ("classic", "SyncGroup"),
        ("classic", "Heartbeat"),
        ("consumer", "FindCoordinator"),
        ("consumer", "ConsumerGroupHeartbeat"),
        ("share", "ShareGroupHeartbeat"),
    ],
)
def test_no_error_has_a_member_ask_more_often_than_back_off_allows(
    embedded_broker: EmbeddedBroker, make_topic: MakeTopic, protocol: str, api: str
) -> None:
    topic = make_topic(embedded_broker)
    groups = {code: new_name(code) for code in CODES}
    with KafkaProxy(embedded_broker.bootstrap) as proxy:
        faults = {code: proxy.faults.error(api, code, group=group) for code, group in groups.items()}
        members = [_polled_member(proxy.bootstrap, topic, group, protocol) for group in groups.values()]
        began = time.monotonic()
        asyncio.run(_run_all(members, until=lambda: all(fault.hits for fault in faults.values())))
        # The first try has no pause before it, nor has the one after a membership that was lost.
        most = (time.monotonic() - began) / LEAST_PAUSE_SECONDS + 3
        hits = {code: fault.hits for code, fault in faults.items()}
    assert {code: count for code, count in hits.items() if count > most} == {}
    assert [code for code, count in hits.items() if not count] == []


async def _run_all(members: Sequence[Callable[[], Awaitable[None]]], *, until: Callable[[], bool]) -> None:
    """Has all of them poll for a second, and until this is so, and leave."""
    tasks = [asyncio.create_task(run()) for run in members]
    patience = Patience()
    is_over = False
    while not is_over:
        patience.check()
        ended, _ = await asyncio.wait(tasks, timeout=1)
        assert not ended
        is_over = await asyncio.to_thread(until)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [result for result in results if not isinstance(result, asyncio.CancelledError)] == []


def _polled_member(bootstrap: str, topic: str, group: str, protocol: str) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        if protocol == "share":
            consumer: Any = AsyncShareConsumer(bootstrap, group_id=group, **PACED)
        else:
            settings = {**PROTOCOLS[protocol], **PACED}
            if protocol == "classic":
                settings["heartbeat_interval_ms"] = BACKOFF_MS
            consumer = AsyncConsumer(bootstrap, group_id=group, **settings)
        async with consumer:
            consumer.subscribe([topic])
            while True:
                try:
                    await consumer.poll(0.1)
                except BarnabasError:
                    # As a caller that polls on at once.
                    await asyncio.sleep(0)

    return run

"""Statistics, errors that belong to no call, logs, and the threads in which callbacks come."""

from __future__ import annotations

import json
import time
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, on_both, script
from tests.compat.differential.stage import UNREACHABLE, WAIT, Stage

LIMITED_RATE = 200_000


def _schema(value: Any) -> Any:
    """The keys and types of statistics, without what is named after topics and brokers."""
    if isinstance(value, dict):
        return {key: _schema(content) for key, content in sorted(value.items())}
    return (
        "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    )


def _part(statistics: dict[str, Any], *names: str) -> Any:
    """Inside: a part named by `names`; `*` is the largest member, which has everything."""
    found: Any = statistics
    for name in names:
        found = max(found.values(), key=lambda part: len(json.dumps(part))) if name == "*" else found[name]
    return found


def _record_schema(
    stage: Stage, statistics: dict[str, Any], *names: str, without: tuple[str, ...] = ()
) -> None:
    part = {key: value for key, value in _part(statistics, *names).items() if key not in without}
    stage.record("statistics " + " ".join(names), _schema(part))


def _until_partition_shows(
    stage: Stage, client: Any, received: list[str], topic: str, name: str, figure: int
) -> None:
    """Polls until the last statistics have this figure of the topic's partition 0."""

    def is_shown() -> bool:
        topics = json.loads(received[-1])["topics"] if received else {}
        return topics.get(topic, {}).get("partitions", {}).get("0", {}).get(name) == figure

    stage.until(is_shown, lambda: client.poll(0.1))


@on_both()
def a_producers_statistics_have_librdkafkas_keys(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    received: list[str] = []
    producer = stage.producer(statistics_interval_ms=100, stats_cb=received.append)
    producer.produce(topic, "v")
    producer.flush(WAIT)
    # Those that waited to be told may be of before.
    _until_partition_shows(stage, producer, received, topic, "txmsgs", 1)
    stage.record("type", type(received[-1]))
    statistics = json.loads(received[-1])
    _record_schema(stage, statistics, without=("brokers", "topics"))
    _record_schema(stage, statistics, "brokers", "*", without=("req", "toppars"))
    _record_schema(stage, statistics, "topics", topic, without=("partitions",))
    _record_schema(stage, statistics, "topics", topic, "partitions", "0")
    stage.record("kind", [statistics["type"], statistics["txmsgs"], statistics["topics"][topic]["topic"]])
    stage.record("partitions", sorted(statistics["topics"][topic]["partitions"]))
    stage.record("sent", statistics["topics"][topic]["partitions"]["0"]["txmsgs"])


@on_both()
def a_consumers_statistics_have_librdkafkas_keys(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    received: list[str] = []
    consumer = stage.consumer(statistics_interval_ms=100, stats_cb=received.append)
    consumer.subscribe([topic])
    stage.values(consumer, 2)
    _until_partition_shows(stage, consumer, received, topic, "app_offset", 2)
    statistics = json.loads(received[-1])
    _record_schema(stage, statistics, without=("brokers", "topics"))
    _record_schema(stage, statistics, "topics", topic, "partitions", "0")
    partition = statistics["topics"][topic]["partitions"]["0"]
    stage.record("kind", [statistics["type"], statistics["rxmsgs"]])
    stage.record(
        "partition", [partition[name] for name in ("rxmsgs", "hi_offset", "app_offset", "fetch_state")]
    )


@script()
def statistics_come_from_poll_and_flush_in_the_callers_thread(kafka: ModuleType, stage: Stage) -> None:
    times: list[str] = []

    def received(text: str) -> None:
        if not times:
            stage.record("statistics", type(text))
        times.append(text)

    callback = stage.callback("stats_cb", leaving_out=[str])
    producer = stage.producer(
        statistics_interval_ms=50,
        stats_cb=lambda text: (callback(text) if not times else None, received(text)),
    )
    stage.within("poll", lambda: stage.until(lambda: times, lambda: producer.poll(0.1)))


@script()
def an_exception_of_stats_cb_leaves_poll(kafka: ModuleType, stage: Stage) -> None:
    seen: list[str] = []

    def fail(text: str) -> None:
        seen.append(text)
        raise ValueError("mine")

    producer = stage.producer(statistics_interval_ms=50, stats_cb=fail)
    stage.within("poll", lambda: stage.until(lambda: seen, lambda: producer.poll(0.1)))
    consumer = stage.consumer(statistics_interval_ms=50, stats_cb=fail)
    seen.clear()
    stage.within("poll", lambda: stage.until(lambda: seen, lambda: consumer.poll(0.1)))


@script()
def errors_without_a_call_reach_error_cb(kafka: ModuleType, stage: Stage) -> None:
    for kind in ("producer", "consumer"):
        errors: list[Any] = []
        settings = {"bootstrap_servers": UNREACHABLE, "error_cb": errors.append}
        client = stage.producer(**settings) if kind == "producer" else stage.consumer(**settings)
        codes = {kafka.KafkaError._TRANSPORT, kafka.KafkaError._ALL_BROKERS_DOWN}
        stage.until(
            lambda e=errors, c=codes: c <= {error.code() for error in e}, lambda c=client: c.poll(0.1)
        )
        stage.record(f"{kind}'s errors", {error.name(): error.fatal() for error in errors})
        stage.record("transport", {error.str() for error in errors if error.name() == "_TRANSPORT"})


@script()
def names_that_do_not_resolve_reach_error_cb(kafka: ModuleType, stage: Stage) -> None:
    errors: list[Any] = []
    producer = stage.producer(bootstrap_servers="nowhere.invalid:9092", error_cb=errors.append)
    stage.until(lambda: kafka.KafkaError._RESOLVE in {e.code() for e in errors}, lambda: producer.poll(0.1))
    stage.record("code", sorted({error.name() for error in errors if error.name() == "_RESOLVE"}))


@script()
def error_cb_is_called_from_poll_in_the_callers_thread(kafka: ModuleType, stage: Stage) -> None:
    called: list[Any] = []
    callback = stage.callback("error_cb", leaving_out=[kafka.KafkaError])

    def first(error: Any) -> None:
        if not called:
            callback(error)
        called.append(error)

    producer = stage.producer(bootstrap_servers=UNREACHABLE, error_cb=first)
    stage.within("poll", lambda: stage.until(lambda: called, lambda: producer.poll(0.1)))


@script()
def an_exception_of_error_cb_leaves_poll(kafka: ModuleType, stage: Stage) -> None:
    seen: list[Any] = []

    def fail(error: Any) -> None:
        seen.append(error)
        raise ValueError("mine")

    for make in (stage.producer, stage.consumer):
        seen.clear()
        client = make(bootstrap_servers=UNREACHABLE, error_cb=fail)
        raised: list[Any] = []

        def poll(client: Any = client, raised: list[Any] = raised) -> None:
            try:
                client.poll(0.1)
            except Exception as error:
                raised.append(error)

        stage.until(lambda r=raised: r, poll)
        stage.record("raised", raised[0])


@script()
def errors_reach_the_logger(kafka: ModuleType, stage: Stage) -> None:
    import logging

    lines: list[tuple[int, str]] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append((record.levelno, record.getMessage()))

    logger = logging.getLogger(stage.name("logger"))
    logger.propagate = False
    logger.addHandler(Handler())
    producer = kafka.Producer({"bootstrap.servers": UNREACHABLE}, logger=logger)
    stage.closing(producer.close)
    stage.until(lambda: any(line.startswith("FAIL") for _, line in lines), lambda: producer.poll(0.1))
    stage.record("level", next(level for level, line in lines if line.startswith("FAIL")))


@script()
def the_oauth_callback_is_asked_for_a_token(kafka: ModuleType, stage: Stage) -> None:
    token = stage.callback("oauth_cb", then=lambda text: ("token", time.time() + 3600))
    settings = {
        "security_protocol": "sasl_plaintext",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_config": "the=config",
        "oauth_cb": token,
    }
    for make in (stage.producer, stage.consumer):
        client = stage.within("make", make, **settings)
        stage.attempt("poll", client.poll, 0)


@on_both()
def reports_come_in_the_thread_that_polls(kafka: ModuleType, stage: Stage) -> None:
    import threading

    topic = stage.topic()
    where: list[int] = []
    producer = stage.producer(on_delivery=lambda error, message: where.append(threading.get_ident()))
    producer.produce(topic, "v")
    threads: list[int] = []

    def poll() -> None:
        threads.append(threading.get_ident())
        stage.until(lambda: where, lambda: producer.poll(0.1))

    thread = threading.Thread(target=poll)
    thread.start()
    thread.join()
    stage.record("in the polling thread", where == threads)


@on_both()
def an_admin_clients_statistics_come_from_poll(kafka: ModuleType, stage: Stage) -> None:
    received: list[str] = []
    admin = stage.admin(statistics_interval_ms=100, stats_cb=received.append)
    stage.within("list_topics", admin.list_topics, timeout=WAIT)
    stage.record("without poll", received)
    stage.until(lambda: received, lambda: admin.poll(0.1))
    received.clear()
    stage.until(lambda: received, lambda: admin.poll(0.1))
    statistics = json.loads(received[-1])
    _record_schema(stage, statistics, without=("brokers", "topics"))
    _record_schema(stage, statistics, "brokers", "*", without=("req", "toppars"))
    names = ("type", "topics", "msg_cnt", "msg_size", "msg_max", "msg_size_max", "txmsgs", "rxmsgs")
    stage.record("figures", [statistics[name] for name in names])


@on_apache()
def a_share_consumers_statistics_come_from_poll(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "bc")
    received: list[str] = []
    consumer = stage.share_consumer(
        group_id=stage.share_group(), statistics_interval_ms=100, stats_cb=received.append
    )
    consumer.subscribe([topic])
    messages: list[Any] = []
    stage.until(lambda: len(messages) >= 2, lambda: messages.extend(consumer.poll(0.2)))
    received.clear()
    stage.until(lambda: received, lambda: consumer.poll(0.1))
    received.clear()
    stage.until(lambda: received, lambda: consumer.poll(0.1))
    statistics = json.loads(received[-1])
    _record_schema(stage, statistics, without=("brokers", "topics"))
    _record_schema(stage, statistics, "topics", topic, without=("partitions",))
    _record_schema(stage, statistics, "topics", topic, "partitions", "0")
    stage.record("partitions", sorted(statistics["topics"][topic]["partitions"]))
    partition = statistics["topics"][topic]["partitions"]["0"]
    names = ("rxmsgs", "rxbytes", "msgs", "fetch_state", "desired", "app_offset", "hi_offset", "consumer_lag")
    stage.record("partition", [partition[name] for name in names])
    group = statistics["cgrp"]
    stage.record(
        "group", [group[name] for name in ("state", "join_state", "rebalance_cnt", "assignment_size")]
    )
    stage.record("figures", [statistics[name] for name in ("type", "rxmsgs", "rxmsg_bytes", "txmsgs")])


def _of_node(events: list[Any]) -> list[Any]:
    """Without those of the connection to the bootstrap server, which is throttled as well if the client has
    something to ask there just then."""
    return [event for event in events if event.broker_id >= 0]


def _is_over(events: list[Any]) -> bool:
    return bool(events) and events[-1].throttle_time == 0


def _record_throttling(stage: Stage, events: list[Any]) -> None:
    """Of the first event that says how long, and of the one that says that it is over."""
    long, over = next(event for event in events if event.throttle_time > 0), events[-1]
    for event in (long, over):
        stage.record("event", [type(event), event.broker_name, event.broker_id, type(event.throttle_time)])
    stage.record("over", [over.throttle_time, str(over)])


@on_apache()
def producers_hear_of_being_throttled(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    events: list[Any] = []
    producer = stage.producer(
        client_id=stage.limited_client(producer_byte_rate=LIMITED_RATE),
        throttle_cb=events.append,
        linger_ms=0,
    )

    def send() -> None:
        # So much at first that the broker throttles, and then too little for it to go on.
        producer.produce(topic, b"v" * (1 if events else LIMITED_RATE // 2))
        producer.flush(WAIT)

    stage.until(lambda: _is_over(_of_node(events)), send)
    _record_throttling(stage, _of_node(events))


@on_apache()
def consumers_hear_of_being_throttled(kafka: ModuleType, stage: Stage) -> None:
    # Brokers look at the rate over the last ten seconds or so.
    topic = stage.filled_topic(*[b"v" * (LIMITED_RATE // 2)] * 24)
    events: list[Any] = []
    consumer = stage.reader(
        topic,
        client_id=stage.limited_client(consumer_byte_rate=LIMITED_RATE),
        throttle_cb=events.append,
        max_partition_fetch_bytes=LIMITED_RATE,
    )
    stage.until(lambda: _is_over(_of_node(events)), lambda: consumer.poll(0.1))
    _record_throttling(stage, _of_node(events))

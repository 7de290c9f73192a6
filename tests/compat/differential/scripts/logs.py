"""The log: what a logger is told, by `debug` and without it, when, in which form, and what comes of its
exceptions.

Of what `debug` tells, timing and the inside of a library decide most. So a line counts here only where it has
one of the forms in `FORMS`; the others are each library's own.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, on_both, script
from tests.compat.differential.stage import UNREACHABLE, WAIT, Stage

CONTEXTS = (
    *("generic", "broker", "topic", "metadata", "feature", "queue", "msg", "protocol", "cgrp", "security"),
    *("fetch", "interceptor", "plugin", "consumer", "admin", "eos", "mock", "assignor", "conf", "telemetry"),
)

# A broker, which librdkafka knows a second time as a coordinator.
_B = r"(?:127\.0\.0\.1:\d+/(?:bootstrap|\d+)|(?:Group|Txn)Coordinator(?:/\d+)?(?:: \S+)?)"
_P = r"\S+ \[\d+\]"
_APIS = ("Metadata", "Produce", "Fetch", "JoinGroup", "InitProducerId")

FORMS: dict[str, tuple[str, ...]] = {
    "INIT": (r"librdkafka v2\.16\.0 \(0x21000ff\) \S+ initialized \(.*, debug 0x[0-9a-f]+\)",),
    "CONF": (r"Client configuration:", r"  (?:client\.id|debug|linger\.ms|sasl\.password) = .*"),
    "BROKER": (
        rf"{_B}: Added new broker with NodeId -?\d+",
        rf"{_P}: leader -1 epoch -1 -> leader \d+ epoch \d+",
    ),
    "STATE": (
        rf"{_B}: Broker changed state (?:INIT|TRY_CONNECT|CONNECT|APIVERSION_QUERY) -> "
        r"(?:TRY_CONNECT|CONNECT|APIVERSION_QUERY|UP)",
        r"Topic \S+ changed state unknown -> exists",
    ),
    "CONNECT": (rf"{_B}: broker in state TRY_CONNECT connecting", rf"{_B}: Connected to ipv4#\S+"),
    "CONNECTED": (rf"{_B}: Connected \(#\d+\)",),
    "CLUSTERID": (rf"(?:{_B}: )?ClusterId update \"\" -> \"\S+\"",),
    "CONTROLLERID": (rf"(?:{_B}: )?ControllerId update -1 -> \d+",),
    "APIVERSION": (
        rf"{_B}: Broker API support:",
        rf"{_B}:   ApiKey (?:Produce|Fetch) \(\d+\) Versions \d+\.\.\d+",
    ),
    "SEND": tuple(rf"{_B}: Sent {api}Request \(v\d+, \d+ bytes @ 0, CorrId \d+\)" for api in _APIS),
    "RECV": tuple(
        rf"{_B}: Received {api}Response \(v\d+, \d+ bytes, CorrId \d+, rtt \d+\.\d\dms\)" for api in _APIS
    ),
    "TOPIC": (r"New local topic: \S+",),
    "PARTCNT": (r"Topic \S+ (?:\(id \S+\) )?partition count changed from 0 to \d+",),
    "METADATA": (
        rf"(?:{_B}: )?===== Received metadata.*=====",
        rf"(?:{_B}: )?ClusterId: \S+, ControllerId: \d+",
        rf"(?:{_B}: )?  Broker #0/1: \S+ NodeId 1",
        r"Topic \S+ \[\d+\] Leader \d+ Epoch \d+",
    ),
    "PRODUCE": (rf"{_B}: {_P}: Produce MessageSet with \d+ message\(s\) \(\d+ bytes, .*uncompressed\)",),
    "MSGSET": (rf"(?:{_B}: )?{_P}: MessageSet with \d+ message\(s\) .*delivered.*",),
    "GETPID": (r"Acquired PID\{Id:\d+,Epoch:\d+\}",),
    "IDEMPSTATE": (r"Idempotent producer state change WaitPID -> Assigned",),
    "TXNSTATE": (
        r"Transaction state change Init -> WaitPID",
        r"Transaction state change Ready -> InTransaction",
        r"Transaction state change InTransaction -> \w+",
    ),
    "TXNAPI": tuple(
        rf"Transactional API called: {call} .*"
        for call in ("init_transactions", "begin_transaction", "commit_transaction", "abort_transaction")
    ),
    "TXNCOORD": (rf"{_B}: .*[Tt]ransaction coordinator is broker \d+ \(\S+\)",),
    "TXNCOMPLETE": (r"Transaction successfully (?:committed|aborted)",),
    "CGRPSTATE": (r'Group "\S+" changed state [\w-]+ -> up \(join-state [\w-]+\)',),
    "CGRPJOINSTATE": (
        r'Group "\S+" changed join state [\w-]+ -> wait-assign-call \(state up\)',
        r'Group "\S+" changed join state wait-assign-call -> steady \(state up\)',
    ),
    "CGRPQUERY": (rf'(?:{_B}: )?Group "\S+": querying for coordinator: .*',),
    "CGRPCOORD": (
        rf'(?:{_B}: )?Group "\S+" coordinator is \S+ id \d+',
        r'Group "\S+" changing coordinator -1 -> \d+',
    ),
    "COORDSET": (r'Group "\S+" coordinator set to broker \S+',),
    "SUBSCRIBE": (r'Group "\S+": subscribe to new subscription of 1 topics.*',),
    "JOIN": (rf'(?:{_B}: )?Joining group "\S+" with 1 subscribed topic\(s\) and member id "\S*"',),
    "JOINGROUP": (
        r"JoinGroup response: GenerationId \d+, Protocol range, LeaderId \S+ \(me\), my MemberId \S+, member "
        r"metadata count 1: \(no error\)",
        r'I am elected leader for group "\S+" with 1 member\(s\)',
    ),
    "ASSIGNOR": (r'Group "\S+": "range" assignor run for 1 member\(s\)',),
    "ASSIGN": (r'Group "\S+": new assignment of \d+ partition\(s\) in join-state [\w-]+',),
    "ASSIGNMENT": (r'Group "\S+": setting group assignment to 1 partition\(s\)',),
    "GRPASSIGNMENT": (r"List with 1 partition\(s\):", rf" {_P}.*"),
    "HEARTBEAT": (r'(?:\S+: )?Heartbeat for group "\S+" generation id \d+',),
    "SHAREHEARTBEAT": (rf'(?:{_B}: )?ShareGroupHeartbeat of (?:group id|member id) "\S+", .*',),
    "SHAREFETCH": (
        rf"{_B}: Sending ShareFetch Request \(epoch \d+\) with .*fetching messages.*",
        rf"{_B}: {_P}: Acquired Records from offset 0 to 0, DeliveryCount 1",
    ),
    "SHAREACK": (
        rf"{_B}: Sending ShareAcknowledge Request with acknowledgements",
        rf"{_B}: Adding ack for topic {_P}.*",
    ),
    "COMMIT": (rf"(?:{_B}: )?OffsetCommit for 1 partition\(s\) in join-state steady: .*returned: Success",),
    "UNSUBSCRIBE": (r'Group "\S+": unsubscribe from current subscription.*',),
    "LEAVE": (r'Group "\S+": leave \(in state up\).*', rf"(?:{_B}: )?Leaving group"),
    "CLOSE": (r"Closing consumer",),
    "OFFSET": (rf"(?:{_B}: )?Fetch committed offsets for 1/1 partition\(s\)",),
    "FETCH": (
        rf"Partition {_P} start fetching at offset \d+.*",
        rf"{_B}: Fetch topic {_P} at offset \d+.*",
        rf'{_B}: Topic {_P} MessageSet size \d+, error "Success".*',
    ),
    "CONSUME": (rf"{_B}: Enqueue .* on {_P} fetch queue.*",),
    "PAUSE": (r"Application pausing \d+ partition\(s\)",),
    "RESUME": (r"Application resuming \d+ partition\(s\)",),
    "CONSUMER": (rf"Seek {_P} to offset \d+.*",),
    "CREATETOPICS": (
        r"CREATETOPICS worker called in state initializing: Success",
        r"CREATETOPICS worker called in state waiting for response from broker: Success",
    ),
    "FAIL": (
        rf"{_B}: Connect to ipv4#127\.0\.0\.1:1 failed: Connection refused \(after \d+ms in state CONNECT\)",
        rf"{_B}: Connect to ipv4#\S+ failed: Connection refused \(after .* in state CONNECT\) \(_TRANSPORT\)",
    ),
}  # fmt: skip


class Log:
    """A logger that keeps what it is told: the level, the facility, the client's name and the line."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, str, str, str]] = []

    def log(self, level: int, form: str, facility: str, name: str, line: str) -> None:
        assert form == "%s [%s] %s"
        self.lines.append((level, facility, name, line))

    def seen(self) -> list[tuple[int, str, str]]:
        """The forms that there were, each with its level and its thread's kind."""
        found: set[tuple[int, str, str]] = set()
        for level, facility, _, line in self.lines:
            match = re.fullmatch(r"\[thrd:([^\]]*)\]: (.*)", line)
            assert match is not None, line
            for form in FORMS.get(facility, ()):
                if re.fullmatch(form, match[2]):
                    found.add((level, facility, form))
        return sorted(found)

    def facilities(self) -> list[str]:
        return sorted({facility for _, facility, _, _ in self.lines})


def with_each(stage: Stage, contexts: str, play: Callable[[str, Log], None], *, log_level: int = 6) -> None:
    for context in contexts.split():
        log = Log()
        play(context, log)
        stage.record(context, log.seen())


@script()
def each_context_begins_with_init(kafka: ModuleType, stage: Stage) -> None:
    for context in [*CONTEXTS, "all", "broker,cgrp", "all,-msg"]:
        log = Log()
        producer = kafka.Producer({"bootstrap.servers": UNREACHABLE, "debug": context}, logger=log)
        stage.closing(producer.close)
        stage.until(lambda log=log: "INIT" in log.facilities(), lambda p=producer: p.poll(0.05))
        level, _, _, line = next(told for told in log.lines if told[1] == "INIT")
        match = re.search(r"\[thrd:(\w+)\].*(debug 0x[0-9a-f]+)\)$", line)
        stage.record(context, (level, match and match.groups()))


@on_both()
def a_producers_debug_lines(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()

    def play(context: str, log: Log) -> None:
        producer = kafka.Producer({"bootstrap.servers": stage.bootstrap, "debug": context}, logger=log)
        producer.produce(topic, "v")
        stage.within("flush", producer.flush, WAIT)
        producer.poll(0)
        producer.close()

    with_each(stage, "generic broker topic metadata feature msg protocol security cgrp fetch admin", play)


@on_both()
def an_idempotent_producers_debug_lines(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()

    def play(context: str, log: Log) -> None:
        settings = {"bootstrap.servers": stage.bootstrap, "debug": context, "enable.idempotence": True}
        producer = kafka.Producer(settings, logger=log)
        producer.produce(topic, "v")
        stage.within("flush", producer.flush, WAIT)
        producer.close()

    with_each(stage, "eos protocol", play)


@on_apache()
def a_transactional_producers_debug_lines(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()

    def play(context: str, log: Log) -> None:
        settings = {
            "bootstrap.servers": stage.bootstrap,
            "debug": context,
            "transactional.id": stage.name("transaction"),
        }
        producer = kafka.Producer(settings, logger=log)
        stage.within("init", producer.init_transactions, WAIT)
        for end in (producer.commit_transaction, producer.abort_transaction):
            stage.within("begin", producer.begin_transaction)
            producer.produce(topic, "v")
            stage.within("end", end, WAIT)
        producer.poll(0)
        producer.close()

    with_each(stage, "eos", play)


def _consume(kafka: ModuleType, stage: Stage, topic: str, log: Log, **settings: Any) -> None:
    defaults = {
        "bootstrap.servers": stage.bootstrap,
        "group.id": stage.group(),
        "auto.offset.reset": "earliest",
    }
    consumer = kafka.Consumer(defaults | settings, logger=log)
    consumer.subscribe([topic])
    stage.messages(consumer, 1)
    stage.within("commit", consumer.commit, asynchronous=False)
    consumer.pause(consumer.assignment())
    consumer.resume(consumer.assignment())
    consumer.seek(kafka.TopicPartition(topic, 0, 0))
    stage.messages(consumer, 1)
    if settings.get("heartbeat.interval.ms"):
        stage.until(
            lambda: "HEARTBEAT" in log.facilities() or settings["debug"] != "cgrp", lambda: consumer.poll(0.1)
        )
    consumer.unsubscribe()
    stage.until(lambda: not consumer.assignment(), lambda: consumer.poll(0.1))
    consumer.close()


@on_both()
def a_consumers_debug_lines(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")

    def play(context: str, log: Log) -> None:
        _consume(kafka, stage, topic, log, **{"debug": context, "heartbeat.interval.ms": 300})

    with_each(stage, "cgrp consumer fetch topic assignor msg protocol", play)


@on_apache()
def debug_lines_of_a_member_that_the_broker_assigns(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")

    def play(context: str, log: Log) -> None:
        _consume(kafka, stage, topic, log, **{"debug": context, "group.protocol": "consumer"})

    with_each(stage, "cgrp consumer fetch", play)


@on_both()
def an_admin_clients_debug_lines(kafka: ModuleType, stage: Stage) -> None:
    admin = stage.module("admin")

    def play(context: str, log: Log) -> None:
        client = admin.AdminClient({"bootstrap.servers": stage.bootstrap, "debug": context}, logger=log)
        new = admin.NewTopic(stage.name("topic"), 1, 1)
        for future in client.create_topics([new]).values():
            stage.within("create", future.result)
        stage.record("before poll", log.lines)
        stage.until(
            lambda: "INIT" in log.facilities(),
            lambda: client.poll(0.1),
        )
        client.poll(0)

    with_each(stage, "admin broker generic protocol", play)


@on_apache()
def a_share_consumers_lines(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")

    def play(context: str, log: Log) -> None:
        settings = {"bootstrap.servers": stage.bootstrap, "group.id": stage.share_group(), "debug": context}
        consumer = kafka.ShareConsumer(settings, logger=log)
        stage.closing(consumer.close)
        consumer.subscribe([topic])
        messages: list[Any] = []
        stage.until(lambda: messages, lambda: messages.extend(consumer.poll(0.2)))
        stage.within("commit", consumer.commit_sync, WAIT)
        consumer.poll(0.1)
        stage.record("warning", [line[3] for line in log.lines if line[1] == "SHARECONSUMER"])

    with_each(stage, "broker metadata fetch", play)
    of_group = Log()
    play("cgrp", of_group)
    stage.record(
        "cgrp", [line for line in of_group.seen() if line[1] in ("INIT", "SHAREHEARTBEAT", "CGRPCOORD")]
    )


@script()
def debug_lines_of_clients_that_reach_no_broker(kafka: ModuleType, stage: Stage) -> None:
    for kind in (kafka.Producer, kafka.Consumer):
        log = Log()
        settings = {"bootstrap.servers": UNREACHABLE, "debug": "broker,cgrp"}
        client = kind(settings | ({"group.id": "g"} if kind is kafka.Consumer else {}), logger=log)
        stage.closing(client.close)
        if kind is kafka.Consumer:
            client.subscribe(["t"])
        stage.until(
            lambda log=log: {10, 40} <= {line[0] for line in log.lines if line[1] == "FAIL"},
            lambda c=client: c.poll(0.1),
        )
        stage.record(kind.__name__, [line for line in log.seen() if line[1] in ("FAIL", "INIT", "CONNECT")])


@script()
def conf_lists_what_was_configured(kafka: ModuleType, stage: Stage) -> None:
    settings = {
        "bootstrap.servers": UNREACHABLE,
        "debug": "conf",
        "client.id": "me",
        "linger.ms": 7,
        "enable.idempotence": True,
        "compression.type": "gzip",
        "sasl.password": "secret",
        "sasl.username": "me",
        "ssl.key.password": "secret",
        "acks": "all",
        "message.timeout.ms": 4000,
        "sasl.oauthbearer.client.secret": "secret",
    }
    log = Log()
    producer = kafka.Producer(settings, logger=log)
    stage.closing(producer.close)
    stage.until(lambda: "CONF" in log.facilities(), lambda: producer.poll(0.05))
    # What belongs to the library: the addresses of functions, and the name that it goes by.
    hidden = re.compile(r"0x|client\.software|default_topic_conf|log\.queue")
    lines = [line for _, facility, _, line in log.lines if facility == "CONF" and not hidden.search(line)]
    stage.record("lines", lines)


@script()
def log_level_and_debug_say_what_is_told(kafka: ModuleType, stage: Stage) -> None:
    for settings in (
        {},
        {"log_level": 3},
        {"log_level": 2},
        {"log_level": 0, "debug": "broker"},
        {"log.thread.name": False},
        {"log.queue": False},
        {"debug": "conf", "log.thread.name": False},
    ):
        log, errors = Log(), []
        producer = kafka.Producer(
            {"bootstrap.servers": UNREACHABLE, "error_cb": errors.append, **settings}, logger=log
        )
        stage.closing(producer.close)
        stage.until(lambda e=errors: e, lambda p=producer: p.poll(0.05))
        producer.poll(0.05)
        failures = {
            (level, line) for level, facility, _, line in log.lines if facility == "FAIL" and level > 10
        }
        stage.record(str(settings), {(level, line.split(" (after")[0]) for level, line in failures})
        stage.record("levels", sorted({level for level, *_ in log.lines}))


class _Failing:
    def __init__(self, error: BaseException) -> None:
        self._error = error

    def log(self, *_: object) -> None:
        raise self._error


@script()
def what_a_logger_raises_leaves_the_call_that_served_it(kafka: ModuleType, stage: Stage) -> None:
    settings = {"bootstrap.servers": UNREACHABLE, "debug": "conf", "group.id": "g"}
    for logger in (_Failing(ValueError("mine")), _Failing(KeyboardInterrupt()), object(), 3):
        producer = kafka.Producer(settings, logger=logger)
        try:
            stage.attempt("poll", producer.poll, 0.1)
        except KeyboardInterrupt:
            stage.record("poll", "interrupted")
    failing = _Failing(ValueError("mine"))
    stage.attempt("flush", kafka.Producer(settings, logger=failing).flush, 0.1)
    stage.attempt("a producer's close", kafka.Producer(settings, logger=failing).close)
    stage.attempt("a consumer's poll", kafka.Consumer(settings, logger=failing).poll, 0.1)
    stage.attempt("consume", kafka.Consumer(settings, logger=failing).consume, 1, 0.1)
    consumer = kafka.Consumer(settings, logger=failing)
    stage.attempt("a consumer's close", consumer.close)
    stage.attempt("closed", consumer.poll, 0)
    admin = stage.module("admin").AdminClient(settings, logger=failing)
    stage.attempt("an admin client's poll", admin.poll, 0.1)


@script()
def which_calls_serve_the_logger(kafka: ModuleType, stage: Stage) -> None:
    partition = kafka.TopicPartition("t", 0, 1)
    settings = {
        "bootstrap.servers": UNREACHABLE,
        "group.id": "g",
        "debug": "all",
        "enable.auto.offset.store": False,
    }
    calls: dict[str, Callable[[Any], Any]] = {
        "poll": lambda c: c.poll(0),
        "consume": lambda c: c.consume(1, 0),
        "committed": lambda c: c.committed([partition], timeout=0.1),
        "list_topics": lambda c: c.list_topics(timeout=0.1),
        "position": lambda c: c.position([partition]),
        "get_watermark_offsets": lambda c: c.get_watermark_offsets(partition, timeout=0.1),
        "assign": lambda c: c.assign([partition]),
        "assignment": lambda c: c.assignment(),
        "unsubscribe": lambda c: c.unsubscribe(),
        "close": lambda c: c.close(),
    }
    for name, call in calls.items():
        log = Log()
        consumer = kafka.Consumer(settings, logger=log)
        stage.closing(consumer.close)
        stage.record("told while it is made", log.lines)
        stage.within(name, call, consumer)
        stage.record(f"told by {name}", bool(log.lines))
    for name, call in {
        "produce": lambda p: p.produce("t", b"v"),
        "poll": lambda p: p.poll(0),
        "flush": lambda p: p.flush(0),
        "purge": lambda p: p.purge(),
        "list_topics": lambda p: p.list_topics(timeout=0.1),
        "len": len,
    }.items():
        log = Log()
        producer = kafka.Producer(settings, logger=log)
        stage.closing(lambda p=producer: (p.purge(), p.flush(0)))
        stage.within(name, call, producer)
        stage.record(f"told by {name}", bool(log.lines))


@script()
def a_logger_is_a_key_or_a_keyword(kafka: ModuleType, stage: Stage) -> None:
    settings = {"bootstrap.servers": UNREACHABLE, "debug": "conf"}
    key, keyword = Log(), Log()
    stage.within("poll", kafka.Producer({**settings, "logger": key}).poll, 0.1)
    stage.record("as a key", "CONF" in key.facilities())
    key.lines.clear()
    stage.within("poll", kafka.Producer({**settings, "logger": key}, logger=keyword).poll, 0.1)
    stage.record("both", [bool(key.lines), "CONF" in keyword.facilities()])
    stage.attempt("log_cb", kafka.Producer, {**settings, "log_cb": print})
    stage.attempt("log_cb as a keyword", kafka.Producer, settings, log_cb=print)


@script()
def a_deprecated_property_is_told_to_clients_of_all_kinds(kafka: ModuleType, stage: Stage) -> None:
    for kind in (kafka.Producer, kafka.Consumer, stage.module("admin").AdminClient):
        log = Log()
        settings = {"bootstrap.servers": UNREACHABLE, "socket.blocking.max.ms": 5}
        settings |= {"group.id": "g"} if kind is kafka.Consumer else {}
        client = kind(settings, logger=log)
        stage.until(lambda log=log: "CONFWARN" in log.facilities(), lambda c=client: c.poll(0.05))
        stage.record(kind.__name__, [(line[0], line[3]) for line in log.lines if line[1] == "CONFWARN"])


@on_apache()
def an_offset_that_is_not_there_is_a_warning(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    log = Log()
    settings = {
        "bootstrap.servers": stage.bootstrap,
        "group.id": stage.group(),
        "auto.offset.reset": "earliest",
    }
    consumer = kafka.Consumer(settings, logger=log)
    stage.closing(consumer.close)
    consumer.assign([kafka.TopicPartition(topic, 0, 1000)])
    stage.values(consumer, 2)
    stage.until(lambda: "OFFSET" in log.facilities(), lambda: consumer.poll(0.1))
    stage.record("lines", [(level, line) for level, facility, _, line in log.lines if facility == "OFFSET"])


@on_apache()
def a_program_that_does_not_poll_is_a_warning(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")
    log = Log()
    settings = {
        "bootstrap.servers": stage.bootstrap,
        "group.id": stage.group(),
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
        "max.poll.interval.ms": 1000,
    }
    consumer = kafka.Consumer(settings, logger=log)
    stage.closing(consumer.close)
    consumer.subscribe([topic])
    stage.messages(consumer, 1)
    time.sleep(2.5)
    stage.until(lambda: "MAXPOLL" in log.facilities(), lambda: consumer.poll(0.1))
    level, _, _, line = next(told for told in log.lines if told[1] == "MAXPOLL")
    stage.record("line", (level, re.sub(r"by \d+ms", "by <n>ms", line)))


def _stderr_of(work: Callable[[], object]) -> list[str]:
    """The lines that come on stderr meanwhile, C's and Python's."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            with os.fdopen(os.dup(file.fileno()), "w") as python, contextlib.redirect_stderr(python):
                work()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return file.read().decode().splitlines()


@script(alone=True)
def without_a_logger_lines_go_to_stderr(kafka: ModuleType, stage: Stage) -> None:
    def fail() -> None:
        errors: list[Any] = []
        settings = {"bootstrap.servers": UNREACHABLE, "debug": "conf", "error_cb": errors.append}
        producer = kafka.Producer(settings)
        stage.until(lambda: errors, lambda: producer.poll(0.05))
        producer.close()

    forms: set[str] = set()
    for line in _stderr_of(fail):
        match = re.fullmatch(r"(%\d)\|\d+\.\d{3}\|(\w+)\|rdkafka#producer-\d+\| (\[thrd:[^\]]*\]): .*", line)
        if match is not None and match[2] in ("INIT", "CONF", "FAIL"):
            forms.add(" ".join(match.groups()))
    stage.record("forms", sorted(forms))


@script(alone=True)
def a_producer_that_is_let_go_of_with_messages_says_so_on_stderr(kafka: ModuleType, stage: Stage) -> None:
    def let_go(count: int) -> None:
        producer = kafka.Producer({"bootstrap.servers": UNREACHABLE})
        for _ in range(count):
            producer.produce("t", b"v")
        del producer

    for count in (1, 2):
        lines = [
            line.partition("| ")[2] for line in _stderr_of(lambda n=count: let_go(n)) if "TERMINATE" in line
        ]
        stage.record(f"{count}", lines)


def _aio(kafka: ModuleType, stage: Stage, work: Callable[[Any], Any]) -> None:
    import asyncio

    asyncio.run(work(stage.module("aio")))


@on_both()
def a_logger_of_clients_for_asyncio(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")
    settings = {"bootstrap.servers": stage.bootstrap, "debug": "broker"}

    async def produce(aio: ModuleType) -> None:
        log = Log()
        producer = aio.AIOProducer({**settings, "logger": log})
        await (await producer.produce(topic, value=b"v"))
        await producer.flush()
        await producer.close()
        stage.record("producer", log.seen())

    async def consume(aio: ModuleType) -> None:
        log = Log()
        group = {"group.id": stage.group(), "auto.offset.reset": "earliest"}
        consumer = aio.AIOConsumer({**settings, **group, "logger": log})
        await consumer.subscribe([topic])
        while await consumer.poll(0.5) is None:
            pass
        await consumer.close()
        stage.record("consumer", log.seen())

    for work in (produce, consume):
        _aio(kafka, stage, work)

"""Loggers of all kinds that programs have: adapters, filters, levels, handlers that come, go and fail."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, on_both, script
from tests.compat.differential.scripts.logs import CONTEXTS, Log, with_each
from tests.compat.differential.scripts.sharing.records import polled
from tests.compat.differential.stage import UNREACHABLE, WAIT, Stage

SETTINGS = {"bootstrap.servers": UNREACHABLE, "group.id": "g", "debug": "conf"}
FIRST = ("INIT", "CONF", "CONFWARN")


class Records(logging.Handler):
    """Keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(record)

    def seen(self) -> list[str]:
        """The levels and facilities that there were, of those that a client begins with."""
        found = {(record.levelname, str(record.args[0])) for record in self.kept if record.args}
        return sorted(f"{level} {facility}" for level, facility in found if facility in FIRST)


@contextmanager
def logger_with(stage: Stage, *handlers: logging.Handler) -> Iterator[logging.Logger]:
    logger = logging.getLogger(stage.name("logger"))
    logger.propagate = False
    logger.setLevel(1)
    for handler in handlers:
        logger.addHandler(handler)
    yield logger


def told(stage: Stage, kafka: ModuleType, logger: Any, condition: Callable[[], Any], **settings: Any) -> Any:
    """A producer that tells the logger of its configuration, polled until `condition`."""
    producer = kafka.Producer({**SETTINGS, **settings}, logger=logger)
    stage.closing(producer.close)
    stage.within("poll", lambda: stage.until(condition, lambda: producer.poll(0.05)))
    return producer


@script()
def a_logger_is_given_a_form_and_its_arguments(kafka: ModuleType, stage: Stage) -> None:
    records = Records()
    with logger_with(stage, records) as logger:
        told(stage, kafka, logger, lambda: records.kept)
    record = next(kept for kept in records.kept if kept.args and kept.args[0] == "INIT")
    stage.record("form", record.msg)
    stage.record("kinds of arguments", [type(argument).__name__ for argument in record.args or ()])
    stage.record("level", [record.levelno, record.levelname])
    stage.record("where", [record.filename, record.funcName, record.stack_info, record.exc_info])
    stage.record("name", [record.name, record.processName])


@script()
def a_logger_adapter_is_a_logger(kafka: ModuleType, stage: Stage) -> None:
    class Adapter(logging.LoggerAdapter):  # type: ignore[type-arg]
        def process(self, msg: Any, kwargs: Any) -> Any:
            return f"mine {msg}", {**kwargs, "extra": {"client": self.extra and self.extra["client"]}}

    for kind in (logging.LoggerAdapter, Adapter):
        records = Records()
        with logger_with(stage, records) as logger:
            told(stage, kafka, kind(logger, {"client": "one"}), lambda r=records: r.kept)
        record = records.kept[0]
        stage.record(kind.__name__, [record.msg, getattr(record, "client", None)])
        stage.record("seen", records.seen())


@script()
def filters_and_levels_decide_what_is_logged(kafka: ModuleType, stage: Stage) -> None:
    def only_init(record: logging.LogRecord) -> bool:
        return bool(record.args) and record.args[0] == "INIT"

    def prepare(label: str, logger: logging.Logger, records: Records) -> None:
        match label:
            case "filter":
                logger.addFilter(only_init)
            case "handler's filter":
                records.addFilter(only_init)
            case "level":
                logger.setLevel(logging.WARNING)
            case "handler's level":
                records.setLevel(logging.WARNING)
            case "level of all":
                logger.setLevel(logging.NOTSET)
            case "disabled":
                logger.disabled = True

    for label in (
        "none",
        "filter",
        "handler's filter",
        "level",
        "handler's level",
        "level of all",
        "disabled",
    ):
        records, errors = Records(), list[Any]()
        with logger_with(stage, records) as logger:
            prepare(label, logger, records)
            producer = told(stage, kafka, logger, lambda e=errors: e, error_cb=errors.append)
            producer.poll(0.1)
            stage.record(label, records.seen())


@script()
def handlers_come_and_go_while_a_client_runs(kafka: ModuleType, stage: Stage) -> None:
    first, second = Records(), Records()
    with logger_with(stage, first) as logger:
        producer = told(stage, kafka, logger, lambda: first.kept, debug="conf,broker")
        logger.removeHandler(first)
        count = len(first.kept)
        stage.within("poll without one", producer.poll, 0.3)
        logger.addHandler(second)
        stage.until(lambda: second.kept, lambda: producer.poll(0.05), timeout=20)
        stage.record("the first had no more", len(first.kept) == count)
        stage.record("the second had", bool(second.kept))


@script()
def a_handler_may_remove_itself_and_use_the_client(kafka: ModuleType, stage: Stage) -> None:
    made: list[Any] = []
    seen: list[Any] = []

    class Curious(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logger.removeHandler(self)
            # The original does not survive a poll here.
            seen.append([len(made[0]) >= 0, made[0].purge()])

    with logger_with(stage, Curious()) as logger:
        producer = kafka.Producer(SETTINGS, logger=logger)
        stage.closing(producer.close)
        made.append(producer)
        stage.until(lambda: seen, lambda: producer.poll(0.05))
        producer.poll(0.1)
        stage.record("seen", seen)


@script()
def loggers_above_are_told_as_well(kafka: ModuleType, stage: Stage) -> None:
    for propagates in (True, False):
        above, below = Records(), Records()
        with logger_with(stage, above) as logger:
            child = logger.getChild("child")
            child.addHandler(below)
            child.propagate = propagates
            told(stage, kafka, child, lambda b=below: b.kept)
            stage.record(f"propagates {propagates}", [above.seen(), below.seen()])


class FailingHandler(logging.Handler):
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self._error = error

    def emit(self, record: logging.LogRecord) -> None:
        raise self._error


class HandledFailure(logging.Handler):
    """Fails as handlers of the library do, which tell `handleError`."""

    def __init__(self) -> None:
        super().__init__()
        self.handled: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        try:
            raise ValueError("mine")
        except ValueError:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:
        self.handled.append(record)


def _clients(kafka: ModuleType, stage: Stage) -> dict[str, Callable[..., Any]]:
    return {
        "Producer": kafka.Producer,
        "Consumer": kafka.Consumer,
        "AdminClient": stage.module("admin").AdminClient,
    }


@script()
def what_handlers_and_filters_raise_leaves_poll(kafka: ModuleType, stage: Stage) -> None:
    def refuse(record: logging.LogRecord) -> bool:
        raise ValueError("filter")

    for name, make in _clients(kafka, stage).items():
        for error in (ValueError("mine"), kafka.KafkaException(kafka.KafkaError(5)), KeyboardInterrupt()):
            with logger_with(stage, FailingHandler(error)) as logger:
                client = make(SETTINGS, logger=logger)
                try:
                    stage.attempt(f"{name} {type(error).__name__}", client.poll, 0.2)
                except KeyboardInterrupt:
                    stage.record(name, "interrupted")
        with logger_with(stage, Records()) as logger:
            logger.addFilter(refuse)
            stage.attempt(f"{name}: filter", make(SETTINGS, logger=logger).poll, 0.2)
        handler = HandledFailure()
        with logger_with(stage, handler) as logger:
            client = make(SETTINGS, logger=logger)
            stage.until(lambda h=handler: h.handled, lambda c=client: c.poll(0.05))
            stage.record(f"{name}: handled", bool(handler.handled))


@script()
def what_is_no_logger_fails_where_it_is_served(kafka: ModuleType, stage: Stage) -> None:
    class Counting:
        def __init__(self) -> None:
            self.calls: list[tuple[Any, ...]] = []

        def log(self, *arguments: Any, **keywords: Any) -> Any:
            self.calls.append((len(arguments), sorted(keywords)))
            return NotImplemented

    for given in (None, "logger", 3, print, logging):
        for name, make in _clients(kafka, stage).items():
            client = stage.within(f"{name} {type(given).__name__}", make, SETTINGS, logger=given)
            if client is not None and given is not None and given is not logging:
                stage.attempt(f"{name} {type(given).__name__}: poll", client.poll, 0.1)
    counting = Counting()
    told(stage, kafka, counting, lambda: counting.calls)
    stage.record("calls", sorted(set(map(str, counting.calls))))


@script()
def each_context_begins_with_init_for_clients_of_all_kinds(kafka: ModuleType, stage: Stage) -> None:
    aio = stage.module("aio")

    def seen(log: Log) -> Any:
        level, _, name, line = next(told for told in log.lines if told[1] == "INIT")
        match = re.search(r"\[thrd:(\w+)\].*(debug 0x[0-9a-f]+)\)$", line)
        return level, re.sub(r"\d+", "<n>", name), match and match.groups()

    async def play(make: Callable[..., Any], settings: dict[str, Any], log: Log) -> None:
        client = make({**settings, "logger": log})
        while "INIT" not in log.facilities():
            await client.poll(0.05)
        await client.close()

    for context in CONTEXTS:
        settings = {**SETTINGS, "debug": context}
        for name, make in {**_clients(kafka, stage), "ShareConsumer": kafka.ShareConsumer}.items():
            log = Log()
            client = make(settings, logger=log)
            if name == "ShareConsumer":
                client.subscribe(["t"])
            stage.until(lambda log=log: "INIT" in log.facilities(), lambda c=client: c.poll(0.05))
            stage.record(f"{name} {context}", seen(log))
            if name != "AdminClient":
                client.close()
        for kind in (aio.AIOProducer, aio.AIOConsumer):
            log = Log()
            asyncio.run(play(kind, settings, log))
            stage.record(f"{kind.__name__} {context}", seen(log))


def _others(*contexts: str) -> str:
    """The contexts that other scripts do not look at for a client of this kind."""
    return " ".join(context for context in CONTEXTS if context not in contexts)


@on_both()
def other_contexts_of_a_producer(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()

    def play(context: str, log: Log) -> None:
        producer = kafka.Producer({"bootstrap.servers": stage.bootstrap, "debug": context}, logger=log)
        producer.produce(topic, "v")
        stage.within("flush", producer.flush, WAIT)
        producer.poll(0)
        producer.close()

    known = ("generic", "broker", "topic", "metadata", "feature", "msg", "protocol", "security", "cgrp")
    with_each(stage, _others(*known, "fetch", "admin", "conf"), play)


@on_both()
def other_contexts_of_a_consumer(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")

    def play(context: str, log: Log) -> None:
        consumer = kafka.Consumer(
            {
                "bootstrap.servers": stage.bootstrap,
                "group.id": stage.group(),
                "auto.offset.reset": "earliest",
                "debug": context,
            },
            logger=log,
        )
        consumer.subscribe([topic])
        stage.messages(consumer, 1)
        consumer.close()

    known = ("cgrp", "consumer", "fetch", "topic", "assignor", "msg", "protocol", "conf")
    with_each(stage, _others(*known), play)


@on_apache()
def other_contexts_of_a_share_consumer(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")

    def play(context: str, log: Log) -> None:
        settings = {"bootstrap.servers": stage.bootstrap, "group.id": stage.share_group(), "debug": context}
        consumer = kafka.ShareConsumer(settings, logger=log)
        consumer.subscribe([topic])
        polled(stage, consumer, 1)
        stage.within("commit", consumer.commit_sync, WAIT)
        consumer.close()

    with_each(stage, _others("broker", "metadata", "fetch", "cgrp", "conf"), play)


@on_both()
def other_contexts_of_an_admin_client(kafka: ModuleType, stage: Stage) -> None:
    admin = stage.module("admin")

    def play(context: str, log: Log) -> None:
        client = admin.AdminClient({"bootstrap.servers": stage.bootstrap, "debug": context}, logger=log)
        for future in client.create_topics([admin.NewTopic(stage.name("topic"), 1, 1)]).values():
            stage.within("create", future.result)
        stage.until(lambda: "INIT" in log.facilities(), lambda: client.poll(0.1))
        client.poll(0)

    with_each(stage, _others("admin", "broker", "generic", "protocol", "conf"), play)


@script()
def what_handlers_raise_leaves_what_is_awaited(kafka: ModuleType, stage: Stage) -> None:
    aio = stage.module("aio")

    async def attempt(label: str, work: Callable[[], Any]) -> None:
        try:
            result = await work()
        except Exception as error:
            stage.record(label, error)
        else:
            # How many lines a poll of a producer counts is decided by timing.
            stage.record(label, type(result).__name__)

    async def play(logger: logging.Logger) -> None:
        for kind in (aio.AIOProducer, aio.AIOConsumer):
            for label, work in (
                ("poll", lambda client: client.poll(0.1)),
                ("close", lambda client: client.close()),
            ):
                client = kind({**SETTINGS, "logger": logger})
                await attempt(f"{kind.__name__} {label}", lambda c=client, w=work: w(c))
                if label == "poll":
                    logger.disabled = True
                    await client.close()
                    logger.disabled = False

    with logger_with(stage, FailingHandler(ValueError("mine"))) as logger:
        asyncio.run(play(logger))

"""The life of a ShareConsumer: made twice, closed, never made, and dropped without a word."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, script
from tests.compat.differential.stage import Stage

from barnabas import Admin

EXPLICIT = {"share_acknowledgement_mode": "explicit"}


def _settings(stage: Stage, **settings: Any) -> dict[str, Any]:
    return {"bootstrap.servers": stage.bootstrap, "group.id": "group", "log_level": 0, **settings}


def _calls(kafka: ModuleType, consumer: Any) -> list[tuple[str, Callable[[], Any]]]:
    """Of every method, with arguments that fit and with others."""
    message = kafka.Message("t", 0, 5)
    cases: list[tuple[str, tuple[Any, ...]]] = [
        ("subscribe", (["t"],)),
        ("subscribe", ()),
        ("subscribe", (3,)),
        ("subscription", ()),
        ("subscription", (1,)),
        ("unsubscribe", ()),
        ("unsubscribe", (1,)),
        ("poll", (0,)),
        ("poll", ("1",)),
        ("poll", (0, 0)),
        ("acknowledge", (message,)),
        ("acknowledge", ()),
        ("acknowledge", (3,)),
        ("acknowledge", (message, "accept")),
        ("acknowledge_offset", ("t", 0, 5)),
        ("acknowledge_offset", ("t",)),
        ("acknowledge_offset", (3, 0, 5)),
        ("commit_sync", (0.1,)),
        ("commit_sync", ("1",)),
        ("commit_async", ()),
        ("commit_async", (1,)),
        ("set_acknowledgement_commit_callback", (None,)),
        ("set_acknowledgement_commit_callback", (3,)),
        ("set_acknowledgement_commit_callback", ()),
        ("set_sasl_credentials", ("u", "p")),
        ("set_sasl_credentials", ("u",)),
        ("set_sasl_credentials", (1, 2)),
        ("close", ()),
    ]
    return [
        (
            f"{name}{[type(a).__name__ for a in arguments]}",
            lambda n=name, a=arguments: getattr(consumer, n)(*a),
        )
        for name, arguments in cases
    ]


@script()
def a_share_consumer_is_made_once(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.share_consumer()
    stage.attempt("subscribe", consumer.subscribe, ["t"])
    stage.attempt("again", consumer.__init__, {"group.id": "other"})
    stage.attempt("without arguments", consumer.__init__)
    stage.attempt("with nonsense", consumer.__init__, 3)
    stage.attempt("it is as it was", consumer.subscription)
    stage.attempt("close", consumer.close)
    stage.attempt("after the end", consumer.__init__, {"group.id": "other", "log_level": 0})
    stage.attempt("a new one", consumer.subscription)
    stage.attempt("close", consumer.close)


@script()
def a_share_consumer_needs_a_configuration(kafka: ModuleType, stage: Stage) -> None:
    stage.attempt("empty", lambda: kafka.ShareConsumer({}))
    stage.attempt("no dictionary", kafka.ShareConsumer, 3)
    stage.attempt("two", kafka.ShareConsumer, {"group.id": "g"}, {})
    stage.attempt("no group", kafka.ShareConsumer, {"log_level": 0})
    stage.attempt("no function", kafka.ShareConsumer, {"group.id": "g", "error_cb": 3})
    stage.attempt("log_cb", kafka.ShareConsumer, {"group.id": "g", "log_cb": print})
    stage.attempt("on_commit", kafka.ShareConsumer, {"group.id": "g", "on_commit": print})


@script()
def a_closed_share_consumer_says_so_before_it_looks_at_arguments(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.share_consumer()
    consumer.close()
    for label, call in _calls(kafka, consumer):
        stage.attempt(label, call)


@script()
def a_share_consumer_that_was_never_made_is_a_closed_one(kafka: ModuleType, stage: Stage) -> None:
    class Unmade(kafka.ShareConsumer):
        def __init__(self) -> None:
            pass

    for kind, consumer in (("subclass", Unmade()), ("new", kafka.ShareConsumer.__new__(kafka.ShareConsumer))):
        for label, call in _calls(kafka, consumer):
            if kind == "new" or label not in (
                "subscription['int']",
                "unsubscribe['int']",
                "commit_async['int']",
            ):
                stage.attempt(f"{kind}: {label}", call)
        stage.attempt(f"{kind}: enter", lambda c=consumer: c.__enter__() is c)
        stage.attempt(f"{kind}: exit", consumer.__exit__, None, None, None)


@script()
def subscriptions_take_names_of_all_kinds(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.share_consumer()
    for names in (["b", "a"], [b"bytes"], [3], ["^a.*"], [], ["a", "a"], ["a", ""], ("a",)):
        stage.attempt(f"subscribe {names}", consumer.subscribe, names)
        stage.attempt("subscription", consumer.subscription)


def _dropped(stage: Stage, make: Callable[[], Any]) -> bool:
    """Whether what `make` gives is collected when nobody has it any more."""
    reference = weakref.ref(make())
    stage.until(lambda: reference() is None, gc.collect, timeout=10)
    return reference() is None


@script(alone=True)
def share_consumers_that_nobody_has_are_collected(kafka: ModuleType, stage: Stage) -> None:
    class Consumer(kafka.ShareConsumer):
        pass

    def plain() -> Any:
        consumer = Consumer(_settings(stage))
        consumer.subscribe(["t"])
        consumer.poll(0.2)
        return consumer

    def called_back() -> Any:
        known: list[Any] = []
        consumer = Consumer(
            _settings(stage),
            error_cb=lambda error: known,
            stats_cb=lambda text: known,
            **{"statistics.interval.ms": 50},
        )
        consumer.set_acknowledgement_commit_callback(lambda offsets, error: known)
        known.append(consumer)
        consumer.poll(0.2) if consumer.subscription() else consumer.subscribe(["t"])
        consumer.poll(0.2)
        return consumer

    stage.record("plain", _dropped(stage, plain))
    stage.record("with callbacks that know it", _dropped(stage, called_back))


@on_apache()
def what_a_dropped_share_consumer_had_goes_to_others_and_its_group_is_not_told(
    kafka: ModuleType, stage: Stage
) -> None:
    topic, group = stage.filled_topic("a", "b", "c"), stage.share_group()

    def members() -> int:
        with Admin(stage.bootstrap) as admin:
            return len(admin.describe_share_groups([group])[group].members)

    def leave_behind(label: str, acknowledge: bool, **settings: Any) -> None:
        consumer = kafka.ShareConsumer(_settings(stage, **{"group.id": group, **settings}))
        consumer.subscribe([topic])
        messages: list[Any] = []
        stage.until(lambda: len(messages) >= 3, lambda: messages.extend(consumer.poll(0.3)))
        if acknowledge:
            consumer.acknowledge(messages[0])
        stage.record(f"{label}: before", members())

    def others(label: str) -> None:
        other = stage.share_consumer(group_id=group)
        other.subscribe([topic])
        found: list[Any] = []
        # Sooner than the locks on the records end by themselves.
        stage.until(lambda: len(found) >= 3, lambda: found.extend(other.poll(0.3)), timeout=20)
        stage.record(label, [[m.value(), m.delivery_count()] for m in found])
        other.close()
        stage.record(f"{label}: after", members())

    leave_behind("implicit", acknowledge=False)
    gc.collect()
    others("what was not accepted")
    leave_behind("explicit", acknowledge=True, **{"share.acknowledgement.mode": "explicit"})
    gc.collect()
    others("what was acknowledged and not committed")

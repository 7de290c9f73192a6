"""Objects whose constructor did not run: made by __new__ alone, or of a subclass that forgot __init__."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.compat.differential.script import script
from tests.compat.differential.stage import Stage

GETTERS = (
    "topic",
    "partition",
    "offset",
    "key",
    "value",
    "headers",
    "error",
    "timestamp",
    "latency",
    "leader_epoch",
    "delivery_count",
    "deserialized_key",
    "deserialized_value",
)


def without_init(made: type) -> Any:
    """An instance of a subclass that does not call __init__."""

    def forget(self: object, *_: object) -> None:
        pass

    return type("Forgetful", (made,), {"__init__": forget})()


@script()
def a_message_that_was_not_initialised_has_zeros(kafka: ModuleType, stage: Stage) -> None:
    for label, message in (
        ("new", kafka.Message.__new__(kafka.Message)),
        ("new with arguments", kafka.Message.__new__(kafka.Message, "t", 1, key=b"k")),
        ("subclass", without_init(kafka.Message)),
        ("no arguments", kafka.Message()),
    ):
        for name in GETTERS:
            stage.attempt(f"{label}: {name}", getattr(message, name))
        stage.record("sizes", [len(message), bool(message)])
        stage.record("equal", [message == kafka.Message(), message == kafka.Message.__new__(kafka.Message)])
        for protocol in (0, 2, 4):
            stage.attempt(f"{label}: reduce {protocol}", lambda m=message, p=protocol: m.__reduce_ex__(p)[1])
        for name, work in (
            ("copy", copy.copy),
            ("deepcopy", copy.deepcopy),
            ("pickle", lambda m: pickle.loads(pickle.dumps(m))),
        ):
            stage.attempt(f"{label}: {name}", work, message)
            stage.attempt("latency", lambda m=message, w=work: w(m).latency())
        stage.attempt("a bad second init", lambda m=message: m.__init__(partition="x"))
        stage.record("afterwards", message.partition())
        stage.attempt("set", message.set_value, b"value")
        stage.record("then", [message.value(), message.offset()])
        stage.attempt("init", message.__init__, "t", 1)
        stage.record("then", message)


@script()
def other_values_that_were_not_initialised_have_zeros(kafka: ModuleType, stage: Stage) -> None:
    admin: Any = stage.module("admin")
    # What else they do ends the process, with the original.
    for made, names in (
        (kafka.TopicPartition, ("topic", "partition", "offset", "metadata", "leader_epoch", "error")),
        (admin.NewTopic, ("topic", "num_partitions", "replication_factor", "replica_assignment", "config")),
        (admin.NewPartitions, ("topic", "new_total_count", "replica_assignment")),
        (kafka.Uuid, ("get_most_significant_bits", "get_least_significant_bits", "__repr__")),
    ):
        for value in (made.__new__(made), made.__new__(made, "t", nonsense=1), without_init(made)):
            for name in names:
                found = getattr(value, name)
                stage.attempt(f"{made.__name__}: {name}", found if callable(found) else lambda f=found: f)
    partition = kafka.TopicPartition.__new__(kafka.TopicPartition)
    stage.attempt("assign", setattr, partition, "offset", 5)
    stage.record("now", partition.offset)
    stage.attempt("equals a number", lambda: partition == 3)
    stage.attempt("str", str, kafka.Uuid.__new__(kafka.Uuid))


@script()
def an_error_that_was_not_initialised_is_none(kafka: ModuleType, stage: Stage) -> None:
    for error in (kafka.KafkaError.__new__(kafka.KafkaError), without_init(kafka.KafkaError)):
        for name in ("code", "name", "str", "fatal", "retriable", "txn_requires_abort"):
            stage.attempt(name, getattr(error, name))
        stage.record("shown", [repr(error), str(error)])
        stage.record("hash", hash(error))
        stage.record("equal", [error == 0, error == 1, error < 1])
        for work in (copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))):
            stage.attempt("copy", work, error)
        stage.attempt("raised", kafka.KafkaException, error)
    stage.attempt("exception", lambda: kafka.KafkaException.__new__(kafka.KafkaException).args)


@script()
def subclasses_of_values_say_how_they_are_copied(kafka: ModuleType, stage: Stage) -> None:
    def reduce(self: Any) -> Any:
        return type(self), (self.topic, self.partition)

    def state(self: object) -> Any:
        return {"kept": 1}

    def restore(self: Any, state: Any) -> None:
        self.restored = state

    partition = kafka.TopicPartition
    reduced = type("Reduced", (partition,), {"__reduce__": reduce})
    stateful = type("Stateful", (partition,), {"__getstate__": state, "__setstate__": restore})
    plain = type("Plain", (partition,), {})
    stage.attempt("reduced", lambda: str(copy.copy(reduced("t", 3))))
    stage.attempt("with a state", lambda: copy.copy(stateful("t", 3)).restored)
    stage.attempt("its number", lambda: copy.copy(stateful("t", 3)).partition)
    stage.attempt("plain", copy.copy, plain("t", 3))
    stage.attempt("plain uuid", copy.deepcopy, type("Plain", (kafka.Uuid,), {})(1, 2))
    topic: Any = stage.module("admin").NewTopic
    stage.attempt("plain topic", copy.copy, type("Plain", (topic,), {})("t", 1))


def calls(stage: Stage, client: Any, cases: dict[str, list[tuple[Any, ...]]]) -> None:
    for name, arguments in cases.items():
        for given in arguments:

            def call(name: str = name, given: tuple[Any, ...] = given) -> Any:
                result = getattr(client, name)(*given)
                return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result

            stage.attempt(f"{name}{given}", call)


async def _awaited(result: Any) -> Any:
    return await result


def producer_calls(kafka: ModuleType) -> dict[str, list[tuple[Any, ...]]]:
    partitions = [kafka.TopicPartition("t", 0, 5)]
    return {
        "produce": [(), ("t",), (3,), ("t", 3), ("t", b"", 3), ("t\0",), ("t", b"", b"", "x"), ("t",) * 9],
        "produce_batch": [(), ("t",), ("t", 3), ("t", []), ("t", [{"value": b"v"}])],
        "poll": [(), (0,), ("x",), (0, 0)],
        "flush": [(), (0,), ("x",)],
        "purge": [(), (True, True, False)],
        "list_topics": [(), ("t",), (3,)],
        "cluster_id": [(), ("x",)],
        "set_sasl_credentials": [(), ("u", "p")],
        "init_transactions": [(), (0,), ("x",)],
        "begin_transaction": [()],
        "commit_transaction": [(), (0,), ("x",)],
        "abort_transaction": [(), (0,), ("x",)],
        "send_offsets_to_transaction": [(), (partitions, b"x"), (partitions, b"x", 1)],
        "__len__": [()],
        "__bool__": [()],
        "__exit__": [(), (None, None, None)],
        "close": [()],
    }


def consumer_calls(kafka: ModuleType) -> dict[str, list[tuple[Any, ...]]]:
    partition = kafka.TopicPartition("t", 0, 5)
    message = kafka.Message("t", 0, 5)
    lists = [(), ([partition],), (3,)]
    return {
        "poll": [(), (0,), ("x",)],
        "consume": [(), (1, 0), ("x",)],
        "subscribe": [(), (["t"],), (3,)],
        "unsubscribe": [()],
        "assign": [([partition],), (3,)],
        "unassign": [()],
        "incremental_assign": [([partition],), (3,)],
        "incremental_unassign": [([partition],), (3,)],
        "assignment": [()],
        "position": lists,
        "committed": lists,
        "pause": lists,
        "resume": lists,
        "offsets_for_times": lists,
        "commit": [(), (message,), (3,)],
        "store_offsets": [(), (message,), (3,)],
        "seek": [(), (partition,), (3,)],
        "get_watermark_offsets": [(), (partition,), (3,)],
        "list_topics": [(), ("t",), (3,)],
        "cluster_id": [(), ("x",)],
        "memberid": [()],
        "consumer_group_metadata": [()],
        "set_sasl_credentials": [(), ("u", "p")],
        "__exit__": [(None, None, None)],
        "close": [(), ()],
    }


@script()
def producers_that_were_not_initialised_are_closed(kafka: ModuleType, stage: Stage) -> None:
    for name in ("Producer", "SerializingProducer"):
        calls(stage, without_init(getattr(kafka, name)), producer_calls(kafka))


@script()
def consumers_that_were_not_initialised_are_closed(kafka: ModuleType, stage: Stage) -> None:
    for name in ("Consumer", "DeserializingConsumer"):
        calls(stage, without_init(getattr(kafka, name)), consumer_calls(kafka))


@script()
def share_consumers_that_were_not_initialised_are_closed(kafka: ModuleType, stage: Stage) -> None:
    message = kafka.Message("t", 0, 5)
    for name in ("ShareConsumer", "DeserializingShareConsumer"):
        cases: dict[str, list[tuple[Any, ...]]] = {
            "poll": [(), (0,)],
            "subscribe": [(["t"],), (3,)],
            "unsubscribe": [()],
            "subscription": [()],
            "acknowledge": [(message,)],
            "acknowledge_offset": [("t", 0, 5)],
            "commit_sync": [(), (0,)],
            "commit_async": [()],
            "set_acknowledgement_commit_callback": [(print,)],
            "set_sasl_credentials": [("u", "p")],
            "__exit__": [(None, None, None)],
            "close": [()],
        }
        calls(stage, without_init(getattr(kafka, name)), cases)


@script()
def admin_clients_that_were_not_initialised_are_closed(kafka: ModuleType, stage: Stage) -> None:
    admin: Any = stage.module("admin")
    partition, group = kafka.TopicPartition("t", 0, 5), kafka.ConsumerGroupTopicPartitions("g")
    cases: dict[str, list[tuple[Any, ...]]] = {
        "create_topics": [(), ([admin.NewTopic("t", 1)],)],
        "delete_topics": [(), (["t"],)],
        "create_partitions": [(), ([admin.NewPartitions("t", 2)],)],
        "describe_topics": [(), (kafka.TopicCollection(["t"]),)],
        "describe_cluster": [()],
        "describe_configs": [(), ([admin.ConfigResource("topic", "t")],)],
        "alter_configs": [([admin.ConfigResource("topic", "t")],)],
        "list_groups": [(), ("g",)],
        "list_consumer_groups": [()],
        "describe_consumer_groups": [(), ([],), (["g"],)],
        "delete_consumer_groups": [(), ([],), (["g"],)],
        "list_consumer_group_offsets": [(), ([],), ([group],)],
        "describe_user_scram_credentials": [(), ([],), (["u"],)],
        "list_offsets": [(), ({},), ({partition: admin.OffsetSpec.latest()},)],
        "delete_records": [(), ([],), ([partition],)],
        "elect_leaders": [
            (),
            (kafka.ElectionType.PREFERRED, []),
            (kafka.ElectionType.PREFERRED, [partition]),
        ],
        "list_topics": [(), ("t",), (3,)],
        "cluster_id": [(), (0,)],
        "poll": [(), (0,), ("x",)],
        "set_sasl_credentials": [("u", "p")],
        "__len__": [()],
        "__exit__": [(), (None, None, None), (None, None, None)],
    }
    calls(stage, without_init(admin.AdminClient), cases)


@script()
def a_closed_producer_judges_arguments_first(kafka: ModuleType, stage: Stage) -> None:
    producer = kafka.Producer({"log_level": 0})
    stage.attempt("close", producer.close, 1, unknown=2)
    calls(stage, producer, producer_calls(kafka))
    for headers in (3, [3], {"h": 3}):
        stage.attempt(f"headers {headers}", lambda h=headers: producer.produce("t", headers=h))


@script()
def clients_are_neither_copied_nor_initialised_twice(kafka: ModuleType, stage: Stage) -> None:
    makers: list[Callable[[], Any]] = [stage.producer, stage.consumer, stage.admin]
    for make in makers:
        client = make()
        for name, work in (("copy", copy.copy), ("deepcopy", copy.deepcopy), ("pickle", pickle.dumps)):
            stage.attempt(f"{type(client).__name__}: {name}", work, client)
        for conf in ({"group.id": "g"}, {"nonsense": 1}):
            stage.attempt("again", client.__init__, conf)
        stage.record("equal", [client == client, client == 3])

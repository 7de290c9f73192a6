"""Values: topic partitions, messages, uuids, what the module holds, and small models."""

from __future__ import annotations

import builtins
import copy
import pickle
from types import ModuleType
from typing import Any

from tests.compat.differential.script import script
from tests.compat.differential.stage import Stage


@script()
def the_module_has_these_names(kafka: ModuleType, stage: Stage) -> None:
    stage.record("__all__", sorted(kafka.__all__))
    constants = {name: value for name, value in vars(kafka).items() if isinstance(value, int | tuple | str)}
    stage.record("constants", {n: v for n, v in constants.items() if not n.startswith("__")})


@script()
def the_extension_module_has_these_names(kafka: ModuleType, stage: Stage) -> None:
    cimpl = stage.module("cimpl")
    constants = {name: value for name, value in vars(cimpl).items() if isinstance(value, int)}
    stage.record("constants", constants)
    types = (name for name, value in vars(cimpl).items() if isinstance(value, type))
    stage.record("types", sorted(name for name in types if not name.startswith("_")))


@script()
def versions_are_told(kafka: ModuleType, stage: Stage) -> None:
    stage.record("version", kafka.version())
    stage.record("libversion", kafka.libversion())
    stage.record("__version__", kafka.__version__)


@script()
def types_say_where_they_are_from(kafka: ModuleType, stage: Stage) -> None:
    for name in sorted(kafka.__all__):
        value = getattr(kafka, name, None)
        if isinstance(value, type):
            stage.record(name, value)
            known = {*kafka.__all__, *dir(builtins), "Enum", "IntEnum", "Generic"}
            stage.record("bases", [base.__name__ for base in value.__mro__ if base.__name__ in known])


@script()
def a_topic_partition_is_made_in_many_ways(kafka: ModuleType, stage: Stage) -> None:
    make = kafka.TopicPartition
    for arguments, keywords in (
        (("t",), {}),
        (("t", 1), {}),
        (("t", 1, 5), {}),
        (("t", 1, 5, "m"), {}),
        (("t", 1, 5, "m", 3), {}),
        (("t", 1, kafka.OFFSET_END), {}),
        (("t",), {"partition": 3, "offset": 4, "metadata": "x", "leader_epoch": 2}),
        (("t", -1, -1001, None, -1), {}),
        (("",), {}),
        (("tépic",), {}),
        ((), {}),
        ((None,), {}),
        ((3,), {}),
        ((b"t",), {}),
        (("t", "1"), {}),
        (("t", None), {}),
        (("t", 1.5), {}),
        (("t", 2**31), {}),
        (("t", 1, 2**63), {}),
        (("t", 1, 2**62), {}),
        (("t", 1, None), {}),
        (("t", 1, 5, 3), {}),
        (("t", 1, 5, "m", "e"), {}),
        (("t", 1, 5, "m", None), {}),
        (("t", 1, 5, "m", 1, 2), {}),
        (("t",), {"nonsense": 1}),
        (("t", True), {}),
    ):
        stage.attempt(f"{arguments} {keywords}", make, *arguments, **keywords)


@script()
def a_topic_partition_is_shown(kafka: ModuleType, stage: Stage) -> None:
    for arguments in (
        ("t",),
        ("t", 1, 5),
        ("t", 1, kafka.OFFSET_END, "m", 3),
        ("t", 1, kafka.OFFSET_BEGINNING),
        ("t", 1, kafka.OFFSET_STORED),
        ("t", 1, -2010),
    ):
        partition = kafka.TopicPartition(*arguments)
        stage.record("repr", repr(partition))
        stage.record("str", str(partition))


@script()
def a_topic_partitions_attributes_are_set_or_not(kafka: ModuleType, stage: Stage) -> None:
    partition = kafka.TopicPartition("t", 1, 5, "m", 2)
    for name, value in (
        ("topic", "u"),
        ("partition", 4),
        ("offset", 7),
        ("offset", -1),
        ("offset", "7"),
        ("metadata", "n"),
        ("leader_epoch", 9),
        ("error", None),
        ("nonsense", 1),
    ):
        stage.attempt(f"{name} = {value!r}", setattr, partition, name, value)
        stage.record("now", partition)
    stage.attempt("del", delattr, partition, "offset")


@script()
def topic_partitions_are_compared_by_topic_and_partition(kafka: ModuleType, stage: Stage) -> None:
    make = kafka.TopicPartition
    others = [
        make("a", 1),
        make("a", 1, 5),
        make("a", 2),
        make("b", 0),
        make("aa", 1),
        make("a", 1, 5, "m", 3),
        make("A", 1),
    ]
    subject = make("a", 1)
    for other in others:
        stage.record(
            repr(other),
            [
                subject == other,
                subject != other,
                subject < other,
                subject <= other,
                subject > other,
                subject >= other,
                hash(subject) == hash(other),
            ],
        )
    stage.record("sorted", sorted(others))
    stage.record("set", len(set(others)))
    for other in ("a", ("a", 1), None, 1):
        stage.attempt(f"equals {other!r}", lambda other=other: subject == other)
        stage.attempt(f"differs from {other!r}", lambda other=other: subject != other)
        stage.attempt(f"order with {other!r}", lambda other=other: subject < other)


@script()
def topic_partitions_are_copied_and_pickled_or_not(kafka: ModuleType, stage: Stage) -> None:
    partition = kafka.TopicPartition("t", 1, 5, "m", 2)
    stage.attempt("copy", copy.copy, partition)
    stage.attempt("deepcopy", copy.deepcopy, partition)
    for protocol in (0, 2, 5):
        stage.attempt(f"pickle {protocol}", lambda p=protocol: pickle.loads(pickle.dumps(partition, p)))
    stage.attempt("weak", lambda: __import__("weakref").ref(partition) is None)
    stage.attempt("vars", lambda: vars(partition))


@script()
def a_topic_partition_may_be_subclassed(kafka: ModuleType, stage: Stage) -> None:
    class Mine(kafka.TopicPartition):  # type: ignore[name-defined, misc]
        extra = 1

    mine = stage.attempt("make", lambda: Mine("t", 1) is not None) and Mine("t", 1)
    stage.attempt("equal", lambda: mine == kafka.TopicPartition("t", 1))
    stage.attempt("attribute", setattr, mine, "other", 2)


@script()
def a_message_is_made_in_many_ways(kafka: ModuleType, stage: Stage) -> None:
    make = kafka.Message
    error = kafka.KafkaError(kafka.KafkaError._PARTITION_EOF)
    for label, arguments, keywords in (
        ("nothing", (), {}),
        ("positional", ("t", 1, 2, b"k", b"v"), {}),
        ("keywords", (), {"topic": "t", "partition": 1, "offset": 2, "key": b"k", "value": b"v"}),
        ("headers", (), {"headers": [("h", b"1")]}),
        ("a dictionary of headers", (), {"headers": {"h": b"1"}}),
        ("error", (), {"error": error}),
        ("timestamp", (), {"timestamp": (1, 1234)}),
        ("a timestamp without type", (), {"timestamp": 1234}),
        ("latency", (), {"latency": 0.5}),
        ("epoch", (), {"leader_epoch": 3}),
        ("delivery count", (), {"delivery_count": 2}),
        ("texts", (), {"key": "k", "value": "v"}),
        ("objects", (), {"key": 3, "value": {"a": 1}}),
        ("topic number", (), {"topic": 3}),
        ("partition text", (), {"partition": "3"}),
        ("error number", (), {"error": 3}),
        ("nonsense", (), {"nonsense": 3}),
        ("too many", tuple(range(12)), {}),
        ("too many keywords", (), {f"keyword{number}": number for number in range(12)}),
        ("too many of both", ("t",), {f"keyword{number}": number for number in range(11)}),
    ):
        stage.attempt(label, make, *arguments, **keywords)


@script()
def a_messages_setters_replace_what_it_holds(kafka: ModuleType, stage: Stage) -> None:
    message = kafka.Message("t", 1, 2, b"k", b"value")
    error = kafka.KafkaError(kafka.KafkaError._FAIL, "why")
    for name, value in (
        ("set_key", "text"),
        ("set_key", None),
        ("set_value", {"a": 1}),
        ("set_value", b"longer value"),
        ("set_value", None),
        ("set_headers", [("h", b"1"), ("h", None)]),
        ("set_headers", {"h": b"1"}),
        ("set_headers", None),
        ("set_headers", 3),
        ("set_error", error),
        ("set_error", None),
        ("set_error", 3),
        ("set_topic", "u"),
    ):
        stage.attempt(f"{name}({value!r})", lambda n=name, v=value: getattr(message, n)(v))
        stage.record("key", message.key())
        stage.record("value", message.value())
        stage.record("headers", message.headers())
        stage.record("error", message.error())
        stage.attempt("len", len, message)
    for name in ("set_key", "set_value", "set_headers", "set_error"):
        stage.attempt(f"{name} without an argument", getattr(message, name))


@script()
def messages_are_shown_compared_copied_and_pickled_or_not(kafka: ModuleType, stage: Stage) -> None:
    message = kafka.Message("t", 1, 2, b"k", b"value")
    stage.record("repr", repr(message))
    stage.record("str", str(message))
    stage.record("equal", message == kafka.Message("t", 1, 2, b"k", b"value"))
    stage.record("truth", [bool(message), bool(kafka.Message()), bool(kafka.Message(value=b""))])
    stage.attempt("order", lambda: message < message)
    stage.attempt("hash", lambda: isinstance(hash(message), int))
    stage.attempt("copy", copy.copy, message)
    stage.attempt("deepcopy", copy.deepcopy, message)
    stage.attempt("pickle", lambda: pickle.loads(pickle.dumps(message)))
    stage.attempt("attribute", setattr, message, "mine", 3)
    stage.attempt("index", lambda: message[0])
    stage.attempt("generic", lambda: kafka.Message[bytes, bytes] is not None)


@script()
def a_message_knows_what_was_deserialized(kafka: ModuleType, stage: Stage) -> None:
    message = kafka.Message("t", 1, 2, b"k", b"value")
    stage.attempt("key", message.deserialized_key)
    stage.attempt("value", message.deserialized_value)
    message.set_value({"a": 1})
    stage.attempt("afterwards", message.deserialized_value)
    stage.attempt("with an argument", lambda: message.value("payload"))


@script()
def a_uuid_has_two_halves(kafka: ModuleType, stage: Stage) -> None:
    make = kafka.Uuid
    for arguments in ((0, 0), (1, 2), (-1, -1), (2**62, -5), (4567, 8910)):
        uuid = make(*arguments)
        stage.record(f"{arguments}", [str(uuid), repr(uuid), hash(uuid) == hash(make(*arguments))])
        stage.attempt("int", int, uuid)
        stage.record("equal", [uuid == make(*arguments), uuid == make(1, 3), uuid != make(1, 2), uuid == 3])
    for arguments in ((), (1,), ("a", "b"), (2**63, 0), (1, 2, 3), (None, None)):
        stage.attempt(f"{arguments}", make, *arguments)
    stage.attempt("order", lambda: make(0, 1) < make(0, 2))
    stage.attempt("keywords", lambda: make(most_significant_bits=1, least_significant_bits=2))
    stage.attempt("attribute", lambda: make(1, 2).most_significant_bits)
    stage.attempt("pickle", lambda: pickle.loads(pickle.dumps(make(1, 2))))
    stage.attempt("copy", lambda: copy.copy(make(1, 2)))


@script()
def models_hold_what_they_are_given(kafka: ModuleType, stage: Stage) -> None:
    stage.attempt("node", lambda: str(kafka.Node(1, "h", 9092)))
    stage.attempt("node with a rack", lambda: str(kafka.Node(1, "h", 9092, "r")))
    stage.attempt("node's attributes", lambda: vars(kafka.Node(1, "h", 9092, "r")))
    stage.attempt("node without a port", kafka.Node, 1, "h")
    stage.attempt("topics", lambda: vars(kafka.TopicCollection(["a", "b"])))
    stage.attempt("no topics", kafka.TopicCollection)
    stage.attempt("keyword", lambda: vars(kafka.TopicCollection(topic_names="a")))
    stage.attempt("group", lambda: vars(kafka.ConsumerGroupTopicPartitions("g")))
    stage.attempt("group's partitions", lambda: vars(kafka.ConsumerGroupTopicPartitions("g", [1])))
    node = kafka.Node(1, "h", 9092)
    stage.attempt("partition", lambda: vars(kafka.TopicPartitionInfo(0, node, [node], [node])))
    stage.attempt("throttled", lambda: str(kafka.ThrottleEvent("b", 1, 0.25)))
    stage.attempt("throttled attributes", lambda: vars(kafka.ThrottleEvent("b", 1, 0.25)))


@script()
def enumerations_have_these_members_and_an_order(kafka: ModuleType, stage: Stage) -> None:
    for name in (
        "ConsumerGroupState",
        "ConsumerGroupType",
        "IsolationLevel",
        "ElectionType",
        "AcknowledgeType",
    ):
        enumeration = getattr(kafka, name)
        stage.record(name, {key: member.value for key, member in enumeration.__members__.items()})
        members = list(enumeration)
        stage.record("order", [member.name for member in sorted(members)])
        stage.record("repr", [repr(members[0]), str(members[0])])
        stage.attempt("unknown", enumeration, 99)
        stage.attempt("order with a number", lambda m=members[0]: m < 3)


@script()
def a_batch_of_messages_is_a_sequence(kafka: ModuleType, stage: Stage) -> None:
    messages = kafka.Messages([kafka.Message("t", 0, offset, None, b"v") for offset in range(3)])
    stage.record("counts", [len(messages), messages.count(), messages.is_empty(), bool(messages)])
    stage.record("offsets", [message.offset() for message in messages])
    stage.record("last", messages[-1])
    stage.record("slice", [type(messages[1:]).__name__, len(messages[1:])])
    stage.record("records", [type(messages.records()).__name__, messages.records() is messages.records()])
    stage.record("repr", repr(kafka.Messages()))
    stage.record("empty", [len(kafka.Messages()), kafka.Messages().is_empty(), bool(kafka.Messages())])
    stage.attempt("beyond", lambda: messages[3])
    stage.attempt("set", lambda: messages.__setitem__(0, None))
    stage.attempt("add", lambda: messages + messages)


@script()
def partitioners_choose_these_partitions(kafka: ModuleType, stage: Stage) -> None:
    keys = [b"", b"a", b"key", b"21", b"\x00\xff", "ünï".encode(), b"x" * 100]
    for name in ("murmur2", "consistent", "fnv1a"):
        function = getattr(kafka, name)
        stage.record(name, [function(key, 17) for key in keys])
        for arguments in ((), (b"k",), ("k", 3), (b"k", "3"), (b"k", 0), (None, 3), (b"k", -1), (3, 3)):
            stage.attempt(f"{name}{arguments}", function, *arguments)


@script()
def new_topics_and_partitions_are_shown_and_compared(kafka: ModuleType, stage: Stage) -> None:
    admin: Any = stage.module("admin")
    for arguments, keywords in (
        (("t",), {}),
        (("t", 3), {}),
        (("t", 3, 1), {}),
        (("t",), {"num_partitions": 2, "replication_factor": 1, "config": {"a": "b"}}),
        (("t", 1), {"replica_assignment": [[1], [2]]}),
        (("t", "3"), {}),
        ((), {}),
        ((3,), {}),
        (("t", 3, 1, [[1]], {"a": "b"}), {}),
        (("t",), {"config": 3}),
        (("t",), {"nonsense": 3}),
    ):
        topic = stage.attempt(
            f"NewTopic {arguments} {keywords}", lambda a=arguments, k=keywords: str(admin.NewTopic(*a, **k))
        )
        if topic is not None:
            made = admin.NewTopic(*arguments, **keywords)
            stage.record(
                "attributes",
                [
                    getattr(made, name)
                    for name in (
                        "topic",
                        "num_partitions",
                        "replication_factor",
                        "replica_assignment",
                        "config",
                    )
                ],
            )
            stage.record("repr", repr(made))
    first, second = admin.NewTopic("a", 1), admin.NewTopic("b", 1)
    stage.record(
        "compared", [first == second, first < second, first == admin.NewTopic("a", 2), first != second]
    )
    stage.attempt("hash", lambda: hash(first) == hash(admin.NewTopic("a", 1)))
    for arguments in (("t", 3), ("t",), ("t", "3"), ("t", 3, [[1], [2]]), (3, 3), ("t", -1), ("t", 0)):
        stage.attempt(f"NewPartitions {arguments}", lambda a=arguments: str(admin.NewPartitions(*a)))
    parts = admin.NewPartitions("t", 3)
    stage.record("attributes", [parts.topic, parts.new_total_count, parts.replica_assignment, repr(parts)])
    stage.attempt(
        "compared", lambda: [parts == admin.NewPartitions("t", 4), parts < admin.NewPartitions("u", 1)]
    )

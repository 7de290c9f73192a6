"""Serializers, deserializers and their errors: what the real package does, ours does."""

from __future__ import annotations

import copy
import pickle
import struct

import confluent_kafka.error as real_error
import confluent_kafka.serialization as real
import pytest
from confluent_kafka import KafkaError as RealKafkaError
from confluent_kafka import _serde_builder as real_builder
from hypothesis import given
from hypothesis import strategies as st
from tests.compat.both import outcome_of, outcomes

from barnabas.compat.confluent_kafka import _serde_builder as our_builder
from barnabas.compat.confluent_kafka import error as our_error
from barnabas.compat.confluent_kafka import serialization as ours
from barnabas.compat.confluent_kafka.cimpl import KafkaError

REAL = {**vars(real), **vars(real_error), "KafkaError": RealKafkaError, "copy": copy, "pickle": pickle}
OURS = {**vars(ours), **vars(our_error), "KafkaError": KafkaError, "copy": copy, "pickle": pickle}

SERIALIZERS = (
    "IntegerSerializer()",
    "DoubleSerializer()",
    "StringSerializer()",
    "StringSerializer('ascii')",
    "StringSerializer(codec='utf_16')",
    "StringSerializer('no such codec')",
    "StringSerializer(None)",
)
OBJECTS = (
    *("None", "0", "-1", "2**31 - 1", "2**31", "-2**31 - 1", "10**400", "1.5", "float('nan')", "1e400"),
    *("True", "'a'", "'é'", "'\\ud800'", "''", "b'x'", "[]", "object"),
)
DESERIALIZERS = (
    "IntegerDeserializer()",
    "DoubleDeserializer()",
    "StringDeserializer()",
    "StringDeserializer('ascii')",
    "StringDeserializer(codec='utf_16')",
    "StringDeserializer('no such codec')",
)
PAYLOADS = (
    *("None", "b''", "b'a'", "b'abcd'", "b'abcdefgh'", "b'abcdefghi'", "b'\\xff'", "'abcd'", "5"),
    *("bytearray(b'abcd')", "[]"),
)


@pytest.mark.parametrize("value", OBJECTS)
@pytest.mark.parametrize("serializer", SERIALIZERS)
def test_a_serializer_gives_the_bytes_or_the_error_of_the_real_one(serializer: str, value: str) -> None:
    theirs, our = outcomes(f"{serializer}({value})", REAL, OURS)
    assert our == theirs


@pytest.mark.parametrize("value", PAYLOADS)
@pytest.mark.parametrize("deserializer", DESERIALIZERS)
def test_a_deserializer_gives_the_object_or_the_error_of_the_real_one(deserializer: str, value: str) -> None:
    theirs, our = outcomes(f"{deserializer}({value})", REAL, OURS)
    assert our == theirs


@given(st.integers(-(2**31), 2**31 - 1))
def test_integers_survive_the_round_trip(value: int) -> None:
    assert ours.IntegerDeserializer()(ours.IntegerSerializer()(value)) == value


@given(st.floats(allow_nan=False))
def test_doubles_survive_the_round_trip(value: float) -> None:
    assert ours.DoubleDeserializer()(ours.DoubleSerializer()(value)) == value


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_survives_the_round_trip(value: str) -> None:
    assert ours.StringDeserializer()(ours.StringSerializer()(value)) == value


@pytest.mark.parametrize(
    "expression",
    [
        "vars(SerializationContext('t', MessageField.KEY))",
        "vars(SerializationContext('t', 'anything', headers={'a': b'b'}))",
        "SerializationContext()",
        "SerializationContext('t')",
        "[(f.name, f.value, str(f), repr(f), f'{f}', '%s' % f, f == 'key', f + 'x') for f in MessageField]",
        "MessageField('key')",
        "MessageField('other')",
        "pickle.loads(pickle.dumps(MessageField.VALUE))",
        "[c.__name__ for c in MessageField.__mro__]",
        "Serializer()(b'')",
        "Serializer()()",
        "Serializer().close()",
        "Serializer().set_cluster_id_resolver(None)",
        "Deserializer()(b'')",
        "Deserializer().close()",
        "Deserializer().set_cluster_id_resolver(None)",
        "SerializerBuilder().build({}, True)",
        "SerializerBuilder().close()",
        "DeserializerBuilder().build({}, False)",
        "setattr(Serializer(), 'x', 1)",
        "setattr(IntegerSerializer(), 'x', 1)",
        "vars(StringSerializer('ascii'))",
        "[c.__name__ for c in SerializationError.__mro__]",
        "repr(SerializationError('text'))",
        "SerializationError('text').args",
    ],
)
def test_the_other_names_of_the_module_are_as_the_real_ones(expression: str) -> None:
    theirs, our = outcomes(expression, REAL, OURS)
    assert our == theirs


ERRORS = (
    "KeySerializationError()",
    "KeySerializationError(ValueError('x'))",
    "ValueSerializationError(exception=ValueError('x'))",
    "KeyDeserializationError(ValueError('x'), 'a message')",
    "ValueDeserializationError(exception=ValueError('x'), kafka_message='a message')",
    "ConsumeError(KafkaError(-191))",
    "ConsumeError(KafkaError(3, 'text'), exception=ValueError('x'), kafka_message='a message')",
    "ConsumeError(3)",
    "ConsumeError()",
    "ProduceError(KafkaError(-192), ValueError('x'))",
    "ProduceError(KafkaError(-192), kafka_message='a message')",
)


@pytest.mark.parametrize(
    "question",
    [
        "repr({})",
        "str({})",
        "{}.code",
        "{}.name",
        "repr({}.exception)",
        "{}.kafka_message",
        "[c.__name__ for c in type({}).__mro__]",
        "repr(copy.copy({}))",
        "repr(pickle.loads(pickle.dumps({})))",
    ],
)
@pytest.mark.parametrize("error", ERRORS)
def test_errors_of_messages_are_as_the_real_ones(error: str, question: str) -> None:
    theirs, our = outcomes(question.format(error), REAL, OURS)
    assert our == theirs


def test_a_failed_conversion_keeps_its_reason_as_the_context() -> None:
    with pytest.raises(ours.SerializationError) as raised:
        ours.IntegerSerializer()(1.5)  # pyright: ignore[reportArgumentType]
    assert isinstance(raised.value.__context__, struct.error)
    assert raised.value.__cause__ is None
    assert not raised.value.__suppress_context__


@pytest.mark.parametrize(
    ("conf", "leftovers"),
    [
        ({"a": 1, "b": 2}, []),
        ({"a": 1, "b": 2}, [{"a": 5}]),
        ({"a": 1, "b": 2}, [{"a": 5, "c": 6}, {"a": 7, "c": 7}]),
        ({"a": 1, "b": 2}, [{"c": 6}, {}]),
    ],
)
def test_what_every_builder_left_is_the_clients_configuration(conf: dict, leftovers: list[dict]) -> None:
    assert our_builder.intersect_leftovers(conf, leftovers) == real_builder.intersect_leftovers(
        conf, leftovers
    )


class Logged:
    """A serializer that says what is done with it."""

    def __init__(self, log: list[str], name: str, failing_close: bool = False) -> None:
        self.log, self.name, self.failing_close = log, name, failing_close

    def close(self) -> None:
        self.log.append(f"close {self.name}")
        if self.failing_close:
            raise ValueError(f"closing {self.name}")


class Builder:
    """A builder that says what it was given, takes some properties, and returns what it is told to."""

    def __init__(self, log: list[str], name: str, take: tuple[str, ...] = (), result: object = None) -> None:
        self.log, self.name, self.take, self.result = log, name, take, result

    def build(self, conf: dict, is_key: bool) -> object:
        self.log.append(f"build {self.name} of {sorted(conf)} for {'a key' if is_key else 'a value'}")
        if isinstance(self.result, Exception):
            raise self.result
        if self.result is not None:
            return self.result
        return Logged(self.log, self.name), {k: v for k, v in conf.items() if k not in self.take}


@pytest.mark.parametrize(
    "conf",
    [
        {"x": 1},
        {"key": 7, "x": 1},
        {"key.builder": {}, "x": 1},
        {"key.builder": {"take": ("x",)}, "value.builder": {"take": ("y",)}, "x": 1, "y": 2, "z": 3},
        {"key.builder": {}, "value": 7},
        {"key.builder": {}, "key": 7},
        {"value.builder": {}, "value": 7},
        {"key.builder": {}, "key": None},
        {"key.builder": None, "key": 7},
        {"key.builder": {"result": 5}},
        {"key.builder": {"result": (1,)}},
        {"key.builder": {"result": (1, 2)}},
        {"key.builder": {"result": (1, 2, 3)}},
        {"key.builder": {"result": [None, {"z": 1}]}},
        {"key.builder": {}, "value.builder": {"result": 5}},
        {"key.builder": {}, "value.builder": {"result": ValueError("not built")}},
    ],
)
def test_builders_are_run_and_checked_as_in_the_real_package(conf: dict) -> None:
    def run(module: object) -> tuple:
        log: list[str] = []
        given = {
            name: Builder(log, name, **value) if name.endswith("builder") and value is not None else value
            for name, value in conf.items()
        }

        def build() -> object:
            serdes, owned, rest = module.build_serdes(*module.pop_serde_props(given, "key", "value"))
            names = [getattr(serde, "name", serde) for serde in serdes]
            return names, [serde.name if isinstance(serde, Logged) else serde for serde in owned], rest

        return outcome_of(build), log, sorted(given)

    assert run(our_builder) == run(real_builder)


def test_all_serializers_are_closed_before_the_first_error_is_raised(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log: list[str] = []
    serdes = [Logged(log, "a"), Logged(log, "b", True), 5, None, Logged(log, "c", True), Logged(log, "d")]
    with pytest.raises(ValueError, match="closing b"):
        our_builder.close_serdes(serdes)
    assert log == ["close a", "close b", "close c", "close d"]
    assert [record.name for record in caplog.records] == ["confluent_kafka._serde_builder"]

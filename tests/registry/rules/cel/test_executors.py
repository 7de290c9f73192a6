"""Expressions, beside the original's: what they give, or that both fail."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any

import confluent_kafka.schema_registry as original
import pytest
from confluent_kafka.schema_registry import serde as original_serde
from confluent_kafka.schema_registry.confluent.type import variant_utils
from confluent_kafka.schema_registry.rules.cel.cel_executor import CelExecutor as OriginalExecutor

from barnabas.errors import SerializationError
from barnabas.formats.variant import Variant
from barnabas.registry import Rule, RuleSet, Schema
from barnabas.registry import rules as ours
from barnabas.registry.rules import limits
from barnabas.registry.rules.cel import CelExecutor, CelFieldExecutor
from barnabas.registry.rules.engine import RuleEngine

MESSAGE: dict[str, Any] = {
    "name": "Jo",
    "age": 17,
    "weight": 70.5,
    "raw": b"\x01\xff",
    "is_member": True,
    "nothing": None,
    "words": ["a", "b"],
    "sums": [Decimal("1.50"), Decimal("2")],
    "places": {"home": {"street": "x"}},
    "born": datetime.date(2009, 1, 2),
    "at": datetime.datetime(2026, 1, 2, 3, 4, 5, 120000, tzinfo=datetime.UTC),
    "took": datetime.timedelta(seconds=90),
    "sum": Decimal("12.340"),
    "id": uuid.UUID(int=7),
    "text_of_json": '{"a": [1, 2.5, {"b": "x"}], "c": null, "d": true}',
    "union": ("branch", {"x": 5}),
}
EXPRESSIONS = """
message.age > 16
message.age > 17
message.name == 'Jo' && message.is_member
message.name.startsWith('J')
message.name.matches('^[A-Z]o$')
message.words.all(w, w.size() == 1)
message.words.exists(w, w == 'b')
message.words.map(w, w + '!')
message.words.filter(w, w != 'a')
'a' in message.words
has(message.name)
has(message.unknown)
message.unknown == 5
message.nothing == null
message.places.home.street
message.places['home']['street'] == 'x'
message.raw == b'\\x01\\xff'
message.weight * 2.0
message.born
message.took > duration('60s')
message.at.getFullYear()
message.id
size(message.words)
message
{'name': message.name, 'extra': [1, 2]}
{'union': message.union}
message.age == 17 ? 'yes' : 'no'
now > timestamp('2020-01-01T00:00:00Z')
1 / 0
1 +
)(
'x' + 1
message.name.unknown()
unknown(5)
message.age == 17; message.name
message.age == 18; message.name
  ; message.name
message.unknown == 5; message.name
'%s is %d'.format(['Jo', 17])
'%s %s'.format([['a', 1, 2u, b'x', true], 1.5])
'%x %X %x %x'.format([255, 255, 'hi', b'hi'])
'%o %b %b'.format([8, 5, true])
'%.2f %e %f'.format([1.5, 1.5, 2.25])
'100%%'.format([])
'%d'.format(['x'])
'%d'.format([])
''.format([1])
'%'.format([1])
'%.3'.format([1])
'%q'.format([1])
'%o'.format(['x'])
'%b'.format(['x'])
'%x'.format([1.5])
'1.2.3.4'.isIpv4()
'::1'.isIpv6()
'x'.isIpv4()
b'\\x01\\x02\\x03\\x04'.isIpv4()
'jo@example.com'.isEmail()
'jo'.isEmail()
'jo@@x'.isEmail()
'jo@-x'.isEmail()
'https://example.com/x'.isUri()
'example'.isUri()
'/x#y'.isUriRef()
'#y'.isUriRef()
'x'.isUriRef()
'example.com'.isHostname()
'example.com.'.isHostname()
'1.2.3'.isHostname()
'ex_ample'.isHostname()
''.isHostname()
'a-.b'.isHostname()
'00000000-0000-0000-0000-000000000007'.isUuid()
'x'.isUuid()
message.age.isUuid()
decimal('1.50')
decimal(5)
decimal(1.5)
decimal(b'\\x01\\x00', 2)
decimal(b'', 2)
decimal('1_0')
decimal('NaN')
decimal(' 1')
decimal('1e-2147483648')
decimal('-0.00')
decimal(true)
decimal(null)
decimal(b'x')
decimal(b'x', 1u)
decimal([1])
decimal(message.sum)
message.sum == decimal('12.34')
message.sum != decimal('12.34')
message.sums == [decimal('1.5'), decimal('2.0')]
{'a': decimal('1.0')} == {'a': decimal('1')}
decimal('1.5') in message.sums
decimal('1') in {'a': 1}
decimals.add(message.sum, decimal('0.660'))
decimals.sub('1', 2)
decimals.mul('1.50', '2.0')
decimals.div('1', '3')
decimals.div('1', '8')
decimals.div('1', 0)
decimals.div(0, 0)
decimals.mod('-7', '3')
decimals.mod('7', 0)
decimals.mod('1e2147483647', '3')
decimals.add('1e2147483647', '1')
decimals.eq('1.0', '1')
decimals.lt('1', '2')
decimals.le('2', '2')
decimals.gt('2', '1')
decimals.ge('1', '2')
decimals.greatest('1', '2')
decimals.least('1', '2')
decimals.sqrt('9.0')
decimals.sqrt('2')
decimals.sqrt('0.000')
decimals.sqrt('1e3')
decimals.sqrt('100')
decimals.sqrt('-1')
decimals.neg('1')
decimals.abs('-1.50')
decimals.sign('-5')
decimals.round('1.25', 1)
decimals.round('-2.5')
decimals.round('125', -1)
decimals.round('1', 2147483647)
decimals.round('1', 2.0)
decimals.round('1', 9999999999)
decimals.trunc('1.29', 1)
decimals.trunc('1.2', 5)
decimals.trunc('-1.9')
decimals.floor('-1.5')
decimals.ceil('1.2')
string(decimal('1e3'))
string(decimal('1e100000000'))
string(true)
string(null)
string([1])
string(1.5)
string(b'x')
string(b'\\xff')
string(message.at)
string(timestamp('2026-01-01T00:00:00.000001Z'))
string(duration('5s'))
double(decimal('1.5'))
double('2.5')
double(true)
double(b'1')
timestamp('2026-01-01T00:00:00Z')
timestamp(5)
timestamp(-1, 3)
timestamp(1700000000123, 3)
timestamp(1700000000123456, 6)
timestamp(1700000000123456789, 9)
timestamp(1, 4)
timestamp(1u)
timestamp(true)
timestamp(null)
timestamp(1.5, 3)
timestamp(1, true)
timestamp(99999999999999)
timestamp(message.at)
timestamp('nonsense')
variants.type(variants.parseJson(message.text_of_json))
variants.toJson(variants.field(variants.parseJson(message.text_of_json), 'a'))
variants.toJson(variants.index(variants.field(variants.parseJson(message.text_of_json), 'a'), 2))
variants.as(variants.path(variants.parseJson(message.text_of_json), '$.a[1]'), 'double')
variants.as(variants.path(variants.parseJson(message.text_of_json), '$.a[0]'), 'int')
variants.as(variants.path(variants.parseJson(message.text_of_json), '$["a"][2].b'), 'string')
variants.as(variants.path(variants.parseJson(message.text_of_json), '$.d'), 'boolean')
variants.as(variants.path(variants.parseJson(message.text_of_json), '$.d'), 'string')
variants.tryAs(variants.path(variants.parseJson(message.text_of_json), '$.d'), 'string')
variants.tryAs(variants.path(variants.parseJson(message.text_of_json), '$.d'), 'nonsense')
variants.as(variants.path(variants.parseJson(message.text_of_json), '$.d'), 'nonsense')
variants.as(variants.path(variants.parseJson(message.text_of_json), '$.a'), 'array')
variants.tryAs(variants.path(variants.parseJson(message.text_of_json), '$.a'), 'object')
variants.isNull(variants.path(variants.parseJson(message.text_of_json), '$.c'))
variants.isNull(5)
variants.path(variants.parseJson(message.text_of_json), '$.z.y') == null
variants.path(variants.parseJson('{}'), '')
variants.path(variants.parseJson('{}'), 'x')
variants.path(variants.parseJson('{}'), '$.')
variants.path(variants.parseJson('{}'), '$[')
variants.path(variants.parseJson('{}'), '$[-1]')
variants.path(variants.parseJson('{}'), '$[x]')
variants.path(variants.parseJson('{}'), '$[1')
variants.path(variants.parseJson('{}'), '$[99999999999]')
variants.path(variants.parseJson('{}'), '$["x')
variants.path(variants.parseJson('{}'), '$["x"')
variants.path(variants.parseJson('{}'), '$["\\\\q"]')
variants.path(variants.parseJson('{}'), '$x')
variants.path(variants.parseJson('{"é": 1}'), '$.é') == null
variants.path(variants.parseJson('{}'), 5)
variants.field(variants.parseJson('{}'), 5)
variants.field(variants.parseJson('[]'), 'a') == null
variants.index(variants.parseJson('[]'), 1u)
variants.index(variants.parseJson('[]'), true)
variants.index(variants.parseJson('[1]'), -1) == null
variants.index(variants.parseJson('{}'), 0) == null
variants.parseJson('{')
variants.parseJson(5)
variants.tryParseJson('{') == null
variants.tryParseJson(5)
variants.field(null, 'a') == null
variants.type(5)
variant('x')
variant(null) == null
variant(b'', b'')
variant(b'\\x00', b'\\x01\\x00\\x00')
variant({'value': b'\\x00', 'metadata': b'\\x01\\x00\\x00'})
variant({'value': b'\\x00'})
variant({'value': b'', 'metadata': b''}) == null
variant([1])
""".strip().splitlines()


KINDS = (bool, str, bytes, int, float, datetime.datetime, datetime.timedelta)


def comparable(value: Any) -> Any:
    """Without the classes that CEL has for them."""
    if isinstance(value, variant_utils.Variant | Variant):
        return "variant", value.standalone_value_bytes(), value.metadata
    if isinstance(value, dict):
        return {key: comparable(each) for key, each in value.items()}
    if isinstance(value, list):
        return [comparable(each) for each in value]
    if type(value).__name__ == "BoolType":
        return bool, bool(value)
    for kind in KINDS:
        if isinstance(value, kind):
            return kind, value
    return type(value).__name__, str(value)


def test_values_are_python_s_own() -> None:
    """A serializer in the kernel knows no others."""
    message = {**MESSAGE, "at": MESSAGE["at"], "words": ["a"], "unsigned": 5}
    found = outcome("TRANSFORM", "message", message)
    assert found == {**message, "born": 14246, "id": str(message["id"])}
    for name, value in found.items():
        assert type(value) in (dict, list, tuple, Decimal, type(None), *KINDS), name


def original_context(kind: str, expression: str | None) -> Any:
    mode: Any = original.RuleMode.WRITE
    none: Any = None
    rule = original.Rule(
        "r", None, original.RuleKind(kind), mode, "CEL", None, None, expression, None, None, None
    )
    schema = original.Schema("{}", schema_type="AVRO")
    return original_serde.RuleContext(None, none, None, schema, "s", mode, rule, 0, [rule], None, None)


def context(kind: str, expression: str | None) -> ours.RuleContext:
    rule = Rule("r", kind=kind, mode="WRITE", type="CEL", expr=expression)
    mode = ours.RuleMode.WRITE
    return ours.RuleContext(None, None, None, Schema("{}"), "s", mode, rule, 0, [rule], None, None)


def original_outcome(kind: str, expression: str | None, message: Any) -> Any:
    try:
        return OriginalExecutor().transform(original_context(kind, expression), message)
    except Exception as error:
        first = error.args[0] if error.args else ""
        return "failed", first if isinstance(first, str) else str(error)


def outcome(kind: str, expression: str | None, message: Any) -> Any:
    try:
        return CelExecutor().transform(context(kind, expression), message)
    except (ours.RuleError, ValueError) as error:
        return "failed", str(error)


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("kind", ["TRANSFORM", "CONDITION"])
def test_an_expression_gives_what_it_gives_in_the_original(expression: str, kind: str) -> None:
    expected = original_outcome(kind, expression, MESSAGE)
    found = outcome(kind, expression, MESSAGE)
    if isinstance(expected, tuple) and expected[0] == "failed":
        assert found[0] == "failed", found
        # Its words are in ours, behind the expression.
        assert expected[1].splitlines()[0][:60] in found[1] or "Exceeds" in expected[1]
    else:
        assert comparable(found) == comparable(expected)


def engine() -> RuleEngine:
    made = RuleEngine(ours.RuleRegistry())
    made.registry.register_executor(CelExecutor())
    made.registry.register_executor(CelFieldExecutor())
    return made


def run(rule: Rule, message: Any, **words: Any) -> Any:
    schema = Schema("{}", rule_set=RuleSet(domain_rules=[rule]))
    return engine().run(None, "orders-value", ours.RuleMode.WRITE, None, schema, message, **words)


HOSTILE = {
    "no expression": ("1 +", "the expression '1 .' failed"),
    "no text": ("\x00", "failed"),
    "deep": ("(" * 3000 + "1" + ")" * 3000, "the expression"),
    "deep lists": ("[" * 2000 + "]" * 2000, "the expression"),
    "digits": ("string(decimals.div(decimal('1e-2147483647'), decimal('1e2147483647')))", "needs"),
    "precision": ("'%.999999999f'.format([1.5])", "precision is larger than"),
    "a bad pattern": ("'a'.matches('(')", "failed"),
    "unknown names": ("nobody.nothing", "failed"),
    "no condition that holds": ("false", "Rule expr failed: false"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_blows_up_is_one_error_that_names_rule_and_subject(what: str) -> None:
    expression, words = HOSTILE[what]
    rule = Rule("check", kind="CONDITION", mode="WRITE", type="CEL", expr=expression)
    with pytest.raises(
        SerializationError, match=r"^rule 'check' \(CEL, WRITE\) of subject 'orders-value' failed: "
    ) as raised:
        run(rule, {"a": 1})
    assert words.replace("1 .", "1 +") in str(raised.value)
    assert len(str(raised.value)) < 1000


def test_a_pattern_that_would_take_for_ever_does_not() -> None:
    rule = Rule("r", kind="CONDITION", mode="WRITE", type="CEL", expr="!message.matches('(a*)*b')")
    assert run(rule, "a" * 10_000) == "a" * 10_000


@pytest.mark.parametrize("macro", ["map", "filter", "all", "exists", "exists_one"])
def test_an_expression_that_takes_too_long_is_stopped(macro: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of six lists within each other: without a limit it would take years."""
    monkeypatch.setattr(limits, "LONGEST_SECONDS", 0.2)
    within = {"all": "true", "exists": "false", "exists_one": "false"}.get(macro, "true")
    for name in "fedcba":
        within = f"message.numbers.{macro}({name}, {within})"
        if macro in ("map", "filter"):
            within = f"{within}.size() > 0"
    rule = Rule("slow", kind="CONDITION", mode="WRITE", type="CEL", expr=within)
    with pytest.raises(SerializationError, match=r"the expression took more than 0\.2 seconds"):
        run(rule, {"numbers": list(range(300))})


def test_a_limit_is_one_for_each_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LONGEST_SECONDS", -1)
    rule = Rule("r", kind="CONDITION", mode="WRITE", type="CEL", expr="message.numbers.all(n, n >= 0)")
    with pytest.raises(SerializationError, match="the expression took more than"):
        run(rule, {"numbers": list(range(300))})
    monkeypatch.undo()
    assert run(rule, {"numbers": list(range(300))}) == {"numbers": list(range(300))}


@pytest.mark.parametrize(
    "expression",
    [
        "message.numbers.reduce(r, i, 'abcdefgh', r + r).size() > 0",
        "message.numbers.reduce(r, i, b'abcdefgh', r + r).size() > 0",
        "message.numbers.reduce(r, i, [1, 2], r + r).size() > 0",
        "message.numbers.reduce(r, i, 'ab', '%s%s'.format([r, r])).size() > 0",
        "message.numbers.map(n, message.text + message.text).size() > 0",
    ],
    ids=["texts", "bytes", "lists", "formatted texts", "many texts"],
)
def test_an_expression_that_makes_too_much_is_stopped(
    expression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST_BYTES", 1_000_000)
    rule = Rule("r", kind="CONDITION", mode="WRITE", type="CEL", expr=expression)
    # With twice as many it would be a terabyte, or more.
    with pytest.raises(SerializationError, match="the expression made more than 1000000 bytes"):
        run(rule, {"numbers": list(range(20)), "text": "x" * 50_000})


def test_a_product_that_has_too_many_digits_is_refused() -> None:
    expression = "decimals.gt(message.numbers.reduce(r, i, decimal('1.23456789'), decimals.mul(r, r)), '1')"
    rule = Rule("r", kind="CONDITION", mode="WRITE", type="CEL", expr=expression)
    with pytest.raises(SerializationError, match="past this client's 10000000-digit limit"):
        run(rule, {"numbers": list(range(60))})


def test_a_large_message_that_an_expression_only_looks_at_is_nothing_that_it_makes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "MOST_BYTES", 1_000_000)
    rule = Rule(
        "r", kind="CONDITION", mode="WRITE", type="CEL", expr="message.numbers.all(n, message.text != '')"
    )
    message = {"numbers": list(range(100)), "text": "x" * 50_000}
    assert run(rule, message) == message
    # Each message has all of it again.
    assert run(rule, message) == message


def test_functions_with_dots_are_known_within_macros() -> None:
    """Which the original does not do."""
    expression = "message.sums.all(sum, decimals.ge(sum, decimal('1')))"
    assert outcome("CONDITION", expression, MESSAGE) is True


def test_a_rule_without_an_expression_changes_nothing() -> None:
    assert outcome("TRANSFORM", None, {"a": 1}) == original_outcome("TRANSFORM", None, {"a": 1}) == {"a": 1}


def field_walk(name: str, kind: str, tags: set[str]) -> Any:
    def walk(ctx: ours.RuleContext, transform: ours.FieldTransform, message: Any) -> Any:
        found = ctx.enter_field(message, f"Order.{name}", name, ours.FieldType(kind), tags)
        changed = transform(ctx, found, message[name])
        ctx.exit_field()
        return {**message, name: changed}

    return walk


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("value + '!'", "x!"),
        ("name + fullName + typeName", "wordOrder.wordSTRING"),
        ("'PII' in tags ? 'yes' : 'no'", "yes"),
        ("message.other + value", "yx"),
        ("name == 'nobody'; 'changed'", "x"),
        ("name == 'word'; 'changed'", "changed"),
    ],
)
def test_a_field_s_rule_knows_the_field(expression: str, expected: str) -> None:
    rule = Rule("r", kind="TRANSFORM", mode="WRITE", type="CEL_FIELD", expr=expression)
    message = {"word": "x", "other": "y"}
    found = run(rule, message, field_transformer=field_walk("word", "STRING", {"PII", "A"}))
    assert found["word"] == expected


def test_a_field_s_error_names_the_field() -> None:
    rule = Rule("r", kind="TRANSFORM", mode="WRITE", type="CEL_FIELD", expr="value + 1")
    with pytest.raises(
        SerializationError, match=r"'orders-value' failed at the field 'Order.word': the expr"
    ):
        run(rule, {"word": "x"}, field_transformer=field_walk("word", "STRING", set()))


def test_fields_with_parts_are_left_as_they_are() -> None:
    rule = Rule("r", kind="TRANSFORM", mode="WRITE", type="CEL_FIELD", expr="'changed'")
    message = {"part": {"a": 1}}
    assert run(rule, message, field_transformer=field_walk("part", "RECORD", set())) == message

"""Which rules run, in which order, and what follows: beside the original's, for rules by chance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import confluent_kafka.schema_registry as original
import pytest
from confluent_kafka.schema_registry import rule_registry as original_registry
from confluent_kafka.schema_registry import serde as original_serde
from confluent_kafka.schema_registry._sync.serde import BaseSerde
from confluent_kafka.schema_registry.common.schema_registry_client import RulePhase as OriginalPhase
from confluent_kafka.serialization import SerializationError as OriginalSerializationError
from hypothesis import given
from hypothesis import strategies as st

from barnabas.errors import SerializationError
from barnabas.registry import RegisteredSchema, Rule, RuleSet, Schema
from barnabas.registry import rules as ours
from barnabas.registry.rules.engine import (
    RuleEngine,
    clear_original_key,
    has_rules,
    migrations,
    set_original_key,
)


@dataclass
class Place:
    topic: str = "orders"
    field: str = "value"
    headers: Any = None


def parts_for(base: Any, noted: list[Any]) -> tuple[list[Any], list[Any]]:
    """Executors and actions, of the base classes in a module."""

    class Append(base.RuleExecutor):
        def type(self) -> str:
            return "APPEND"

        def transform(self, ctx: Any, message: Any) -> Any:
            noted.append((ctx.rule.name, ctx.index, str(ctx.rule_mode), message, ctx.get_parameter("p")))
            return f"{message}{ctx.rule.name}"

    class Fails(base.RuleExecutor):
        def type(self) -> str:
            return "FAILS"

        def transform(self, ctx: Any, message: Any) -> Any:
            raise ValueError("no")

    class Nothing(base.RuleExecutor):
        def type(self) -> str:
            return "NOTHING"

        def transform(self, ctx: Any, message: Any) -> Any:
            return None

    class Note(base.RuleAction):
        def type(self) -> str:
            return "NOTE"

        def run(self, ctx: Any, message: Any, ex: Any) -> None:
            noted.append(
                (
                    "NOTE",
                    ctx.rule.name,
                    message,
                    type(ex).__name__,
                    str(ex),
                    ctx.original_key,
                    ctx.original_value,
                )
            )

    class BadAction(base.RuleAction):
        def type(self) -> str:
            return "BAD"

        def run(self, ctx: Any, message: Any, ex: Any) -> None:
            raise ValueError("an action that fails")

    return [Append(), Fails(), Nothing()], [Note(), BadAction()]


ACTIONS = st.sampled_from([None, "", "ERROR", "NONE", "NOTE", "BAD", "NOTE,NONE", "NONE,NOTE", "NOWHERE"])
RULES = st.fixed_dictionaries(
    {
        "name": st.sampled_from("abc"),
        "kind": st.sampled_from([None, "CONDITION", "TRANSFORM"]),
        "mode": st.sampled_from([None, "WRITE", "READ", "WRITEREAD", "UPGRADE", "DOWNGRADE", "UPDOWN"]),
        "type": st.sampled_from([None, "APPEND", "append", "FAILS", "NOTHING", "UNKNOWN"]),
        "params": st.sampled_from([None, {"p": "1"}, {}]),
        "on_success": ACTIONS,
        "on_failure": ACTIONS,
        "disabled": st.sampled_from([None, False, False, True]),
    }
)
OVERRIDES = st.none() | st.tuples(
    st.sampled_from(["APPEND", "FAILS", "append"]), ACTIONS, ACTIONS, st.sampled_from([None, True, False])
)


def original_rule(words: dict[str, Any]) -> Any:
    kind, mode, params = words["kind"], words["mode"], words["params"]
    return original.Rule(
        words["name"],
        None,
        kind and original.RuleKind(kind),
        mode and original.RuleMode(mode),
        words["type"],
        None,
        None if params is None else original.RuleParams(params),
        None,
        words["on_success"],
        words["on_failure"],
        words["disabled"],
    )


def outcome_of(run: Any, *errors: type[Exception]) -> Any:
    try:
        return run()
    except errors as error:
        return "failed", type(error).__name__, type(error.__cause__).__name__, str(error.__cause__)


@given(
    st.lists(RULES, min_size=1, max_size=4),
    st.sampled_from(["WRITE", "READ", "UPGRADE", "DOWNGRADE"]),
    st.sampled_from(["DOMAIN", "ENCODING", "MIGRATION"]),
    st.sampled_from([None, "ALL", "CLIENT", "SERVER"]),
    OVERRIDES,
    st.sampled_from([None, [("__rule.name", b"a")], {"__rule.name": "b"}, [("__rule.name", b"\xff")]]),
    st.sampled_from(["key", "value"]),
)
def test_rules_by_chance_run_as_the_original_runs_them(
    rules: list[dict[str, Any]],
    mode: str,
    phase: str,
    enable_at: str | None,
    override: Any,
    headers: Any,
    part: str,
) -> None:
    original_noted: list[Any] = []
    registry = original_registry.RuleRegistry()
    executors, actions = parts_for(original_serde, original_noted)
    for each in executors:
        registry.register_executor(each)
    for each in actions:
        registry.register_action(each)
    if override:
        registry.register_override(original_registry.RuleOverride(*override))
    serde: Any = BaseSerde()
    serde._rule_registry = registry
    theirs = list(map(original_rule, rules))
    place: Any = Place(field=part, headers=headers)
    schema = original.Schema("{}", rule_set=original.RuleSet(theirs, theirs, theirs, enable_at=enable_at))
    original_serde.set_original_key("the key")
    expected = outcome_of(
        lambda: serde._execute_rules_with_phase(
            place,
            "s",
            OriginalPhase(phase),
            original.RuleMode(mode),
            schema,
            schema,
            "m",
            None,
            None,
        ),
        OriginalSerializationError,
        original_serde.RuleError,
    )

    noted: list[Any] = []
    engine = RuleEngine(ours.RuleRegistry(), as_original=True)
    executors, actions = parts_for(ours, noted)
    for each in executors:
        engine.registry.register_executor(each)
    for each in actions:
        engine.registry.register_action(each)
    if override:
        engine.registry.register_override(ours.RuleOverride(*override))
    set_original_key("the key")
    mine = [Rule(**words) for words in rules]
    own = Schema("{}", rule_set=RuleSet(mine, mine, mine, enable_at))
    found = outcome_of(
        lambda: engine.run(place, "s", ours.RuleMode(mode), own, own, "m", rule_phase=ours.RulePhase(phase)),
        SerializationError,
        ours.RuleError,
    )
    # The original loses why the rule failed where the action is unknown.
    loses_cause = isinstance(expected, tuple) and expected[1] == "RuleError"
    if loses_cause:
        expected, found = expected[:2], found[:2]
    assert (found, noted) == (expected, original_noted)
    # The engine takes the original's schemas as well.
    noted.clear()
    again = outcome_of(
        lambda: engine.run(
            place, "s", ours.RuleMode(mode), schema, schema, "m", rule_phase=ours.RulePhase(phase)
        ),
        SerializationError,
        ours.RuleError,
    )
    assert (again[:2] if loses_cause else again, noted) == (expected, original_noted)


def test_an_error_names_rule_type_mode_and_subject() -> None:
    engine = RuleEngine(ours.RuleRegistry())
    for each in parts_for(ours, [])[0]:
        engine.registry.register_executor(each)
    rule = Rule("check", kind="CONDITION", mode="WRITE", type="FAILS")
    schema = Schema("{}", rule_set=RuleSet(domain_rules=[rule]))
    with pytest.raises(
        SerializationError, match=r"^rule 'check' \(FAILS, WRITE\) of subject 'orders-value' failed: no$"
    ) as raised:
        engine.run(Place(), "orders-value", ours.RuleMode.WRITE, None, schema, "m")
    assert isinstance(raised.value.__cause__, ValueError)


def test_a_condition_fails_with_its_own_words() -> None:
    rule = Rule("check", doc="only adults", expr="message.age > 17")
    assert str(ours.RuleConditionError(rule)) == "only adults"
    assert str(ours.RuleConditionError(Rule("check", expr="false"))) == "Rule expr failed: false"
    assert str(ours.RuleConditionError(Rule("check"))) == "Rule failed: check"


def test_a_value_s_rules_know_the_key_that_was_serialized_before_it() -> None:
    noted: list[Any] = []
    engine = RuleEngine(ours.RuleRegistry())
    executors, actions = parts_for(ours, noted)
    for each in executors:
        engine.registry.register_executor(each)
    engine.registry.register_action(actions[0])
    rule = Rule("r", kind="TRANSFORM", mode="WRITE", type="APPEND", on_success="NOTE")
    schema = Schema("{}", rule_set=RuleSet(domain_rules=[rule]))
    set_original_key({"id": 5})
    engine.run(Place(), "s", ours.RuleMode.WRITE, None, schema, "m")
    clear_original_key()
    engine.run(Place(), "s", ours.RuleMode.WRITE, None, schema, "m")
    assert [entry[5:] for entry in noted if entry[0] == "NOTE"] == [({"id": 5}, "m"), (None, "m")]


def test_an_engine_closes_actions_before_executors_and_all_of_them() -> None:
    closed: list[str] = []

    class Executor(ours.RuleExecutor):
        def type(self) -> str:
            return "X"

        def transform(self, ctx: ours.RuleContext, message: Any) -> Any:
            return message

        def close(self) -> None:
            closed.append("executor")

    class Action(ours.NoneAction):
        def close(self) -> None:
            closed.append("action")
            raise ValueError("cannot be closed")

    registry = ours.RuleRegistry()
    registry.register_executor(Executor())
    registry.register_action(Action())
    RuleEngine(registry).close()
    assert closed == ["action", "executor"]


@dataclass
class Versions:
    """Of one subject, as a registry has them."""

    schemas: list[Schema]
    asked: list[int] = field(default_factory=list)

    def registered(self, version: int) -> RegisteredSchema:
        return RegisteredSchema("s", version, version, None, self.schemas[version - 1])

    def look_up(self, subject: str, schema: Any, *, normalize: bool = False, deleted: bool = False) -> Any:
        yield from ()
        assert deleted
        return self.registered(self.schemas.index(schema) + 1)

    def version(self, subject: str, version: int, *, deleted: bool = False, format: str | None = None) -> Any:
        yield from ()
        self.asked.append(version)
        return self.registered(version)


def ended(steps: Any) -> Any:
    with pytest.raises(StopIteration) as end:
        next(steps)
    return end.value.value


def versions_with_rules() -> Versions:
    """Four; the second has none that migrate."""

    def schema(number: int, *modes: str) -> Schema:
        rules = [
            Rule(f"{mode[0]}{number}{index}", kind="TRANSFORM", mode=mode, type="APPEND")
            for index, mode in enumerate(modes)
        ]
        return Schema(f'"{number}"', rule_set=RuleSet(migration_rules=rules) if rules else None)

    return Versions(
        [schema(1, "UPGRADE"), schema(2), schema(3, "UPGRADE", "DOWNGRADE"), schema(4, "UPDOWN", "DOWNGRADE")]
    )


def test_the_way_between_versions_has_those_with_rules_for_its_direction() -> None:
    versions = versions_with_rules()
    up = ended(migrations(versions, "s", versions.schemas[0], versions.registered(4)))
    assert [(each.rule_mode, each.source.version, each.target.version) for each in up] == [
        ("UPGRADE", 2, 3),
        ("UPGRADE", 3, 4),
    ]
    assert versions.asked == [2, 3]
    down = ended(migrations(versions, "s", versions.schemas[3], versions.registered(1)))
    assert [(each.rule_mode, each.source.version, each.target.version) for each in down] == [
        ("DOWNGRADE", 4, 3),
        ("DOWNGRADE", 3, 2),
    ]
    assert ended(migrations(versions, "s", versions.schemas[1], versions.registered(2))) == []


def test_a_message_migrates_version_by_version() -> None:
    versions = versions_with_rules()
    engine = RuleEngine(ours.RuleRegistry())
    for each in parts_for(ours, [])[0]:
        engine.registry.register_executor(each)
    up = ended(migrations(versions, "s", versions.schemas[0], versions.registered(4)))
    assert engine.migrate(Place(), "s", up, "m") == "mU30U40"
    down = ended(migrations(versions, "s", versions.schemas[3], versions.registered(1)))
    # Of a version the last rule is undone first.
    assert engine.migrate(Place(), "s", down, "m") == "mD41U40D31"


def test_rules_for_both_ways_count_for_each() -> None:
    rules = RuleSet(domain_rules=[Rule("r", mode="WRITEREAD")], migration_rules=[Rule("r", mode="DOWNGRADE")])
    domain, migration = ours.RulePhase.DOMAIN, ours.RulePhase.MIGRATION
    assert has_rules(rules, domain, ours.RuleMode.READ)
    assert has_rules(rules, domain, ours.RuleMode.WRITE)
    assert not has_rules(rules, domain, ours.RuleMode.UPGRADE)
    assert has_rules(rules, migration, ours.RuleMode.DOWNGRADE)
    assert not has_rules(rules, migration, ours.RuleMode.UPGRADE)
    assert not has_rules(None, domain, ours.RuleMode.READ)


def own_engine() -> RuleEngine:
    engine = RuleEngine(ours.RuleRegistry())
    for each in parts_for(ours, [])[0]:
        engine.registry.register_executor(each)
    return engine


def written_by(*rules: Rule) -> Any:
    schema = Schema("{}", rule_set=RuleSet(domain_rules=rules))
    return own_engine().run(Place(), "s", ours.RuleMode.WRITE, None, schema, "m")


def test_rules_behind_one_that_nobody_carries_out_are_run() -> None:
    unknown = Rule("u", kind="TRANSFORM", mode="WRITE", type="UNKNOWN", on_failure="NONE")
    assert written_by(unknown, Rule("a", kind="TRANSFORM", mode="WRITE", type="APPEND")) == "ma"


def test_a_rule_of_no_kind_fails_and_is_not_skipped() -> None:
    with pytest.raises(
        SerializationError,
        match=r"rule 'a' \(APPEND, WRITE\) of subject 's' failed: its kind is None, and not CONDITION or",
    ):
        written_by(Rule("a", mode="WRITE", type="APPEND"))


@pytest.mark.parametrize(("type", "why"), [("APPEND", ""), ("FAILS", r"\. The rule failed: no")])
def test_an_action_that_is_not_there_is_an_error_that_names_rule_and_subject(type: str, why: str) -> None:
    rule = Rule("a", kind="TRANSFORM", mode="WRITE", type=type, on_success="DLQ", on_failure="DLQ")
    with pytest.raises(
        SerializationError,
        match=rf"^rule 'a' \({type}, WRITE\) of subject 's' asks for the action DLQ, which is not there: "
        rf"register it with RuleRegistry\.register_action{why}$",
    ) as raised:
        written_by(rule)
    assert isinstance(raised.value.__cause__, ours.RuleError)

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import confluent_kafka.schema_registry as original
import pytest
from confluent_kafka.schema_registry import serde as original_serde
from confluent_kafka.schema_registry.rules.jsonata.jsonata_executor import (
    JsonataExecutor as OriginalExecutor,
)

from barnabas.errors import SerializationError
from barnabas.registry import Rule, RuleSet, Schema
from barnabas.registry import rules as ours
from barnabas.registry.rules import jsonata_child, limits
from barnabas.registry.rules.engine import RuleEngine
from barnabas.registry.rules.jsonata import JsonataExecutor

MESSAGE = {"name": "Jo", "size": 5, "words": ["a", "b"], "place": {"street": "x"}, "nothing": None}

# Expressions are evaluated by a process.
pytestmark = pytest.mark.integration
EXECUTOR = JsonataExecutor()


@pytest.fixture(scope="module", autouse=True)
def _process() -> Iterator[None]:
    assert migrated("name", MESSAGE) == "Jo"
    yield
    EXECUTOR.close()


@pytest.fixture
def executor() -> Iterator[JsonataExecutor]:
    """Of a test that ends its process."""
    with closing(JsonataExecutor()) as made:
        yield made


def migrated(expression: str, message: Any, executor: JsonataExecutor = EXECUTOR) -> Any:
    engine = RuleEngine(ours.RuleRegistry())
    engine.registry.register_executor(executor)
    rule = Rule("up", kind="TRANSFORM", mode="UPGRADE", type="JSONATA", expr=expression)
    schema = Schema("{}", rule_set=RuleSet(migration_rules=[rule]))
    phase = ours.RulePhase.MIGRATION
    return engine.run(None, "orders", ours.RuleMode.UPGRADE, schema, schema, message, rule_phase=phase)


@pytest.mark.parametrize(
    "expression",
    [
        "$merge([$sift($, function($v, $k) {$k != 'size'}), {'height': $.'size'}])",
        "$merge([$, {'full': name & ' ' & place.street}])",
        "{'words': words[0], 'count': $count(words), 'half': size / 2}",
        "$ ~> |place|{'street': $uppercase(street)}, ['none']|",
        "words",
        "name",
        "$exists(nothing) ? 'there' : 'gone'",
    ],
)
def test_a_message_becomes_what_it_becomes_in_the_original(expression: str) -> None:
    rule: Any = original.Rule("up", None, None, None, "JSONATA", None, None, expression, None, None, None)
    none: Any = None
    context = original_serde.RuleContext(
        None, none, None, None, "s", original.RuleMode.UPGRADE, rule, 0, [rule], None, None
    )
    assert migrated(expression, MESSAGE) == OriginalExecutor().transform(context, MESSAGE)


def test_what_json_does_not_have_is_carried_along() -> None:
    message = {"raw": b"\x00", "old": 1}
    found = migrated("$merge([$sift($, function($v, $k) {$k != 'old'}), {'new': old}])", message)
    assert found == {"raw": b"\x00", "new": 1}


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("1 +", "failed: Unexpected end of expression"),
        ("$nobody()", "failed: Attempted to invoke a non-function"),
        ("name + 1", "failed: The left side of the"),
        ("($f := function($x) {1 + $f($x)}; $f(1))", "goes too deep"),
        ("(" * 5000 + "1" + ")" * 5000, "goes too deep"),
        ("unknown", "it gave nothing"),
    ],
)
def test_what_blows_up_is_one_error_that_names_rule_and_subject(expression: str, words: str) -> None:
    with pytest.raises(
        SerializationError, match=r"^rule 'up' \(JSONATA, UPGRADE\) of subject 'orders' failed: "
    ) as raised:
        migrated(expression, MESSAGE)
    assert words in str(raised.value)


def test_an_expression_that_calls_itself_without_end_is_stopped(
    executor: JsonataExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LONGEST_SECONDS", 0.2)
    with pytest.raises(SerializationError, match=r"the expression took more than 0\.2 seconds"):
        migrated("($f := function($x) {$f($x)}; $f(1))", MESSAGE, executor)


@pytest.mark.parametrize(
    "expression",
    [
        "$match(text, /(a+)+$/)",
        "$contains(text, /(a|aa)+$/)",
        "$replace(text, /(a*)*b$/, 'x')",
        "$split(text, /(.*a){20}c/)",
        "$count($eval('$match(text, /(a+)+$/)'))",
    ],
)
def test_a_regular_expression_takes_linear_time(expression: str) -> None:
    """With Python's own, each of these would take longer than anybody waits."""
    assert migrated(f"{{'found': $string({expression})}}", {"text": "a" * 5000 + "!"}) is not None


def test_a_replacement_that_is_done_again_and_again_is_stopped(
    executor: JsonataExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LONGEST_SECONDS", 0.2)
    with pytest.raises(SerializationError, match=r"the expression took more than 0\.2 seconds"):
        migrated("$replace(name, /z/, 'y', 1000000000000)", MESSAGE, executor)


@pytest.mark.parametrize(
    "expression",
    [
        "$replace(name, /(J)(o)/, '$2-$1$$$0')",
        "$replace(name, /(J)/, '$12')",
        "$replace(name, /O/i, 'a', 1)",
        "$replace(name, /./, function($m) {$uppercase($m.match) & $count($m.groups)})",
        "$match('ab12 cd3', /([a-z]+)([0-9]+)/).groups",
        "$match('ab12 cd3', /([a-z]+)([0-9]+)/, 1)",
        "$split('a1b22c', /[0-9]+/)",
        "$split('a1b22c', /[0-9]+/, 2)",
        "$contains('x\\ny', /^y$/m)",
        "$match('äöü', /ö/).index",
        "(name ~> /J/).match",
        "$pad(name, 5, '-') & $pad(name, -4)",
        "name.$pad(5, 'xy')",
    ],
)
def test_functions_of_texts_do_what_they_do_in_the_original(expression: str) -> None:
    rule: Any = original.Rule("up", None, None, None, "JSONATA", None, None, expression, None, None, None)
    none: Any = None
    context = original_serde.RuleContext(
        None, none, None, None, "s", original.RuleMode.UPGRADE, rule, 0, [rule], None, None
    )
    assert migrated(expression, MESSAGE) == OriginalExecutor().transform(context, MESSAGE)


@pytest.mark.parametrize("width", ["1000001", "-1000001", "1e300"])
def test_a_text_is_not_padded_without_end(width: str) -> None:
    with pytest.raises(SerializationError, match=r"\$pad takes widths up to 1000000"):
        migrated(f"$pad(name, {width})", MESSAGE)
    assert len(migrated("$pad(name, 1000000)", MESSAGE)) == 1_000_000


@pytest.mark.parametrize("pattern", ["a(?=b)", r"(a)\1", "(?<!a)b"])
def test_a_regular_expression_that_cannot_be_linear_is_refused(pattern: str) -> None:
    with pytest.raises(SerializationError, match="which have no look-ahead and no references to groups"):
        migrated(f"$match(name, /{pattern}/)", MESSAGE)


@pytest.mark.parametrize(
    "expression",
    [
        "$reduce([1..40], function($o, $i) {{'a': $o, 'b': $o}}, 1)",
        "$string($reduce([1..40], function($o, $i) {{'a': $o, 'b': $o}}, 1))",
        "$fromMillis(0, '[Y,2000000000]')",
        "$eval($pad('1', 1000000, '+1') & '1')",
    ],
    ids=["shared objects", "a text of shared objects", "a width in a picture", "a long program"],
)
def test_what_takes_long_within_one_step_is_stopped(
    expression: str, executor: JsonataExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the library's own loops, which no step of an expression interrupts."""
    monkeypatch.setattr(limits, "LONGEST_SECONDS", 0.5)
    with pytest.raises(SerializationError, match=r"the expression took more than 0\.5 seconds"):
        migrated(f"{{'found': {expression}}}", MESSAGE, executor)
    monkeypatch.undo()
    # The next one is evaluated as if nothing had been.
    assert migrated("name", MESSAGE, executor) == "Jo"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems bound no addresses of a process")
@pytest.mark.parametrize(
    "expression",
    [
        "$reduce([1..40], function($s, $i) {$s & $s}, 'abcdefgh')",
        "$reduce([1..40], function($s, $i) {$append($s, $s)}, [1, 2])",
        "[1..100000].{'a': $pad('x', 1000000)}",
        "($p := $pad('x', 100000, 'x'); $replace($p, 'x', $p))",
        "($p := $pad('x', 1000000, 'x'); $join([1..10000].($string($)), $p))",
        "$fromMillis(0, '[M01,2000000000]')",
    ],
    ids=["texts", "lists", "padded texts", "replaced texts", "joined texts", "a width in a picture"],
)
def test_what_makes_too_much_is_stopped(expression: str) -> None:
    with pytest.raises(SerializationError, match=f"needs more than {jsonata_child.MOST_BYTES} bytes"):
        migrated(f"$length($string({expression}))", MESSAGE)
    assert migrated("name", MESSAGE) == "Jo"


def test_a_process_that_somebody_has_ended_is_followed_by_another(executor: Any) -> None:
    assert migrated("name", MESSAGE, executor) == "Jo"
    os.kill(executor._evaluator._process.pid, signal.SIGKILL)
    executor._evaluator.wait()
    assert migrated("name", MESSAGE, executor) == "Jo"


def test_an_executor_that_was_closed_begins_anew(executor: JsonataExecutor) -> None:
    for _ in range(2):
        assert migrated("name", MESSAGE, executor) == "Jo"
        executor.close()
    executor.close()


def test_threads_do_not_see_each_others_messages() -> None:
    """The expression keeps its input in itself: with two threads at once `$$` would be another's message."""
    expression = "[[1..50].($$.number)]"
    wrong: list[Any] = []
    ready = threading.Barrier(4)

    def work(number: int) -> None:
        ready.wait()
        for _ in range(40):
            found = migrated(expression, {"number": number})
            if set(found) != {number}:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


FORKING = """
import os

from tests.registry.rules.test_jsonata import JsonataExecutor, migrated

executor = JsonataExecutor()
assert migrated("name", {"name": "before"}, executor) == "before"
# As another thread may have it that evaluates at this moment.
executor._lock.acquire()
child = os.fork()
if child == 0:
    found = migrated("name", {"name": "in the child"}, executor)
    executor.close()
    os._exit(0 if found == "in the child" else 1)
assert os.waitpid(child, 0)[1] == 0
executor._lock.release()
assert migrated("name", {"name": "after"}, executor) == "after"
executor.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no forks")
def test_the_child_of_a_fork_has_a_process_of_its_own() -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-W", "error", "-c", FORKING], env=environment, check=True, timeout=120)


def test_an_executor_travels() -> None:
    migrated("name", MESSAGE)
    with closing(pickle.loads(pickle.dumps(EXECUTOR))) as travelled:
        assert migrated("name", MESSAGE, travelled) == "Jo"

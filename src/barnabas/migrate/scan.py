"""Walks through sources and says of each place what the rules say of it.

Owns which place is asked about how. What there is to be said stands in `kafka_python` and `rules/`.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from barnabas.migrate import inventory, kafka_python
from barnabas.migrate.bindings import PACKAGES, Scope, Values, as_class, resolve, scopes_of
from barnabas.migrate.calls import UNKNOWN, GivenArguments, constant, given_to, keys_of
from barnabas.migrate.findings import Effect, Finding
from barnabas.migrate.kafka_python import ORDER, Said
from barnabas.migrate.rules.change import BREAKS, KAFKA_4, Change, Use
from barnabas.migrate.rules.confluent_kafka import CHANGES_OF_LIBRDKAFKA, CONFIGURED_BY_DICTIONARIES
from barnabas.migrate.rules.kafka_4 import CHANGES_WITH_KAFKA_4, TOPIC_SETTINGS
from barnabas.migrate.rules.kafka_python import CHANGES_OF_KAFKA_PYTHON
from barnabas.migrate.sources import files_under, parsed, text_of

__all__ = ["scan", "scan_text"]

_MENTIONS_A_PACKAGE = re.compile(rf"\b(?:{'|'.join(PACKAGES)})\b")
_STREAM_TOPIC = re.compile(r"/[^\s:]*[^\s:/]:[\w.-]+")


def scan(paths: Iterable[Path], older: str, newer: str) -> list[Finding]:
    """What of the sources breaks or changes from one generation of kafka-python to another, in their order.

    Raises: OSError for a file that cannot be read.
    """
    files = [file for path in paths for file in files_under(path)]
    return sorted(finding for file in files for finding in _in_file(file, older, newer))


def _in_file(file: Path, older: str, newer: str) -> list[Finding]:
    try:
        return scan_text(text_of(file), str(file), older, newer)
    except (SyntaxError, ValueError) as error:
        return [_unread(str(file), error)]


def _unread(file: str, error: SyntaxError | ValueError) -> Finding:
    line = (error.lineno or 1) if isinstance(error, SyntaxError) else 1
    reason = error.msg if isinstance(error, SyntaxError) else str(error)
    return Finding(file, line, 1, Effect.UNREAD, "Python 3", "the file", reason, "a source for Python 3")


def scan_text(text: str, file: str, older: str, newer: str) -> list[Finding]:
    """The same of one source. Raises: SyntaxError, ValueError."""
    if not _MENTIONS_A_PACKAGE.search(text):
        return []
    walk = _Walk(file, older, newer)
    walk.through(parsed(text))
    return sorted(set(walk.found))


@cache
def _changes() -> Mapping[str, tuple[Change, ...]]:
    by_name: dict[str, list[Change]] = defaultdict(list)
    for change in (*CHANGES_OF_KAFKA_PYTHON, *CHANGES_WITH_KAFKA_4, *CHANGES_OF_LIBRDKAFKA):
        by_name[change.of].append(change)
    return {name: tuple(found) for name, found in by_name.items()}


class _Walk:
    def __init__(self, file: str, older: str, newer: str) -> None:
        self.found: list[Finding] = []
        self._file = file
        self._older = older
        self._newer = newer
        self._scopes: dict[ast.AST, Scope] = {}
        self._uses_a_package = False

    def through(self, tree: ast.Module) -> None:
        self._scopes = scopes_of(tree)
        imported = [
            name
            for node in ast.walk(tree)
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [f"{node.module}.{alias.name}" for alias in node.names]
                if isinstance(node, ast.ImportFrom)
                else ()
            )
        ]
        self._uses_a_package = any(
            as_class(name).partition(".")[0].partition(":")[0] in PACKAGES for name in imported
        )
        self._visit(tree, self._scopes[tree], None, is_tried=False)

    def _visit(self, node: ast.AST, scope: Scope, parent: ast.AST | None, *, is_tried: bool) -> None:
        inner = self._scopes.get(node, scope)
        self._look_at(node, scope, parent, is_tried)
        for child in ast.iter_child_nodes(node):
            tried = is_tried
            if isinstance(node, ast.Try) and child in node.body:
                tried = is_tried or _expects_imports_to_fail(node)
            self._visit(child, inner, node, is_tried=tried)

    def _look_at(self, node: ast.AST, scope: Scope, parent: ast.AST | None, is_tried: bool) -> None:
        match node:
            case ast.Import():
                for alias in node.names:
                    self._mentioned(node, as_class(alias.name), None, is_tried)
            case ast.ImportFrom(module=str(module), level=0):
                self._imported(node, as_class(module), is_tried)
            case ast.Attribute(ctx=ast.Load()):
                self._attribute(node, scope)
            case ast.Call():
                self._called(node, scope, parent)
            case ast.Assign(targets=targets):
                for target in targets:
                    self._unpacked(target, resolve(node.value, scope))
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                self._unpacked(node.target, self._items(node.iter, scope))
            case ast.Subscript(slice=ast.Constant(value=int(at))):
                values = resolve(node.value, scope)
                self._used(node, values, Use.UNPACKED)
                self._indexed(node, values, at)
            case ast.ClassDef():
                self._derived(node, scope)
            case ast.Dict(keys=keys) if self._uses_a_package:
                for key in keys:
                    self._topic_setting(key)
            case _:
                return

    # Names

    def _imported(self, node: ast.ImportFrom, module: str, is_tried: bool) -> None:
        if module == "barnabas.compat":
            return
        gone = kafka_python.mention(module, None, self._newer)
        if gone is not None:
            for alias in node.names:
                said = kafka_python.mention(module, alias.name, self._newer) or gone
                self._say(node, f"{module}.{alias.name}", said, is_tried)
            return
        for alias in node.names:
            self._mentioned(node, module, alias.name, is_tried)

    def _mentioned(self, node: ast.AST, module: str, name: str | None, is_tried: bool = False) -> None:
        said = kafka_python.mention(module, name, self._newer)
        if said is not None:
            self._say(node, module if name is None else f"{module}.{name}", said, is_tried)
        full = as_class(module if name is None else f"{module}.{name}")
        self._used(node, frozenset({full}), Use.NAMED, is_tried=is_tried)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> None:
        for value in resolve(node.value, scope):
            of, _, rest = self._as_of_old(value).partition("()")
            if ":" not in value and "(" not in value and "[" not in value:
                self._mentioned(node, value, node.attr)
            elif of.startswith("kafka:") and not rest and of.removeprefix("kafka:").isidentifier():
                said = kafka_python.method(of.removeprefix("kafka:"), node.attr, self._newer)
                if said is not None:
                    self._say(node, f"{of.removeprefix('kafka:')}.{node.attr}", said)
            self._used(node, frozenset({f"{value}.{node.attr}"}), Use.NAMED)

    def _as_of_old(self, value: str) -> str:
        """kafka.KafkaClient is not the same class in each generation."""
        if not value.startswith("kafka.KafkaClient"):
            return value
        now = "kafka:SimpleClient" if self._older == ORDER[0] else "kafka:KafkaClient"
        return now + value.removeprefix("kafka.KafkaClient")

    def _derived(self, node: ast.ClassDef, scope: Scope) -> None:
        bases = frozenset[str]().union(*(resolve(base, scope) for base in node.bases))
        for base in bases:
            for method in node.body:
                if base.startswith("kafka:") and isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                    of = base.removeprefix("kafka:")
                    said = kafka_python.override(of, method, self._older, self._newer)
                    if said is not None:
                        self._say(method, f"{of}.{method.name}", said)

    # Calls

    def _called(self, node: ast.Call, scope: Scope, parent: ast.AST | None) -> None:
        values = frozenset(self._as_of_old(each) for each in resolve(node.func, scope))
        if not values:
            return
        given = given_to(node, scope)
        for value in values:
            package, _, name = value.partition(":")
            of, _, method = name.partition("().")
            if package == "kafka" and name.isidentifier():
                for said in kafka_python.construction(name, given, self._older, self._newer):
                    self._say(node, name, said)
            elif package == "kafka" and of.isidentifier() and method.isidentifier():
                for said in kafka_python.call(of, method, given, self._older, self._newer):
                    self._say(node, f"{of}.{method}", said)
            elif package in CONFIGURED_BY_DICTIONARIES and name.isidentifier() and node.args:
                _add_keys(given, node.args[0], scope)
            if package == "mapr_streams_python":
                self._stream_topics(node)
        self._used(node, values, Use.CALLED, given)
        if not isinstance(parent, ast.Expr):
            self._used(node, values, Use.ANSWER_USED, given)

    def _stream_topics(self, node: ast.Call) -> None:
        for inner in (each for argument in node.args for each in ast.walk(argument)):
            text = inner.value if isinstance(inner, ast.Constant) else None
            if isinstance(text, str) and _STREAM_TOPIC.fullmatch(text):
                reason = "a topic of a stream is no name that Kafka takes: / and : are not allowed"
                instead = "Barnabas's mapr_streams_python, which takes it, or a name without them"
                self._say(inner, repr(text), Said(BREAKS, "Kafka", reason, instead))

    def _topic_setting(self, key: ast.expr | None) -> None:
        if isinstance(key, ast.Constant) and key.value in TOPIC_SETTINGS:
            reason = "brokers refuse to make or alter a topic with it: InvalidConfigurationError"
            self._say(key, str(key.value), Said(BREAKS, KAFKA_4, reason, TOPIC_SETTINGS[str(key.value)]))

    # Values

    def _indexed(self, node: ast.AST, values: Values, at: int) -> None:
        for value in values:
            package, _, name = value.partition(":")
            if package == "kafka" and name.isidentifier():
                said = kafka_python.indexed(name, at, self._older, self._newer)
                if said is not None:
                    self._say(node, f"{name}[{at}]", said)

    def _items(self, node: ast.expr, scope: Scope) -> Values:
        inner = ast.Subscript(node, ast.Name("_"), ast.Load())
        return resolve(inner, scope)

    def _unpacked(self, target: ast.expr, values: Values) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            self._used(target, values, Use.UNPACKED)

    def _used(
        self,
        node: ast.AST,
        values: Values,
        use: Use,
        given: GivenArguments | None = None,
        *,
        is_tried: bool = False,
    ) -> None:
        for value in values:
            for change in _changes().get(value, ()):
                if change.use is use and self._matters(change) and _is_given(change, given):
                    said = Said(change.effect, _shown_with(change.with_), change.reason, change.instead)
                    place = node if given is None else given.nodes.get(change.argument or "", node)
                    self._say(place, _shown(value, change), said, is_tried)

    def _matters(self, change: Change) -> bool:
        if change.generations and self._newer not in change.generations:
            return False
        return change.with_ not in ORDER or change.with_ in inventory.steps(self._older, self._newer)

    def _say(self, node: ast.AST, what: str, said: Said, is_tried: bool = False) -> None:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
        effect, reason = said.effect, said.reason
        if is_tried and effect is BREAKS:
            effect, reason = Effect.CHANGES, f"{reason}; the source expects that and goes on"
        self.found.append(Finding(self._file, line, column, effect, said.with_, what, reason, said.instead))


def _is_given(change: Change, given: GivenArguments | None) -> bool:
    if change.argument is None:
        return True
    if given is None:
        return False
    is_there = change.argument in given.named
    value = given.named.get(change.argument, UNKNOWN)
    if not is_there and change.position is not None and len(given.positional) > change.position:
        is_there, value = True, _literal(given.positional[change.position])
    if change.lacking:
        return not is_there and given.is_complete
    if change.besides is not None:
        other, wanted = change.besides
        if given.named.get(other, UNKNOWN) not in wanted:
            return False
    return is_there and (not change.values or value in change.values)


def _literal(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else UNKNOWN


def _add_keys(given: GivenArguments, config: ast.expr, scope: Scope) -> None:
    """A client's configuration, as if its keys were arguments."""
    keys = keys_of(config, scope)
    given.is_complete = given.is_complete and keys is not None
    for name, node in (keys or {}).items():
        given.named[name] = constant(node, scope)
        given.nodes[name] = node


def _expects_imports_to_fail(node: ast.Try) -> bool:
    def names(kind: ast.expr | None) -> Iterator[str]:
        match kind:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case ast.Tuple(elts=kinds):
                for each in kinds:
                    yield from names(each)
            case _:
                yield "Exception"

    expected = {"ImportError", "ModuleNotFoundError", "Exception", "AttributeError"}
    return any(name in expected for handler in node.handlers for name in names(handler.type))


def _shown_with(with_: str) -> str:
    return f"kafka-python {with_}" if with_ in ORDER else with_


def _shown(value: str, change: Change) -> str:
    name = value.partition(":")[2] or value
    name = name.replace("().", ".").removesuffix("()")
    return f"{name}({change.argument}=)" if change.argument and not change.lacking else name

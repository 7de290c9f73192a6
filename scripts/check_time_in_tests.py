"""Finds tests that sleep, or that decide by how long something took: they fail when a machine is busy.

    python3 scripts/check_time_in_tests.py [folder of a checkout]

Looks at tests/, but for what is marked as chaos, which takes minutes anyhow. It reports each sleep but
`sleep(0)`, which only gives way to others, and each assertion on what a clock says, also where a local
variable, a list of them or a function of the same file carries it. tests/waiting.py is the one place that
looks again and again until something is so.

A test whose subject is time is named with its reason in tests/time_is_tested.toml, by its file and function,
or a whole file. A name there that is not needed is a problem as well. Programs in strings are not looked at.
Where a file takes its world from one of VIRTUAL, the sleeps and the time of its event loop are virtual.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

WAITING = "waiting.py"
EXCEPTIONS = "time_is_tested.toml"
# Modules whose event loops have a time that passes without waiting.
VIRTUAL = (
    "tests.virtual",
    "tests.broker.in_process",
    "tests.client.models",
    "tests.broker.replication.cluster_of_three",
)

# Of `time`, and of what has the same names: event loops, `barnabas.clock.CLOCK`.
CLOCKS = {
    "monotonic",
    "monotonic_ns",
    "perf_counter",
    "perf_counter_ns",
    "time",
    "time_ns",
    "now",
    "utcnow",
    "now_ms",
}
# Whose attributes of these names are clocks.
OWNERS = {"time", "loop", "datetime", "CLOCK"}
# What these give still says what the time was.
PASSING = {
    "abs",
    "enumerate",
    "float",
    "int",
    "list",
    "max",
    "min",
    "pairwise",
    "reversed",
    "round",
    "run",
    "run_until_complete",
    "sorted",
    "sum",
    "total_seconds",
    "tuple",
    "wait_for",
    "zip",
}
ADDING = {"append", "add", "extend", "put", "put_nowait"}


@dataclass(frozen=True, slots=True)
class Found:
    file: str
    function: str
    line: int
    what: str

    @property
    def names(self) -> list[str]:
        """What an exception for it may be called, the narrowest first."""
        return [f"{self.file}::{self.function}", self.file] if self.function else [self.file]


def problems(root: Path) -> list[str]:
    """What `make check` says, a line each."""
    tests = root / "tests"
    table = tests / EXCEPTIONS
    try:
        exceptions = tomllib.loads(table.read_text(encoding="utf-8")) if table.exists() else {}
    except tomllib.TOMLDecodeError as error:
        return [f"tests/{EXCEPTIONS} is no TOML: {error}"]
    said: list[str] = []
    needed: set[str] = set()
    for found in everything_in(tests):
        excused = [name for name in found.names if name in exceptions]
        needed.update(excused)
        if not excused:
            said.append(f"tests/{found.file}:{found.line} {found.function or 'module'} {found.what}")
    for name, reason in exceptions.items():
        if not isinstance(reason, str) or not reason.strip() or "\n" in reason:
            said.append(f"tests/{EXCEPTIONS}: {name} needs a reason of one line")
        if name not in needed:
            said.append(f"tests/{EXCEPTIONS}: {name} needs no exception: take the entry away")
    if said:
        said.append(
            "Wait for what is said to happen (tests/waiting.py), let time pass without waiting "
            "(docs/design/testing.md, Time), or, where time is what is tested, say why in "
            f"tests/{EXCEPTIONS}"
        )
    return said


def everything_in(tests: Path) -> Iterator[Found]:
    sources = {
        path.relative_to(tests).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(tests.rglob("*.py"))
    }
    sources.pop(WAITING, None)
    first = [Reader(file, source) for file, source in sources.items() if may_matter(source)]
    tellers = {reader.module: told for reader in first if (told := reader.time_tellers())}
    names = {name for told in tellers.values() for name in told if not name.startswith(("_", "test_"))}
    for file, source in sources.items():
        if may_matter(source) or any(name in source for name in names):
            yield from Reader(file, source).found(tellers)


def may_matter(source: str) -> bool:
    """What has neither is not parsed, which is most of what the check would take."""
    return "sleep" in source or has_clocks(source)


def has_clocks(source: str) -> bool:
    return any(f"{clock}()" in source for clock in CLOCKS)


class Reader:
    """Of one file."""

    def __init__(self, file: str, source: str) -> None:
        self.module = ".".join(["tests", *file.removesuffix(".py").split("/")])
        self._file = file
        self._tree = ast.parse(source)
        self._has_clocks = has_clocks(source)
        self._imported = list(imported(self.module, self._tree))
        self._virtual = any(
            f"{name}.".startswith(f"{virtual}.")
            for name in [self.module, *(module for module, _ in self._imported)]
            for virtual in VIRTUAL
        )
        self._time_tellers: set[str] = set()
        self._time_attributes: set[str] = set()

    def time_tellers(self) -> set[str]:
        """Its functions that say what the time was, or how much has passed. Learns which attributes do."""
        for function in self._functions() if self._has_clocks else ():
            self._time_attributes |= {
                name.removeprefix("self.")
                for name in self._carriers(function.node)
                if name.startswith("self.") and name.count(".") == 1
            }
        told = -1
        while self._has_clocks and told < len(self._time_tellers):
            told = len(self._time_tellers)
            self._time_tellers |= {
                function.node.name
                for function in self._functions()
                if self._tells(function.node, self._carriers(function.node))
            }
        return self._time_tellers

    def found(self, tellers: Mapping[str, Set[str]]) -> list[Found]:
        """`tellers`: those of other modules."""
        if any(marks_chaos(statement) for statement in self._tree.body):
            return []
        own = self.time_tellers()
        others = {name for module, name in self._imported if name in tellers.get(module, ())}
        self._time_tellers = own | others
        self._has_clocks = self._has_clocks or bool(others)
        problems: list[Found] = []
        for function in self._functions():
            if not is_chaos(function.node):
                problems += self._problems_of(function.name, function.node)
        for statement in self._tree.body:
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                problems += self._problems_of("", statement)
        return sorted(problems, key=lambda found: found.line)

    def _functions(self) -> Iterator[Function]:
        """Those of the module and of its classes. One in another belongs to that."""
        for statement in self._tree.body:
            if is_function(statement):
                yield Function(statement.name, statement)
            elif isinstance(statement, ast.ClassDef) and not is_chaos(statement):
                for member in statement.body:
                    if is_function(member):
                        yield Function(f"{statement.name}.{member.name}", member)

    def _tells(self, function: ast.AST, carriers: set[str]) -> bool:
        """Whether it gives a time. What gives one among others, in a tuple, is not followed."""
        return any(
            isinstance(node, ast.Return | ast.Yield)
            and node.value is not None
            and not isinstance(node.value, ast.Tuple)
            and self._is_of_time(node.value, carriers)
            for node in walk_without_functions(function)
        )

    def _problems_of(self, name: str, body: ast.AST) -> Iterator[Found]:
        carriers = self._carriers(body)
        for node in ast.walk(body):
            if isinstance(node, ast.Call) and self._sleeps(node):
                yield Found(self._file, name, node.lineno, f"sleeps: {ast.unparse(node)}")
            elif isinstance(node, ast.Assert) and self._looks_at_time(node.test, carriers):
                yield Found(self._file, name, node.lineno, f"asserts on time: {ast.unparse(node.test)}")
            elif isinstance(node, ast.If | ast.While) and self._looks_at_time(node.test, carriers):
                failing = node.body if isinstance(node, ast.If) else node.orelse
                if any(map(fails, failing)):
                    yield Found(self._file, name, node.lineno, f"fails by time: {ast.unparse(node.test)}")

    def _sleeps(self, call: ast.Call) -> bool:
        if any(dotted(argument) in ("time.sleep", "asyncio.sleep") for argument in call.args):
            return True
        if not call.args or last_name(call.func) != "sleep":
            return False
        if self._virtual and dotted(call.func) == "asyncio.sleep":
            return False
        first = call.args[0]
        return not (isinstance(first, ast.Constant) and first.value == 0)

    def _carriers(self, body: ast.AST) -> set[str]:
        """The variables, and functions in it, that say what the time was, or how much has passed."""
        found: set[str] = set()
        if not self._has_clocks:
            return found
        assignments = [pair for node in ast.walk(body) for pair in assigned(node)]
        functions = [node for node in ast.walk(body) if is_function(node) and node is not body]
        told = -1
        while told < len(found):
            told = len(found)
            for target, value in assignments:
                if self._is_of_time(value, found):
                    found.update(variables(target))
            found.update(function.name for function in functions if self._tells(function, found))
        return found

    def _is_of_time(self, value: ast.AST, carriers: set[str]) -> bool:
        match value:
            case ast.Name() | ast.Attribute() if dotted(value) in carriers:
                return True
            case ast.Attribute() if value.attr in self._time_attributes:
                return True
            case ast.Attribute() | ast.Starred() | ast.Await() | ast.Subscript():
                return self._is_of_time(value.value, carriers)
            case ast.Call():
                return self._gives_time(value, carriers)
            case ast.Lambda() | ast.JoinedStr():
                return False
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return self._is_of_time(value.elt, carriers)
            case ast.IfExp():
                return any(self._is_of_time(part, carriers) for part in (value.body, value.orelse))
            case _:
                return any(self._is_of_time(part, carriers) for part in ast.iter_child_nodes(value))

    def _gives_time(self, call: ast.Call, carriers: set[str]) -> bool:
        name = last_name(call.func)
        if name in CLOCKS and not call.args and self._is_clock(call.func):
            return True
        if name in self._time_tellers and (
            isinstance(call.func, ast.Name) or dotted(call.func) == f"self.{name}"
        ):
            return True
        if dotted(call.func) in carriers:
            return True
        if isinstance(call.func, ast.Attribute) and self._is_of_time(call.func.value, carriers):
            return True
        return name in PASSING and any(self._is_of_time(argument, carriers) for argument in call.args)

    def _is_clock(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Name):
            return function.id not in ("time", "now") and not (self._virtual and function.id == "now_ms")
        assert isinstance(function, ast.Attribute)
        owner = function.value
        name = last_name(owner.func if isinstance(owner, ast.Call) else owner)
        if name in ("get_running_loop", "get_event_loop"):
            name = "loop"
        return name in OWNERS and not (self._virtual and name in ("loop", "CLOCK"))

    def _looks_at_time(self, test: ast.AST, carriers: set[str]) -> bool:
        """What is only handed to a function that knows nothing of time does not count."""
        match test:
            case ast.Call() if not self._gives_time(test, carriers):
                return last_name(test.func) in ("all", "any") and any(
                    self._looks_at_time(argument, carriers) for argument in test.args
                )
            case ast.Lambda():
                return False
            case _ if self._is_of_time(test, carriers):
                return True
            case _:
                return any(self._looks_at_time(part, carriers) for part in ast.iter_child_nodes(test))


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef


def is_function(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def walk_without_functions(node: ast.AST) -> Iterator[ast.AST]:
    """As `ast.walk`, but for the functions in it."""
    for child in ast.iter_child_nodes(node):
        if not is_function(child):
            yield child
            yield from walk_without_functions(child)


def assigned(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    match node:
        case ast.Assign():
            for target in node.targets:
                yield from pairs(target, node.value)
        case ast.AnnAssign() | ast.AugAssign() | ast.NamedExpr() if node.value is not None:
            yield node.target, node.value
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            yield node.target, node.iter
        case ast.withitem() if node.optional_vars is not None:
            yield node.optional_vars, node.context_expr
        case ast.Call(func=ast.Attribute(attr=name, value=target), args=[value]) if name in ADDING:
            yield target, value
        case _:
            return


def pairs(target: ast.AST, value: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """`a, b = 1, 2` says which is which."""
    if (
        isinstance(target, ast.Tuple)
        and isinstance(value, ast.Tuple)
        and len(target.elts) == len(value.elts)
        and not any(isinstance(part, ast.Starred) for part in [*target.elts, *value.elts])
    ):
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from pairs(one, other)
    else:
        yield target, value


def variables(target: ast.AST) -> Iterator[str]:
    match target:
        case ast.Name() | ast.Attribute() if name := dotted(target):
            yield name
        case ast.Subscript() | ast.Starred():
            yield from variables(target.value)
        case ast.Tuple() | ast.List():
            for part in target.elts:
                yield from variables(part)
        case _:
            return


def dotted(node: ast.AST) -> str:
    """`self.began`; an empty text where the node is no dotted name."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            owner = dotted(node.value)
            return f"{owner}.{node.attr}" if owner else ""
        case _:
            return ""


def last_name(node: ast.AST) -> str:
    match node:
        case ast.Name():
            return node.id.removeprefix("_")
        case ast.Attribute():
            return node.attr.removeprefix("_")
        case _:
            return ""


def fails(statement: ast.stmt) -> bool:
    match statement:
        case ast.Raise() | ast.Expr(value=ast.Call(func=ast.Attribute(attr="fail"))):
            return True
        case ast.Assert(test=ast.Constant(value=False)):
            return True
        case _:
            return False


def imported(module: str, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Module and name of each `from ... import ...`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            package = module.split(".")[: -node.level] if node.level else []
            origin = ".".join([*package, *filter(None, [node.module])])
            for alias in node.names:
                yield origin, alias.name


def marks_chaos(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Assign)
        and dotted(statement.targets[0]) == "pytestmark"
        and names_chaos(statement.value)
    )


def is_chaos(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return any(map(names_chaos, node.decorator_list))


def names_chaos(node: ast.AST) -> bool:
    return any(dotted(part) == "pytest.mark.chaos" for part in ast.walk(node))


def main() -> None:
    found = problems(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()

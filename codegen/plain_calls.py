"""Generates the synchronous clients from the asyncio ones.

python codegen/plain_calls.py            write them
python codegen/plain_calls.py --check    exit with 1, naming the files, if they are not what would be written

A module of MODULES is generated as a whole: it differs from its source only in how it waits. A module of
CLIENTS is written by hand above the mark; there only the signatures and docstrings of methods that both
clients have are generated. Every other call is generated below the mark, and only waits for the asyncio
client's.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from plain_source import (
    IN_CODE,
    Edit,
    Function,
    Source,
    Words,
    calls_on_loop,
    docstring_of,
    methods_of,
    renamed,
    taken_by,
    without_async,
)

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "barnabas"
MARK = "    # From here on made by codegen/plain_calls.py, of {}\n"

# A phrase of an asyncio docstring, and the phrase of the synchronous one.
WORDS = (
    ("For one event loop, on which it is made", "For all threads"),
    ("For one event loop", "For all threads"),
    ("Made on a running event loop; used", "Used"),
    ("For one coroutine at a time", "For one thread at a time"),
    ("`async with` and `async for`", "`with` and `for`"),
    ("`async with", "`with"),
    ("they run, or are awaited, inside of", "they run, in the caller's thread, inside of"),
    (
        "a coroutine function handle records side by side",
        "a function handle records side by side in threads",
    ),
    (
        "is awaited for each record, for up to `max_concurrency` at a time",
        "is called for each record, in up to `max_concurrency` threads",
    ),
    ("is awaited", "is called"),
    (
        "then they are cancelled. With partitions that are lost already they are cancelled at once.",
        "and run on after that, as a thread cannot be ended: their records are handled again elsewhere.",
    ),
    ("the end of the event loop waits for that", "the end of the interpreter waits for that"),
    (
        "await the Delivery for the RecordMetadata, or the error, of the record.",
        "`result()` of the Delivery gives its RecordMetadata, or raises its error.",
    ),
    (
        "is called on the event loop.",
        "is called on the thread that does the network's work, which it holds up: it should be quick, and "
        "may send but not wait.",
    ),
)


@dataclass(frozen=True)
class Client:
    """One client. `source` and `target` are files of the package."""

    name: str
    source: str
    target: str
    core_is_source: bool = False
    """The synchronous client has an asyncio client inside and calls it. Methods of the source's base classes
    in the same folder are generated too."""
    private: Sequence[str] = ()
    """Methods with an underscore that are generated as well."""
    left_out: frozenset[str] = field(default_factory=frozenset[str])
    """Methods of the source that the synchronous client calls itself and does not offer."""
    added: frozenset[str] = field(default_factory=frozenset[str])
    """Methods of the synchronous client alone that programs do not call."""
    in_kernel: Mapping[str, str] = field(default_factory=dict[str, str])
    """The methods that a class of the kernel implements, and the name of that class."""


CLIENTS = (
    Client("Admin", "client/admin/admin.py", "sync/admin.py", core_is_source=True),
    Client("Consumer", "client/consume/consumer.py", "sync/consumer.py", private=("_poll", "_run_callbacks")),
    Client("ParallelConsumer", "client/consume/parallel.py", "sync/parallel.py"),
    Client(
        "Producer",
        "client/produce/producer.py",
        "sync/producer.py",
        core_is_source=True,
        left_out=frozenset(
            {
                "abort_after_error",
                "append_later",
                "append_now",
                "check_may_send",
                "check_usable",
                "close_unattended",
                "delivered_batches",
                "fail_leftovers",
                "find_topic",
                "give_up",
                "hurry",
                "producer_identity",
                "relax",
                "search_for_partition",
                "transactions",
                "unfinished",
                "wait_for_metadata",
                "wait_for_partition_count",
                "wait_for_room",
                "waits_for",
            }
        ),
        added=frozenset({"forked"}),
        in_kernel={"send": "RecordSender"},
    ),
    Client("ShareConsumer", "client/share/consumer.py", "sync/share_consumer.py", private=("_poll",)),
)

KERNEL_STUBS = "_kernel/produce.pyi"
KERNEL_SOURCE = ROOT / "kernel" / "src" / "python" / "produce" / "record_sender.rs"


class PlainClient:
    """One client's module as it is to be."""

    def __init__(self, client: Client, words: Words) -> None:
        self._client = client
        self._words = words
        self._target = Source(above_mark((PACKAGE / client.target).read_text()))
        self._owner = self._target.classes()[client.name]
        self._by_hand = methods_of(self._owner)
        self._sources: dict[str, Source] = {}
        self._calls: dict[str, tuple[Source, Function]] = {}
        self._source_owner = self._read(client.source, client.name)

    def _read(self, file: str, owner_name: str) -> ast.ClassDef:
        """Learns the calls of one class of the source, behind those that are known."""
        source = self._sources.setdefault(file, Source((PACKAGE / file).read_text()))
        owner = source.classes()[owner_name]
        for name, function in methods_of(owner).items():
            self._calls.setdefault(renamed(name, IN_CODE), (source, function))
        if self._client.core_is_source:
            for base in owner.bases:
                home = source.home_of(base)
                if home is not None and Path(home).parent == Path(file).parent:
                    self._read(home, ast.unparse(base))
        return owner

    def text(self) -> str:
        edits = [*self._docstring_edit(self._target, self._owner, self._sources[self._client.source])]
        for name, function in self._by_hand.items():
            if name in self._calls and (self._is_public(name) or name == "__init__"):
                edits += self._edits_by_hand(function, *self._calls[name])
        missing = [name for name in self._calls if self._is_to_be_written(name)]
        text = self._target.edited(0, len(self._target.text), edits).rstrip() + "\n"
        if missing:
            text += "\n" + MARK.format(f"barnabas/{self._client.source}") + "\n"
            text += "\n".join(self._written(*self._calls[name]) for name in missing)
        return with_imports(text, self._sources)

    def problems(self, stubs: Source) -> Iterator[str]:
        ours = {name for name in self._by_hand if self._is_public(name)}
        for name in sorted(ours - self._client.added - self._calls.keys()):
            yield f"{self._client.target}: {name} is not in {self._client.source}"
        for name in sorted(self._client.left_out - self._calls.keys()):
            yield f"codegen/plain_calls.py: {self._client.source} has no {name} to leave out"
        for name, owner in self._client.in_kernel.items():
            source, function = self._calls[name]
            stub = methods_of(stubs.classes()[owner])[name]
            if taken_by(stub) != taken_by(function):
                yield f"{KERNEL_STUBS}: {owner}.{name} takes {taken_by(stub)}, not {taken_by(function)}"
            said = ast.get_docstring(stub) or ""
            wanted = self._docstring(source, function).strip('"').split()
            if said.split() != wanted:
                yield f"{KERNEL_STUBS}: {owner}.{name} is to say: {' '.join(wanted)}"
            if " ".join(wanted) not in words_of_rust(KERNEL_SOURCE.read_text()):
                yield f"{KERNEL_SOURCE.relative_to(ROOT)}: {name} is to say: {' '.join(wanted)}"

    def _is_public(self, name: str) -> bool:
        return (not name.startswith("_") or name == "__iter__") and name not in self._client.left_out

    def _is_to_be_written(self, name: str) -> bool:
        is_both_ways = self._is_public(name) or name in self._client.private
        return is_both_ways and name not in self._by_hand and name not in self._client.in_kernel

    def _docstring(self, source: Source, owner: Function | ast.ClassDef, indent: int = 8) -> str:
        statement = docstring_of(owner)
        if statement is None:
            return ""
        return self._words.said(source.text[source.begin(statement) : source.end(statement)], indent)

    def _docstring_edit(self, target: Source, owner: ast.ClassDef, source: Source) -> Iterator[Edit]:
        statement = docstring_of(owner)
        assert statement is not None, f"{self._client.target}: give the class any docstring"
        yield target.begin(statement), target.end(statement), self._docstring(source, self._source_owner, 4)

    def _edits_by_hand(self, by_hand: Function, source: Source, function: Function) -> Iterator[Edit]:
        """The arguments and the words of a call whose body is by hand."""
        target = self._target
        said = docstring_of(by_hand)
        end = target.header_end(by_hand) if said is None else target.end(said)
        yield target.begin(by_hand), end, self._opening(source, function)

    def _opening(self, source: Source, function: Function) -> str:
        header = renamed(source.header(function).removeprefix("async "), IN_CODE)
        return f"{header}\n        {self._docstring(source, function)}".rstrip()

    def _written(self, source: Source, function: Function) -> str:
        statement = docstring_of(function)
        if self._client.core_is_source:
            body = f"        {asked_of_core(function)}"
        else:
            begin = source.line_begin(function.body[0 if statement is None else 1])
            if statement is not None:
                begin = source.end(statement) + 1
            crossed = ("core", "client")
            edits = [*without_async(source, function, crossed)]
            if not isinstance(function, ast.AsyncFunctionDef):
                edits += calls_on_loop(source, function, crossed)
            body = renamed(source.edited(begin, source.end(function), edits), IN_CODE)
        return f"    {self._opening(source, function)}\n{body}\n"


def words_of_rust(text: str) -> str:
    """All that comments for readers of the documentation say."""
    lines = (line.strip() for line in text.splitlines())
    return " ".join(word for line in lines if line.startswith("///") for word in line[3:].split())


def asked_of_core(function: Function) -> str:
    """The body of a call that has the core do it."""
    arguments = function.args
    given = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)[1:]]
    given += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    given += [f"{argument.arg}={argument.arg}" for argument in arguments.kwonlyargs]
    given += [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    call = f"self._core.{function.name}"
    if isinstance(function, ast.AsyncFunctionDef):
        waited = f"self._run({call}({', '.join(given)}))"
    else:
        waited = f"self._on_loop({', '.join([call, *given])})"
    gives_nothing = isinstance(function.returns, ast.Constant) and function.returns.value is None
    return waited if gives_nothing else f"return {waited}"


def above_mark(text: str) -> str:
    return text.partition(MARK.partition("{")[0])[0]


def with_imports(text: str, sources: Mapping[str, Source]) -> str:
    """Adds what the text names and a source imports, or has itself."""
    tree = ast.parse(text)
    known = {name for node in ast.walk(tree) for name in _names_bound(node)}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    wanted = used - known
    lines: dict[str, None] = {}
    for file, source in sources.items():
        for node in source.tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                origin = f"from {node.module} import" if isinstance(node, ast.ImportFrom) else "import"
                for alias in node.names:
                    if renamed(alias.asname or alias.name, IN_CODE) in wanted:
                        lines[renamed(f"{origin} {ast.unparse(alias)}", IN_CODE)] = None
            elif wanted & set(_names_bound(node)):
                module = file.removesuffix(".py").replace("/", ".")
                for name in sorted(wanted & set(_names_bound(node))):
                    lines[f"from barnabas.{module} import {name}"] = None
    begin = text.index("from __future__ import annotations\n") + len("from __future__ import annotations\n")
    return text[:begin] + "\n" + "".join(f"{line}\n" for line in lines) + text[begin:]


def _names_bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id


@dataclass(frozen=True)
class Module:
    """An asyncio module and the synchronous one. `names`: regular expressions and what replaces their
    matches."""

    source: str
    target: str
    names: Sequence[tuple[str, str]] = ()

    def text(self, words: Words) -> str:
        source = Source((PACKAGE / self.source).read_text())
        edits = [*without_async(source, source.tree)]
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef | Function) and (statement := docstring_of(node)) is not None:
                begin, end = source.begin(statement), source.end(statement)
                edits.append((begin, end, words.said(source.text[begin:end], statement.col_offset)))
        text = source.edited(0, len(source.text), edits)
        return f"# Made by codegen/plain_calls.py, of\n# barnabas/{self.source}\n" + renamed(
            text, (*self.names, *IN_CODE)
        )


SCHEMA_REGISTRY = "compat/confluent_kafka/schema_registry"
# What confluent_kafka calls otherwise, and what its classes for asyncio alone need.
CONFLUENTS_NAMES = (
    ("for asyncio", "for plain calls"),
    ("for those who await its result", "for those who wait for its result"),
    (r"@asyncinit\n", ""),
    (r" Made by `await`\.", ""),
    (r"\ban Async(?=JSON|Protobuf)", "a "),
    (r"\bAsync(?=[A-Z])(?!Iterator|Generator)", ""),
    (r"\b(set_)?async_(?=build_serde|cluster_id)", r"\1"),
    (r"\brun_async\b", "run"),
    (r"\b(_?)awaited\b", r"\1waited"),
    (r"\baclose\b", "close"),
    (r"\b_async\b", "_sync"),
)
MODULES = (
    Module(
        "registry/registry.py",
        "sync/registry.py",
        names=[
            ("for asyncio", "for plain calls"),
            ("AsyncTransport", "Transport"),
            ("for those who await its result", "for those who wait for its result"),
            (r"\b(_?)awaited\b", r"\1waited"),
        ],
    ),
    *(
        Module(
            f"{SCHEMA_REGISTRY}/_async/{name}.py",
            f"{SCHEMA_REGISTRY}/_sync/{name}.py",
            names=CONFLUENTS_NAMES,
        )
        for name in (
            "avro",
            "json_schema",
            "mock_schema_registry_client",
            "protobuf",
            "schema_registry_client",
            "serde",
        )
    ),
    Module(
        "registry/serializers/awaited.py",
        "registry/serializers/waiting.py",
        names=[("for asyncio", "for plain calls"), (r"barnabas\.aio\b", "barnabas"), ("Awaited", "Waiting")],
    ),
)


def checked_by_ruff(path: Path, text: str) -> str:
    """What ruff makes of a module: without imports that nothing needs, in order, formatted."""
    ruff = Path(sys.executable).with_name("ruff")
    for arguments in (("check", "--quiet", "--fix-only", "--select", "F401,I"), ("format",)):
        text = subprocess.run(
            [str(ruff), *arguments, "--stdin-filename", str(path), "-"],
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
    return text


def generated_files() -> tuple[dict[Path, str], list[str]]:
    """The text of each file, and what else is wrong."""
    words = Words(WORDS)
    stubs = Source((PACKAGE / KERNEL_STUBS).read_text())
    files: dict[Path, str] = {}
    problems: list[str] = []
    for client in CLIENTS:
        plain = PlainClient(client, words)
        files[PACKAGE / client.target] = plain.text()
        problems += plain.problems(stubs)
    for module in MODULES:
        files[PACKAGE / module.target] = module.text(words)
    problems += [f"codegen/plain_calls.py: no docstring says {phrase!r}" for phrase in words.unused()]
    return {path: checked_by_ruff(path, text) for path, text in files.items()}, problems


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing, say what is out of date")
    check = parser.parse_args().check
    files, problems = generated_files()
    changed = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    for path in changed:
        if check:
            print(f"{path.relative_to(ROOT)} is not what codegen/plain_calls.py writes")
        else:
            path.write_text(files[path])
            print(f"{path.relative_to(ROOT)} written")
    for problem in problems:
        print(problem)
    return 1 if problems or (check and changed) else 0


if __name__ == "__main__":
    sys.exit(main())

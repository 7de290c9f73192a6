"""Rewrites source for asyncio so that it waits: `await`, `async` and the names that go with them; words of
docstrings. Knows no single module.

Edits are made in the text, by the positions that `ast` gives, so that comments and order stay.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

LINE_LENGTH = 110

# What is left of a type, or of a name, where somebody waits.
IN_CODE = (
    (r"\bAwaitable\[((?:[^][]|\[[^][]*\])*)\]", r"\1"),
    (r"\bCoroutine\[Any, Any, (\w+)\]", r"\1"),
    (r"\bAsync(Iterator|Generator)\b", r"\1"),
    (r"\b__a(iter|enter|exit)__\b", r"__\1__"),
    (r"\bis_awaited(\s*)=(\s*)True\b", r"is_awaited\1=\2False"),
)

Edit = tuple[int, int, str]
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Source:
    """The text of one module, with the place of each node in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self._lines = text.splitlines(keepends=True)
        self._line_starts = [0]
        for line in self._lines:
            self._line_starts.append(self._line_starts[-1] + len(line))

    def begin(self, node: ast.expr | ast.stmt) -> int:
        return self._place(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._place(node.end_lineno, node.end_col_offset)

    def _place(self, line_number: int, byte_offset: int) -> int:
        before = self._lines[line_number - 1].encode()[:byte_offset].decode()
        return self._line_starts[line_number - 1] + len(before)

    def line_begin(self, node: ast.expr | ast.stmt) -> int:
        return self._line_starts[node.lineno - 1]

    def edited(self, begin: int, end: int, edits: Iterable[Edit]) -> str:
        """The text between two places, with those edits that lie there."""
        parts: list[str] = []
        at = begin
        for edit_begin, edit_end, new in sorted(edits):
            if begin <= edit_begin and edit_end <= end:
                parts += [self.text[at:edit_begin], new]
                at = edit_end
        return "".join([*parts, self.text[at:end]])

    def classes(self) -> dict[str, ast.ClassDef]:
        return {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}

    def home_of(self, name: ast.expr) -> str | None:
        """The file of the package that a name is imported from."""
        for node in self.tree.body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            if ast.unparse(name) in names:
                module: str = ast.unparse(node).split()[1]
                return module.removeprefix("barnabas.").replace(".", "/") + ".py"
        return None

    def header_end(self, function: Function) -> int:
        """Behind the colon. Each function says what it gives."""
        assert function.returns is not None
        return self.text.index(":", self.end(function.returns)) + 1

    def header(self, function: Function) -> str:
        """`def`, the arguments, the result, the colon."""
        return self.text[self.begin(function) : self.header_end(function)]


def methods_of(owner: ast.ClassDef) -> dict[str, Function]:
    return {node.name: node for node in owner.body if isinstance(node, Function)}


def taken_by(function: Function) -> list[str]:
    """The arguments with their defaults, without types."""
    taken = function.args
    defaults = [None] * (len(taken.args) - len(taken.defaults)) + [*taken.defaults]
    pairs = [*zip(taken.args, defaults, strict=True), *zip(taken.kwonlyargs, taken.kw_defaults, strict=True)]
    return [argument.arg + (f"={ast.unparse(default)}" if default else "") for argument, default in pairs]


def docstring_of(owner: Function | ast.ClassDef) -> ast.Expr | None:
    """The statement, which stands first."""
    match owner.body[0]:
        case ast.Expr(ast.Constant(str())) as statement:
            return statement
        case _:
            return None


def without_async(source: Source, within: ast.AST, crossed: Sequence[str] = ()) -> Iterator[Edit]:
    """Takes away `async` and `await`. What is awaited of the attributes `crossed` of self, or of variables
    named so, is another thread's: `self._run` waits for it."""
    for node in ast.walk(within):
        if isinstance(node, ast.AsyncFunctionDef | ast.AsyncWith | ast.AsyncFor):
            yield source.begin(node), source.begin(node) + len("async "), ""
        elif isinstance(node, ast.Await):
            crosses = _owner_of(node.value) in crossed
            yield source.begin(node), source.begin(node.value), "self._run(" if crosses else ""
            if crosses:
                yield source.end(node), source.end(node), ")"


def calls_on_loop(source: Source, within: Function, crossed: Sequence[str]) -> Iterator[Edit]:
    """Calls of the attributes `crossed` of self that nobody awaits are made on the other thread as well."""
    for node in within.body:
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and _owner_of(call) in crossed:
            begin, end = source.begin(call.func), source.end(call.func)
            yield begin, begin, "self._on_loop("
            yield end, end + 1, ", " if call.args or call.keywords else ""


def _owner_of(value: ast.expr) -> str:
    """`core` of `self._core.metadata.ask()`, and of `core.ask()`."""
    names = re.match(r"(?:self\._)?(\w+)\.", ast.unparse(value))
    return names[1] if names else ""


def renamed(text: str, names: Iterable[tuple[str, str]]) -> str:
    for pattern, new in names:
        text = re.sub(pattern, new, text)
    return text


class Words:
    """What docstrings say instead. A phrase may go over the end of a line; the text is filled anew then."""

    def __init__(self, phrases: Iterable[tuple[str, str]]) -> None:
        self._phrases = [
            (old, re.compile(r"\s+".join(re.escape(word) for word in old.split())), new)
            for old, new in phrases
        ]
        self._unused = {old for old, _, _ in self._phrases}

    def said(self, text: str, indent: int) -> str:
        """The docstring, which stands so far in."""
        changed = text
        for old, pattern, new in self._phrases:
            changed, count = pattern.subn(lambda _, new=new: new, changed)
            if count:
                self._unused.discard(old)
        return text if changed == text else _filled(changed, indent)

    def unused(self) -> list[str]:
        """Phrases that nothing said."""
        return sorted(self._unused)


def _filled(text: str, indent: int) -> str:
    margin = " " * indent
    ends_apart = text.endswith(f'\n{margin}"""')
    inner = textwrap.dedent(margin + text.strip()[3:-3]).strip()
    paragraphs = [" ".join(paragraph.split()) for paragraph in inner.split("\n\n")]
    filled = [
        textwrap.fill(
            ('"""' if number == 0 else "") + paragraph,
            LINE_LENGTH,
            initial_indent=margin,
            subsequent_indent=margin,
            break_on_hyphens=False,
            break_long_words=False,
        )
        for number, paragraph in enumerate(paragraphs)
    ]
    return "\n\n".join(filled).strip() + (f"\n{margin}" if ends_apart else "") + '"""'

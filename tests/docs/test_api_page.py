"""What docs/api.md says of the API is so, and the files that the pages of the design name are there."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import barnabas

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "api.md").read_text()
ON_ANOTHER_PAGE = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "admin.md").read_text()))

# In text, since its parameters are not the same everywhere; and what is for the other modules of Barnabas.
NOT_LISTED = {"stats", "forked", "kafka_client"}


def classes_in(page: str) -> dict[str, list[ast.FunctionDef]]:
    """The methods that the blocks of Python list, by class."""
    blocks = re.findall(r"^```py\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    return {
        node.name: [method for method in node.body if isinstance(method, ast.FunctionDef)]
        for block in blocks
        for node in ast.parse(block).body
        if isinstance(node, ast.ClassDef)
    }


LISTED = classes_in(PAGE)
IN_COMMON = LISTED.pop("Client")
CLIENTS = sorted(LISTED)


def methods_of(client: str) -> list[ast.FunctionDef]:
    return LISTED[client] if client == "ParallelConsumer" else LISTED[client] + IN_COMMON


def differences(client: str, methods: list[ast.FunctionDef]) -> list[str]:
    """What a class's listed methods say that is not so, a line each."""
    found: list[str] = []
    for method in methods:
        real = getattr(getattr(barnabas, client), method.name, None)
        if real is None:
            found.append(f"{client} has no {method.name}")
            continue
        said, is_so = said_of(method), inspect.signature(real)
        if shape(said) != shape(is_so):
            found.append(f"{client}.{method.name} is not {said} but {is_so}")
        found += [
            f"{client}.{method.name}: {name} is {was!r}, not {annotation!r}"
            for (name, annotation), (_, was) in zip(annotated(said), annotated(is_so), strict=False)
            if annotation and was and annotation != was
        ]
    return found


def said_of(method: ast.FunctionDef) -> inspect.Signature:
    """The signature as it is written, with annotations as text."""
    method.decorator_list = []
    namespace: dict[str, Any] = {}
    module = ast.Module([ast.parse("from __future__ import annotations").body[0], method], type_ignores=[])
    exec(compile(ast.fix_missing_locations(module), "docs/api.md", "exec"), namespace)
    return inspect.signature(namespace[method.name])


def shape(signature: inspect.Signature) -> list[tuple[str, object, object]]:
    """Names, kinds and defaults. `self` is what nobody passes."""
    return [(p.name, p.kind, p.default) for p in signature.parameters.values() if p.name != "self"]


def annotated(signature: inspect.Signature) -> Iterator[tuple[str, str]]:
    for parameter in signature.parameters.values():
        if parameter.name != "self":
            yield parameter.name, text(parameter.annotation)
    yield "the result", text(signature.return_annotation)


def text(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else ""


def test_all_clients_are_listed() -> None:
    assert CLIENTS == ["Admin", "Consumer", "ParallelConsumer", "Producer", "ShareConsumer"]


@pytest.mark.parametrize("client", CLIENTS)
def test_each_signature_in_the_list_of_the_api_is_the_real_one(client: str) -> None:
    assert differences(client, methods_of(client)) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_each_method_of_a_client_is_in_the_list_of_the_api(client: str) -> None:
    listed = {method.name for method in methods_of(client)} | NOT_LISTED
    if client == "Admin":
        listed |= ON_ANOTHER_PAGE
    public = {name for name in dir(getattr(barnabas, client)) if not name.startswith("_")}
    assert public - listed == set()


@pytest.mark.parametrize(
    ("line", "difference"),
    [
        ("def sent(self): ...", "Producer has no sent"),
        ("def flush(self, seconds=None): ...", "Producer.flush is not (self, seconds=None) but"),
        ("def flush(self, timeout=1.0): ...", "Producer.flush is not (self, timeout=1.0) but"),
        ("def flush(self, *, timeout=None): ...", "Producer.flush is not (self, *, timeout=None) but"),
        ("def begin_transaction(self) -> int: ...", "the result is 'None', not 'int'"),
    ],
)
def test_a_mistake_in_the_list_of_the_api_is_found(line: str, difference: str) -> None:
    [methods] = classes_in(f"```py\nclass Producer:\n    {line}\n```\n").values()
    [found] = differences("Producer", methods)
    assert difference in found


def named_on(page: str) -> list[str]:
    """Files, and folders in backticks. Without links, which the check "site" follows, and what runs leave in
    build/."""
    text = re.sub(r"\[[^\]]*\]\([^)]*\)", "", page)
    files = re.findall(r"[\w./-]*\w\.(?:py|rs|toml|md|json|sh)\b", text)
    folders = re.findall(r"`([\w./-]*\w/)`", text)
    return [name for name in (*files, *folders) if not name.startswith("build/")]


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "design").glob("*.md")), ids=lambda page: page.stem)
def test_each_file_and_folder_that_a_page_of_the_design_names_is_there(page: Path) -> None:
    # As it is to be found: by its path, or the end of it.
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [f"/{name}" for name in listed.splitlines()]
    missing = [
        name
        for name in named_on(page.read_text())
        if not any(file.endswith(f"/{name}") or (name.endswith("/") and f"/{name}" in file) for file in files)
    ]
    assert missing == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "design").glob("*.md")), ids=lambda page: page.stem)
def test_each_check_that_a_page_of_the_design_names_is_one_of_make_check(page: Path) -> None:
    checks = re.findall(r'^check "([^"]+)"', (ROOT / "scripts" / "check.sh").read_text(), re.MULTILINE)
    named = re.findall(r'\bchecks?\s"([^"]+)"', page.read_text())
    assert [name for name in named if name not in checks] == []

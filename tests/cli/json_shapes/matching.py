"""What a command printed with --json, held against the shape that the catalog has of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import typer.main

from barnabas.cli.application import app
from barnabas.cli.json_shapes.catalog import OUTPUTS, JsonOutput


def commands_with_json() -> set[str]:
    """All that take --json, `topics list` for instance."""

    def walk(command: Any, name: str) -> list[str]:
        found = [name] if _takes_json(command) else []
        for word, below in getattr(command, "commands", {}).items():
            found += walk(below, f"{name} {word}".strip())
        return found

    return set(walk(typer.main.get_command(app), ""))


def command_of(arguments: Sequence[str]) -> str | None:
    """The command that a command line begins with, if it takes --json."""
    command: Any = typer.main.get_command(app)
    names: list[str] = []
    for word in arguments:
        if word not in getattr(command, "commands", {}):
            break
        command = command.commands[word]
        names.append(word)
    return " ".join(names) if _takes_json(command) else None


def _takes_json(command: Any) -> bool:
    return any(each.name == "as_json" for each in command.params)


def check_json(arguments: Sequence[str], stdout: str, *, may_be_empty: bool) -> None:
    """Fails where a command line with --json printed what the catalog does not say."""
    command = command_of(arguments)
    if command is None or (may_be_empty and not stdout):
        return
    found = [mismatch(output, stdout) for output in OUTPUTS[command]]
    told = "; or ".join(map(str, found))
    assert None in found, f"barnabas {command} --json is not as json_shapes has it: {told}"


def mismatch(output: JsonOutput, stdout: str) -> str | None:
    """What is not as the shape says, by its place; None where all is."""
    texts = stdout.splitlines() if output.is_lines else [stdout]
    try:
        values: list[Any] = [json.loads(each) for each in texts]
    except json.JSONDecodeError as error:
        return f"{error}: {stdout!r:.100}"
    return _first(_mismatch(value, output.shape, "") for value in values)


def _mismatch(value: Any, kind: Any, place: str) -> str | None:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Annotated, NotRequired):
        return _mismatch(value, arguments[0], place)
    if kind is Any:
        return None
    if is_typeddict(kind):
        return _in_fields(value, kind, place)
    if origin is Literal:
        return None if value in arguments else f"{place}: {value!r} is none of {arguments}"
    if origin in (Union, UnionType):
        found = [_mismatch(value, each, place) for each in arguments]
        return None if None in found else found[0]
    if origin in (list, tuple, dict):
        return _in_parts(value, origin, arguments, place)
    # A bool is an int in Python, and an int may stand for a number with a point.
    wanted = (int, float) if kind is float else kind
    is_it = isinstance(value, wanted) and not (isinstance(value, bool) and kind is not bool)
    return None if is_it else f"{place}: {value!r:.100} is no {kind.__name__}"


def _in_parts(value: Any, origin: Any, arguments: tuple[Any, ...], place: str) -> str | None:
    parts: dict[Any, Any]
    if origin is dict:
        if not isinstance(value, dict):
            return f"{place}: {value!r:.100} is no object"
        parts = cast("dict[Any, Any]", value)
        kinds = [arguments[1]] * len(parts)
    else:
        if not isinstance(value, list):
            return f"{place}: {value!r:.100} is no list"
        parts = dict(enumerate(cast("list[Any]", value)))
        kinds = [*arguments] if origin is tuple else [arguments[0]] * len(parts)
        if len(kinds) != len(parts):
            return f"{place}: {value!r:.100} has not {len(kinds)} parts"
    return _first(
        _mismatch(part, kind, f"{place}.{name}")
        for (name, part), kind in zip(parts.items(), kinds, strict=True)
    )


def _in_fields(value: Any, kind: Any, place: str) -> str | None:
    if not isinstance(value, dict):
        return f"{place}: {value!r:.100} is no object"
    fields = cast("dict[str, Any]", value)
    hints = get_type_hints(kind, include_extras=True)
    for name in fields:
        if name not in hints:
            return f"{place}.{name} is not described"
    for name, hint in hints.items():
        if name not in fields:
            if not _may_be_left_out(hint):
                return f"{place}.{name} is not there"
        elif (found := _mismatch(fields[name], hint, f"{place}.{name}")) is not None:
            return found
    return None


def _may_be_left_out(hint: Any) -> bool:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return get_origin(hint) is NotRequired


def _first(found: Iterable[str | None]) -> str | None:
    return next((each for each in found if each is not None), None)

"""Which names of pykafka 2.8.0 and of its documentation are not in the facade, or take less than they did."""

from __future__ import annotations

import importlib
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
RECORDED: dict[str, Any] = json.loads((FOLDER / "recorded_names.json").read_text())
DOCUMENTED: dict[str, list[str]] = json.loads((FOLDER / "documented_names.json").read_text())

# gevent's, tested where that is installed; how the original sees what there is; names that a module only
# uses; and what its threads have their queues in, which are not here.
NOT_FOR_PROGRAMS = {
    "pykafka.balancedconsumer.rdkafka",
    "pykafka.cli.kafka_tools.PY3",
    "pykafka.producer.ERROR_CODES",
    "pykafka.producer.OwnedBroker",
    *(
        f"pykafka.simpleconsumer.OwnedPartition.{name}"
        for name in ("consume", "enqueue_messages", "flush", "message_count")
    ),
    "pykafka.handlers.GEventHandler",
    "pykafka.topic.rdkafka",
    "pykafka.utils.compression.IS_PYPY",
    "pykafka.utils.compression.PY3",
}

Parameters = list[list[str | None]]


@cache
def ours() -> dict[str, Any]:
    command = [sys.executable, "-m", "barnabas.compat", "--only", "pykafka"]
    script = str(FOLDER / "inventory_script.py")
    done = subprocess.run([*command, script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def missing() -> list[str]:
    """Of 2.8.0."""
    return sorted(set(_missing()) - NOT_FOR_PROGRAMS)


def _missing() -> Iterator[str]:
    for module, entries in RECORDED.items():
        here = ours().get(module)
        if here is None:
            yield module
            continue
        for name, entry in entries.items():
            if not name:
                continue
            if name not in here:
                yield f"{module}.{name}"
                continue
            yield from _less(f"{module}.{name}", entry, here[name])


def _less(name: str, theirs: dict[str, Any], here: dict[str, Any]) -> Iterator[str]:
    if theirs.get("function") and not _takes(here.get("function"), theirs["function"]):
        yield f"{name}{_text(theirs['function'])}"
    for member, parameters in (theirs.get("class") or {}).items():
        known = here.get("class") or {}
        if member not in known:
            yield f"{name}.{member}"
        elif parameters is not None and not _takes(known[member], parameters):
            yield f"{name}.{member}{_text(parameters)}"


def _takes(here: Parameters | None, theirs: Parameters) -> bool:
    """Whether a call that was right is: the same names in the same order, with the same defaults; more only
    where they need not be given. A mutable default is as good as an empty one."""
    if here is None:
        return False
    named = list(itertools.takewhile(_is_named, theirs))
    for own, original in zip(here, named, strict=False):
        if own[0] != original[0] and {own[0], original[0]} != {"self", "cls"}:
            return False
        same = own[2] == original[2] or {own[2], original[2]} == {"list", "tuple"}
        if not same and (original[2] is not None or own[2] is None):
            return False
    rest = here[len(named) :]
    takes_any = len(named) < len(theirs)
    return takes_any or (
        len(here) >= len(named) and all(each[2] is not None or not _is_named(each) for each in rest)
    )


def _is_named(parameter: list[str | None]) -> bool:
    return parameter[1] not in ("VAR_POSITIONAL", "VAR_KEYWORD")


def _text(parameters: Parameters) -> str:
    return "(" + ", ".join(str(each[0]) for each in parameters) + ")"


def undocumented() -> list[str]:
    """What the documentation has and we have not."""
    found: list[str] = []
    for name, members in DOCUMENTED.items():
        module, _, what = name.rpartition(".")
        try:
            value = getattr(importlib.import_module(f"barnabas.compat.{module}"), what)
        except (ImportError, AttributeError):
            found.append(name)
            continue
        found += [f"{name}.{each}" for each in members if not hasattr(value, each)]
    return found

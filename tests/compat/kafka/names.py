"""What kafka-python has for programs to use, in each generation, and what of it the facade lacks.

`python -m tests.compat.kafka.names`: lists what is missing, and writes the page of what is argued for.
With `--record GENERATION PYTHON FOLDER`: writes down the names of the package in a folder, as that Python
sees it.

What is not counted, with the reasons, is in `argued_names`; docs/kafka-python-names.md is made of that here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.compat.kafka.argued_names import ARGUED, PARAMETERS, Argued, is_argued
from tests.compat.kafka.generation_runs import HERE, genuine, ours_with

from barnabas.compat.kafka_engine.generations import GENERATIONS

PAGE = HERE.parents[2] / "docs" / "kafka-python-names.md"
SCRIPT = HERE / "inventory_script.py"


def recorded(generation: str) -> Path:
    return HERE / "recorded" / f"inventory_{generation}.json"


def missing(generation: str) -> list[str]:
    """What the facade lacks of a generation, in lines that begin with a name, without what is argued for."""
    wanted = genuine("inventory", generation)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as told:
        json.dump(wanted, told)
        told.flush()
        found = ours_with(SCRIPT, generation, told.name)
    return [line for line in sorted(_missing(wanted, found)) if not is_argued(line)]


def _missing(wanted: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    for module, values in wanted.items():
        for name, value in values.items():
            full_name = f"{module}.{name}"
            if module not in found:
                yield f"{full_name}: no such module"
            elif name not in found[module]:
                yield f"{full_name}: missing"
            else:
                yield from _lacking(full_name, value, found[module][name])


def _lacking(name: str, wanted: Any, found: Any) -> Iterator[str]:
    if wanted.get("takes") is not None and not _takes_all(found.get("takes"), wanted["takes"]):
        yield f"{name}: takes {found.get('takes')}, not {wanted['takes']}"
    for member, value in wanted.get("members", {}).items():
        if member not in found.get("members", {}):
            yield f"{name}.{member}: missing"
        else:
            yield from _lacking(f"{name}.{member}", value, found["members"][member])


def _takes_all(found: list[str] | None, wanted: list[str]) -> bool:
    """Whether each call that the original takes is taken: there may be more parameters, with defaults."""
    if found is None or found[:2] == ["*args", "**kwargs"]:
        return True
    if wanted[-1:] and wanted[-1].startswith("**"):
        if not found[-1:] or not found[-1].startswith("**"):
            return False
        wanted = wanted[:-1]
    more = found[len(wanted) :]
    are_the_same = all(one in (other, f"{other}=") for one, other in zip(found, wanted, strict=False))
    return (
        len(found) >= len(wanted)
        and are_the_same
        and all(each.endswith("=") or each.startswith("*") for each in more)
    )


def _record(generation: str, python: str, folder: str) -> None:
    command = [python, "-W", "ignore", str(SCRIPT)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": folder}, check=True, capture_output=True, text=True
    )
    recorded(generation).write_text(done.stdout)


def page() -> str:
    """docs/kafka-python-names.md."""
    return _PAGE.format(names=_table(ARGUED), parameters=_table(PARAMETERS))


def _table(rows: Iterable[Argued]) -> str:
    lines = [f"| {_shown(row.where)} | {_shown(row.names)} | {row.reason} |\n" for row in rows]
    return "".join(["| in | names | why |\n|---|---|---|\n", *sorted(lines)])


def _shown(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split()) or "all"


_PAGE = """# Names of kafka-python that are not here

The facade `kafka` has every public name of kafka-python 1.2.1, 2.3.1 and 3.0.12, each taking what it took,
except for these. `tests/compat/kafka/test_names.py` compares all names. A star stands for any name.

{names}
These take other parameters than in some generation:

{parameters}"""


def _list_missing() -> None:
    PAGE.write_text(page())
    for generation in GENERATIONS:
        for line in missing(generation):
            print(generation, line)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        _record(*sys.argv[2:])
    else:
        _list_missing()

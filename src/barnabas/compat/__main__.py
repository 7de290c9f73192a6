"""`python -m barnabas.compat app.py argument...` or `python -m barnabas.compat -m module argument...`: runs a
program that knows nothing of Barnabas, with the facades in place of the packages that it imports."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from barnabas.compat import FACADES, install

USAGE = f"""\
usage: python -m barnabas.compat [--only NAME,...] [--kafka-python VERSION] (FILE | -m MODULE) [ARGUMENT ...]

Runs a program with Barnabas in place of the packages that it imports: {", ".join(FACADES)}.
With --only, in place of these alone. --kafka-python names the version of kafka-python that the program was
written for: 1.2, 2 or 3, else that of BARNABAS_KAFKA_PYTHON, else 3."""


def main(arguments: list[str]) -> None:
    """Runs the program that the command line names; ends with its exit status, or with 2."""
    names: list[str] = []
    version: str | None = None
    rest = list(arguments)
    while len(rest) > 1 and rest[0] in ("--only", "--kafka-python"):
        option, value, *rest = rest
        if option == "--only":
            names = value.split(",")
        else:
            version = value
    is_module = rest[:1] == ["-m"]
    if is_module:
        rest = rest[1:]
    if not rest or rest[0].startswith("-"):
        print(USAGE, file=sys.stderr)
        raise SystemExit(2)
    install(*names, version=version)
    program = rest[0]
    sys.argv = rest
    if is_module:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        if not sys.flags.safe_path:
            # As Python itself does for a file: its folder is where imports begin.
            sys.path[0] = str(Path(program).resolve().parent)
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])

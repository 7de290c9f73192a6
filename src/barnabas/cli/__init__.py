"""The command line, `barnabas`. It stands on the public clients and adds only input and output.

Needs the extra `cli`. Nothing of it is imported until `main` runs.
"""

from __future__ import annotations

import sys

from barnabas.errors import MissingExtraError


def main() -> None:
    """Runs the command of `sys.argv` and ends the process with its exit status."""
    try:
        from barnabas.cli.application import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "click", "rich", "platformdirs"):
            raise
        sys.exit(f"error: {MissingExtraError('the command line', 'cli')}")
    sys.exit(run())

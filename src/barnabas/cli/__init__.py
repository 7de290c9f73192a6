"""The command line, `barnabas`. It stands on the public clients and adds only input and output.

Needs the extra `cli`, but for `--version`. Nothing of it is imported until `main` runs.
"""

from __future__ import annotations

import sys

import barnabas


def version_line() -> str:
    return f"barnabas {barnabas.__version__}"


def main() -> None:
    """Runs the command of `sys.argv` and ends the process with its exit status."""
    if sys.argv[1:] == ["--version"]:
        # What is asked first about an installation, of which something may be missing.
        print(version_line())
        return
    try:
        from barnabas.cli.application import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "click", "rich", "platformdirs"):
            raise
        from barnabas.errors import MissingExtraError

        sys.exit(f"error: {MissingExtraError('the command line', 'cli')}")
    sys.exit(run())

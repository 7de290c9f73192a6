"""The command line of kafka-python: `kafka-python {admin,consumer,producer}`, and each by `python -m
kafka.admin` and so on."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

USAGE = """\
usage: kafka-python {admin,consumer,producer} [options]

Top-level entry point for the kafka-python command-line tools.

  kafka-python admin     -- administrative client (topics, configs, groups, ...)
  kafka-python consumer  -- console consumer
  kafka-python producer  -- console producer

Run `kafka-python <subcommand> --help` for subcommand-specific options.
"""

_PARTS = ("admin", "consumer", "producer")


def run_cli(args: Sequence[str] | None = None) -> int | None:
    """Runs one of the parts with the arguments after its name; gives the exit status."""
    given = list(sys.argv[1:] if args is None else args)
    if not given or given[0] in ("-h", "--help"):
        sys.stdout.write(USAGE)
        return 0 if given else 1
    part, *rest = given
    if part not in _PARTS:
        sys.stderr.write(f"kafka-python: unknown subcommand: {part!r}\n{USAGE}")
        return 2
    return importlib.import_module(f"{__name__}.{part}").run_cli(rest, prog=f"kafka-python {part}")

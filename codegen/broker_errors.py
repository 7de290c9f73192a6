"""Kafka's table of errors, read out of its own Java class, as the source of barnabas/error_codes.py and
barnabas/broker_errors.py."""

from __future__ import annotations

import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

import jars
from error_explanations import EXPLANATIONS, REBALANCED
from names import error_class_name
from python_source import HEADER


@dataclass(frozen=True)
class BrokerErrorRow:
    """One row of Kafka's table."""

    code: int
    name: str
    retriable: bool
    invalid_metadata: bool


def read_errors() -> list[BrokerErrorRow]:
    """The rows in the order of their codes. Raises MissingToolError without a JDK."""
    jars.require_tool("javac", "openjdk-17-jdk-headless")
    completed = subprocess.run(
        ["java", "-cp", jars.class_path(jars.CLIENTS), str(Path(__file__).with_name("DumpErrors.java"))],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    rows: list[BrokerErrorRow] = []
    for line in completed.stdout.splitlines():
        code, name, retriable, invalid_metadata = line.split("\t")
        rows.append(BrokerErrorRow(int(code), name, retriable == "true", invalid_metadata == "true"))
    return sorted(rows, key=lambda row: row.code)


def render_codes(rows: list[BrokerErrorRow]) -> str:
    """The source of error_codes.py."""
    lines = [
        HEADER.format(title="The numbers of Kafka's errors."),
        "from enum import IntEnum\n",
        "from typing import Any\n\n",
        "from barnabas.errors import BrokerError\n\n\n",
        "class ErrorCode(IntEnum):\n",
        '    """Kafka\'s error codes by their names."""\n\n',
    ]
    lines += [f"    {row.name} = {row.code}\n" for row in rows]
    lines.append(_ERROR_FOR)
    return "".join(lines)


def render_errors(rows: list[BrokerErrorRow]) -> str:
    """The source of broker_errors.py."""
    errors = [row for row in rows if row.name != "NONE"]
    names = {row.name for row in errors}
    if names != EXPLANATIONS.keys():
        missing, of_none = sorted(names - EXPLANATIONS.keys()), sorted(EXPLANATIONS.keys() - names)
        raise ValueError(f"codegen/error_explanations.py: missing {missing}, of no error {of_none}")
    classes = [error_class_name(row.name) for row in errors]
    lines = [
        HEADER.format(title="One class for each of Kafka's error codes."),
        "from typing import ClassVar\n\n",
        "from barnabas.error_codes import ErrorCode, error_for\n",
        "from barnabas.errors import BrokerError, GroupRebalancedError\n\n",
        "__all__ = [\n",
        *(f'    "{name}",\n' for name in sorted(["BY_CODE", "ErrorCode", "error_for", *classes])),
        "]\n",
    ]
    for row in errors:
        base = "GroupRebalancedError" if row.name in REBALANCED else "BrokerError"
        lines.append(f"\n\nclass {error_class_name(row.name)}({base}):\n")
        text = textwrap.indent(textwrap.fill(f'"""{EXPLANATIONS[row.name]}"""', 100), " " * 4)
        lines.append(f"{text}\n\n")
        lines.append(f"    code: ClassVar[int] = {row.code}\n")
        lines.append(f'    name: ClassVar[str] = "{row.name}"\n')
        if row.retriable:
            lines.append("    retriable: ClassVar[bool] = True\n")
        if row.invalid_metadata:
            lines.append("    invalid_metadata: ClassVar[bool] = True\n")
        lines.append(f"    explanation: ClassVar[str] = {_in_pieces(EXPLANATIONS[row.name])}\n")
    lines.append("\n\nBY_CODE: dict[int, type[BrokerError]] = {\n")
    lines += [f"    {row.code}: {error_class_name(row.name)},\n" for row in errors]
    lines.append("}\n")
    lines.append('"""The class of each error code but NONE."""\n')
    return "".join(lines)


def _in_pieces(text: str) -> str:
    """A text as the source has it, in lines that are not too long."""
    pieces = textwrap.wrap(text, 100, drop_whitespace=False) if len(text) > 80 else [text]
    quoted = [f'"{piece}"' for piece in pieces]
    return quoted[0] if len(quoted) == 1 else f"({chr(10).join(quoted)})"


_ERROR_FOR = '''

def error_for(
    code: int, context: str = "", reason: str | None = None, *, advice: str | None = None
) -> BrokerError:
    """The error for a code of a broker's answer, to be raised.

    `context` says what was tried, on which topic, partition or group, `reason` is the broker's own text,
    `advice` what to do, in place of what the code's explanation says of that. A code that this release does
    not know (a newer broker's) gives a BrokerError that carries the number, and is not retriable. Raises
    ValueError for code 0, which is no error.
    """
    if code == 0:
        raise ValueError("code 0 (NONE) is not an error")
    # Most processes meet none of the classes.
    from barnabas.broker_errors import BY_CODE

    return (BY_CODE.get(code) or _unknown(code))(context, reason, advice=advice)


def _unknown(code: int) -> type[BrokerError]:
    class UnknownErrorCodeError(BrokerError):
        def __reduce__(self) -> tuple[Any, ...]:
            # Pickles find no class that is made here.
            return _unpickled, (code, self.args), self.__dict__

    UnknownErrorCodeError.code, UnknownErrorCodeError.name = code, f"UNKNOWN_ERROR_CODE_{code}"
    return UnknownErrorCodeError


def _unpickled(code: int, arguments: tuple[Any, ...]) -> BrokerError:
    error = error_for(code)
    error.args = arguments
    return error
'''

"""Kafka's table of errors, read out of its own Java class, as the source of barnabas/broker_errors.py."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import jars
from error_explanations import EXPLANATIONS
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


def render_errors(rows: list[BrokerErrorRow]) -> str:
    """The source of broker_errors.py."""
    unknown = EXPLANATIONS.keys() - {row.name for row in rows}
    if unknown:
        raise ValueError(f"explanations of errors that do not exist: {', '.join(sorted(unknown))}")
    lines = [
        HEADER.format(title="One class for each of Kafka's error codes."),
        "from enum import IntEnum\n",
        "from typing import ClassVar\n\n",
        "from barnabas.errors import BrokerError\n\n\n",
        "class ErrorCode(IntEnum):\n",
        '    """Kafka\'s error codes by their names."""\n\n',
    ]
    lines += [f"    {row.name} = {row.code}\n" for row in rows]
    errors = [row for row in rows if row.name != "NONE"]
    for row in errors:
        lines.append(f"\n\nclass {error_class_name(row.name)}(BrokerError):\n")
        if row.name in EXPLANATIONS:
            lines.append(f'    """{EXPLANATIONS[row.name]}"""\n\n')
        lines.append(f"    code: ClassVar[int] = {row.code}\n")
        lines.append(f'    name: ClassVar[str] = "{row.name}"\n')
        if row.retriable:
            lines.append("    retriable: ClassVar[bool] = True\n")
        if row.invalid_metadata:
            lines.append("    invalid_metadata: ClassVar[bool] = True\n")
        if row.name in EXPLANATIONS:
            lines.append(f'    explanation: ClassVar[str] = "{EXPLANATIONS[row.name]}"\n')
    lines.append("\n\nBY_CODE: dict[int, type[BrokerError]] = {\n")
    lines += [f"    {row.code}: {error_class_name(row.name)},\n" for row in errors]
    lines.append("}\n")
    lines.append('"""The class of each error code but NONE."""\n')
    lines.append(_ERROR_FOR)
    return "".join(lines)


_ERROR_FOR = '''

def error_for(code: int, context: str = "") -> BrokerError:
    """The error for a code of a broker's answer, to be raised.

    `context` says what was tried, on which topic, partition or group. A code that this release does not know
    (a newer broker's) gives a BrokerError that carries the number, and is not retriable. Raises ValueError
    for code 0, which is no error.
    """
    if code == 0:
        raise ValueError("code 0 (NONE) is not an error")
    found = BY_CODE.get(code)
    if found is None:
        attributes = {"code": code, "name": f"UNKNOWN_ERROR_CODE_{code}"}
        found = type("UnknownErrorCodeError", (BrokerError,), attributes)
    return found(context)
'''

"""Runs Oracle.java on one Kafka release. Owns the Java process; knows nothing of comparing messages."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import jars

_SOURCE = Path(__file__).with_name("Oracle.java")


class OracleError(Exception):
    """Kafka's classes refused what they were asked; the message is Java's."""


class JavaOracle:
    """Kafka's classes out of the given jars, asked one question at a time. A context manager."""

    def __init__(self, *coordinates: str) -> None:
        jars.require_tool("javac", "openjdk-17-jdk-headless")
        class_path = jars.class_path(*coordinates)
        classes = jars.JARS_DIRECTORY.parent / "oracle" / coordinates[0].rpartition(":")[2]
        compiled = classes / "Oracle.class"
        if not compiled.exists() or compiled.stat().st_mtime < _SOURCE.stat().st_mtime:
            classes.mkdir(parents=True, exist_ok=True)
            subprocess.run(
                ["javac", "-cp", class_path, "-d", str(classes), str(_SOURCE)], check=True, timeout=120
            )
        self._process = subprocess.Popen(
            ["java", "-XX:+UseSerialGC", "-Xshare:auto", "-cp", f"{classes}:{class_path}", "Oracle"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> JavaOracle:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=10)

    def versions(self, name: str) -> tuple[int, int] | None:
        """The lowest and highest version that the release has of a message; None if it lacks the message."""
        try:
            lowest, highest = self._ask("v", name, 0)[1].split()
        except OracleError:
            return None
        return int(lowest), int(highest)

    def header_versions(self, api_key: int, version: int) -> tuple[int, int]:
        """The versions of the headers before a request and before its response."""
        request, response = self._ask("h", str(api_key), version)[1].split()
        return int(request), int(response)

    def round_trip(self, name: str, version: int, content: bytes) -> tuple[bytes, str]:
        """The message as Java writes it after reading `content`, and as Kafka's JSON."""
        return self._ask("r", name, version, content)

    def defaults(self, name: str, version: int) -> str:
        """Kafka's JSON of a new instance of a message or, as `Message$Struct`, of a nested struct."""
        return self._ask("d", name, version)[1]

    def _ask(self, kind: str, name: str, version: int, content: bytes = b"") -> tuple[bytes, str]:
        sink, source = self._process.stdin, self._process.stdout
        assert sink is not None
        assert source is not None
        encoded = name.encode()
        sink.write(
            struct.pack(f">cH{len(encoded)}shi", kind.encode(), len(encoded), encoded, version, len(content))
        )
        sink.write(content)
        sink.flush()
        failed, length = struct.unpack(">?i", source.read(5))
        answer = source.read(length)
        (length,) = struct.unpack(">i", source.read(4))
        text = source.read(length).decode()
        if failed:
            raise OracleError(f"{name} version {version}: {text}")
        return answer, text

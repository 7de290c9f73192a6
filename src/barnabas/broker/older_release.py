"""Which release of Kafka a broker passes for, and what that has it offer. Pure.

Owns the names of releases and the lookup in `protocol.releases`. Knows nothing of handlers.
"""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.errors import MisuseError
from barnabas.protocol.releases import CHANGES, RELEASES

FIRST_THAT_TELLS_VERSIONS_IN_REFUSALS = "2.4"
FIRST_WITH_FEATURES = "4.0"
FIRST_WITH_LARGE_SEGMENTS = "4.0"
"""Whose topics take no segments below 1 MiB."""


@dataclass(frozen=True, slots=True)
class Release:
    """A line of releases, such as 2.8."""

    line: str

    @classmethod
    def named(cls, name: str) -> Release:
        """By the line itself, or a release of it: "2.8", "2.8.2", "0.10.2.1"; "0.10" is the last line of
        these, 0.10.2. Raises: MisuseError."""
        parts = name.split(".")
        for line in reversed(RELEASES):
            of_line = line.split(".")
            if parts[: len(of_line)] == of_line or of_line[: len(parts)] == parts:
                return cls(line)
        raise MisuseError(f"as_version={name!r}: there are {', '.join(RELEASES)}")

    def is_at_least(self, line: str) -> bool:
        return RELEASES.index(self.line) >= RELEASES.index(line)

    def versions(self, api_key: int) -> tuple[int, int]:
        """The lowest and highest that it offers; the highest is below the lowest for an API it has not."""
        found = (0, -1)
        for line, versions in CHANGES.get(api_key, {}).items():
            if self.is_at_least(line):
                found = versions
        return found

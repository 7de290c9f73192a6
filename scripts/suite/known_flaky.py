"""tests/known_flaky.toml: tests that are known to fail by chance. They run apart, and decide nothing.

    python -m scripts.suite.known_flaky    # fails when an entry is too old, or names no test

An entry says which test it is, what is known of the cause, and since when it is there. One that is older
than MOST_DAYS makes `make check` fail: by then the test is mended, or it is deleted.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from scripts.suite.paths import ROOT

LIST = ROOT / "tests" / "known_flaky.toml"
MOST_DAYS = 14


class KnownFlakyError(Exception):
    """The list is not as it should be. Its text names the entry."""


@dataclass(frozen=True, slots=True)
class KnownFlaky:
    test: str
    cause: str
    since: date


def known_flaky(path: Path = LIST) -> list[KnownFlaky]:
    """The entries of the list. Raises: KnownFlakyError for one that lacks something."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("flaky", [])
    except tomllib.TOMLDecodeError as error:
        raise KnownFlakyError(f"{path.name} is no TOML: {error}") from None
    found: list[KnownFlaky] = []
    for number, entry in enumerate(entries, 1):
        match entry:
            case {"test": str(test), "cause": str(cause), "since": date() as since} if len(entry) == 3:
                found.append(KnownFlaky(test, cause, since))
            case _:
                raise KnownFlakyError(
                    f"{path.name}: entry {number} needs `test` and `cause`, which are strings, `since`, "
                    f"which is a date as in 2026-01-31, and nothing else; it is {entry}"
                )
    return found


def problems(entries: Sequence[KnownFlaky], today: date, root: Path = ROOT) -> list[str]:
    """What `make check` says of the list, a line each."""
    found: list[str] = []
    for entry in entries:
        age_days = (today - entry.since).days
        if age_days > MOST_DAYS:
            found.append(
                f"{LIST.name}: {entry.test} has been there for {age_days} days, {MOST_DAYS} at most: mend it "
                f"or delete it. Its cause, as far as known: {entry.cause}"
            )
        if age_days < 0:
            found.append(f"{LIST.name}: {entry.test} is there since {entry.since}, which is not yet")
        file, _, rest = entry.test.partition("::")
        function = rest.partition("[")[0].rpartition("::")[2]
        path = root / file
        if not path.is_file() or f"def {function}(" not in path.read_text(encoding="utf-8"):
            found.append(f"{LIST.name}: there is no test {entry.test}: take the entry away")
    return found


def main() -> None:
    try:
        found = problems(known_flaky(), datetime.now(UTC).date())
    except KnownFlakyError as error:
        sys.exit(str(error))
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()

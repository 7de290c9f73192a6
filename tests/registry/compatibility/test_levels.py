from __future__ import annotations

from collections.abc import Sequence

import pytest

from barnabas.errors import InvalidSettingError
from barnabas.registry.compatibility.difference import Difference, Sides, pointer
from barnabas.registry.compatibility.levels import LEVELS, check


def compared(reader: str, writer: str, sides: Sides) -> Sequence[Difference]:
    return [Difference(f"{sides.reader} {reader} reads {sides.writer} {writer}", "/", "")]


NEW_READS_2, NEW_READS_1 = "new 3 reads old 2", "new 3 reads old 1"
OLD_2_READS, OLD_1_READS = "old 2 reads new 3", "old 1 reads new 3"


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("NONE", []),
        ("BACKWARD", [NEW_READS_2]),
        ("BACKWARD_TRANSITIVE", [NEW_READS_2, NEW_READS_1]),
        ("FORWARD", [OLD_2_READS]),
        ("FORWARD_TRANSITIVE", [OLD_2_READS, OLD_1_READS]),
        ("FULL", [OLD_2_READS, NEW_READS_2]),
        ("FULL_TRANSITIVE", [OLD_2_READS, NEW_READS_2, OLD_1_READS, NEW_READS_1]),
    ],
)
def test_a_level_says_who_reads_whom(level: str, expected: list[str]) -> None:
    found = check(level, "3", ["1", "2"], compared)
    assert [difference.kind for _, difference in found] == expected
    assert all(f"old {version}" in difference.kind for version, difference in found)


def test_nothing_is_held_against_a_first_version() -> None:
    assert all(check(level, "1", [], compared) == [] for level in LEVELS)


def test_an_unknown_level_names_those_that_there_are() -> None:
    with pytest.raises(InvalidSettingError, match="one of NONE, BACKWARD"):
        check("SIDEWAYS", "1", [], compared)


def test_a_path_is_a_json_pointer() -> None:
    assert pointer([]) == "/"
    assert pointer(["a/b", "c~d"]) == "/a~1b/c~0d"

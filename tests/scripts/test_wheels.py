"""What `make wheels` tries of the extras, and what the extras have."""

from __future__ import annotations

import re
import tomllib

import pytest
from tests.scripts.loading import ROOT, script

EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
    "optional-dependencies"
]
OF_BARNABAS = re.compile(r"barnabas\[(.*)\]")


def whole(extra: str) -> set[str]:
    """All that an extra brings: names of packages, and of other extras in brackets."""
    found: set[str] = set()
    for wanted in EXTRAS[extra]:
        if match := OF_BARNABAS.fullmatch(wanted):
            for other in match[1].split(","):
                found |= {f"[{other}]", *whole(other)}
        else:
            found.add(re.split(r"[\[<>=]", wanted)[0])
    return found


def test_every_extra_of_programs_is_tried_alone() -> None:
    wheels, trials = script("wheels"), script("try_extra").TRIALS
    assert set(EXTRAS) == {*trials, *wheels.NOT_TRIED, "all"}
    assert {*wheels.extras(), *wheels.NEEDS_THE_SYSTEM, *wheels.NOT_TRIED} == set(EXTRAS)


def test_all_has_every_extra_that_needs_no_library_of_the_system() -> None:
    wheels = script("wheels")
    left_out = {*wheels.NOT_TRIED, *wheels.NEEDS_THE_SYSTEM, "all"}
    named = {match[1] for each in EXTRAS["all"] if (match := OF_BARNABAS.fullmatch(each))}
    assert {extra for names in named for extra in names.split(",")} == set(EXTRAS) - left_out


@pytest.mark.parametrize("extra", ["arrow", "avro", "protobuf", "spark"])
def test_columns_come_with_numpy(extra: str) -> None:
    # PyArrow's own arrays ask for it only when they are turned into its arrays.
    assert {"pyarrow", "numpy"} <= whole(extra)

"""The junit files that every run writes: how long tests and their fixtures took, and what came of them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# What tests/suite/ writes of a test: its tier, and each fixture that it had to wait for.
TIER = "tier"
FIXTURE = "fixture "


@dataclass(frozen=True, slots=True)
class Case:
    """A test as it ran. `seconds` includes what its fixtures took, which `fixture_seconds` has by name."""

    name: str
    folder: str
    tier: str
    seconds: float
    outcome: str
    fixture_seconds: dict[str, float]


def cases(path: Path) -> Iterator[Case]:
    for element in ElementTree.parse(path).getroot().iter("testcase"):
        properties = {
            found.get("name", ""): found.get("value", "") for found in element.iterfind("properties/property")
        }
        module = element.get("classname", "")
        yield Case(
            name=f"{module}::{element.get('name')}",
            folder="/".join(module.split(".")[:2]),
            tier=properties.get(TIER, "unknown"),
            seconds=float(element.get("time", "0")),
            outcome=outcome_of(element),
            fixture_seconds={
                name.removeprefix(FIXTURE): float(value)
                for name, value in properties.items()
                if name.startswith(FIXTURE)
            },
        )


def outcome_of(element: ElementTree.Element) -> str:
    if element.find("failure") is not None or element.find("error") is not None:
        return "failed"
    return "skipped" if element.find("skipped") is not None else "passed"

"""Parts of a tier, for those who divide a long run: `1/3` is the first of three."""

from __future__ import annotations

import argparse
import re
import zlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """Part `number` of `parts`, the first of which has number 1."""

    number: int
    parts: int

    def __str__(self) -> str:
        return f"{self.number}/{self.parts}"

    def holds(self, name: str) -> bool:
        """Whether this is the part of a file or test. A name keeps its part when others come and go."""
        return zlib.crc32(name.encode()) % self.parts == self.number - 1


def part_of(text: str) -> Part:
    """The part that an argument names. Raises: argparse.ArgumentTypeError."""
    found = re.fullmatch(r"([0-9]+)/([0-9]+)", text)
    part = Part(int(found[1]), int(found[2])) if found else None
    if part is None or not 1 <= part.number <= part.parts:
        raise argparse.ArgumentTypeError(f"{text!r} is not a part; the parts of three are 1/3, 2/3 and 3/3")
    return part

from __future__ import annotations

import struct
from typing import Any

import pytest

from barnabas.compat.pykafka.utils.struct_helpers import unpack_from


@pytest.mark.parametrize(
    ("fmt", "data", "values"),
    [
        ("iBB", struct.pack("!iBB", 1, 2, 3), (1, 2, 3)),
        ("!hS", struct.pack("!hh2s", 7, 2, b"ab"), (7, b"ab")),
        ("SY", struct.pack("!hi1s", -1, 1, b"x"), (None, b"x")),
        ("[i]", struct.pack("!iii", 2, 5, 6), [5, 6]),
        ("[Sh]", struct.pack("!ih1sh", 1, 1, b"t", 3), [(b"t", 3)]),
        ("h [S [i ] ]", struct.pack("!hih1siii", 0, 1, 1, b"t", 2, 8, 9), (0, [(b"t", [8, 9])])),
        ("[i] [i]", struct.pack("!iiii", 1, 4, 1, 5), ([4], [5])),
        ("[i]", struct.pack("!i", -1), []),
    ],
)
def test_values_are_as_the_format_says(fmt: str, data: bytes, values: Any) -> None:
    assert unpack_from(fmt, data) == values


def test_reading_begins_at_an_offset() -> None:
    assert unpack_from("h", memoryview(b"..\x00\x05"), 2) == (5,)


def test_what_is_too_short_cannot_be_read() -> None:
    with pytest.raises(struct.error):
        unpack_from("q", b"1234")

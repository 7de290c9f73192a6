"""Bytes as a table of hexadecimal digits and of the letters that they are. Knows no record."""

from __future__ import annotations

BYTES_IN_A_LINE = 16
MOST_BYTES = 4_096
"""Of what is longer the beginning is shown."""


def hex_view(data: bytes) -> str:
    """As `hexdump -C` shows them."""
    lines: list[str] = []
    for begin in range(0, min(len(data), MOST_BYTES), BYTES_IN_A_LINE):
        line = data[begin : begin + BYTES_IN_A_LINE]
        digits = line.hex(" ").ljust(3 * BYTES_IN_A_LINE - 1)
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in line)
        lines.append(f"{begin:08x}  {digits}  |{letters}|")
    return "\n".join(lines)

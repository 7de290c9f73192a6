"""What clients need of a format of columns that asks somebody for schemas, `barnabas.RegistryFormat`. Knows
no format.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from typing import Any, Literal, Protocol

from barnabas.errors import MisuseError

Side = Literal["key", "value"]


class ColumnFormat(Protocol):
    @property
    def is_awaited(self) -> bool:
        """Whether what `run` gives has to be awaited."""
        ...

    def run(self, steps: Any) -> Any:
        """Takes the steps of `decoded` and `encoded`."""
        ...

    def decoded(self, batch: Any, side: Side) -> Any:
        """Records with this side as a column of its own type."""
        ...

    def encoded(self, rows: Any, side: Side) -> Any:
        """Rows with this side's column as bytes."""
        ...


def formats_of(
    key: ColumnFormat | None, value: ColumnFormat | None, *, is_awaited: bool
) -> Iterator[tuple[Side, ColumnFormat]]:
    """Those that are given. Raises: TypeError; MisuseError where one is for other clients."""
    sides: tuple[tuple[Side, ColumnFormat | None], ...] = (("key", key), ("value", value))
    for side, format in sides:
        if format is None:
            continue
        if not hasattr(format, "is_awaited"):
            raise TypeError(
                f"expected a RegistryFormat for {side}, got {reprlib.repr(format)}: leave {side} out, and "
                f"give the column {side!r}, which is of bytes, to a barnabas.formats.Codec"
            )
        if format.is_awaited != is_awaited:
            wanted = "barnabas.aio.Registry" if is_awaited else "barnabas.Registry"
            raise MisuseError(f"the {side}'s format needs a {wanted} for this client")
        yield side, format

"""What clients need of a format of columns: `barnabas.RegistryFormat`, which asks somebody for schemas, or a
form of `barnabas.formats`, which knows its own.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from barnabas.errors import MisuseError

if TYPE_CHECKING:
    from barnabas.formats import Form

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
    key: ColumnFormat | Form | None, value: ColumnFormat | Form | None, *, is_awaited: bool
) -> Iterator[tuple[Side, ColumnFormat]]:
    """Those that are given. Raises: TypeError; MisuseError where one is for other clients;
    SchemaError."""
    sides: tuple[tuple[Side, ColumnFormat | Form | None], ...] = (("key", key), ("value", value))
    for side, format in sides:
        if format is None:
            continue
        if hasattr(format, "data_type") and hasattr(format, "plan"):
            # Not imported before: it takes PyArrow.
            from barnabas.formats.sides import FormColumns

            yield side, FormColumns(cast("Form", format), is_awaited=is_awaited)
            continue
        if not hasattr(format, "is_awaited"):
            raise TypeError(
                f"expected a RegistryFormat or a format of barnabas.formats for {side}, got "
                f"{reprlib.repr(format)}: such as barnabas.formats.text()"
            )
        format = cast("ColumnFormat", format)
        if format.is_awaited != is_awaited:
            wanted = "barnabas.aio.Registry" if is_awaited else "barnabas.Registry"
            raise MisuseError(f"the {side}'s format needs a {wanted} for this client")
        yield side, format

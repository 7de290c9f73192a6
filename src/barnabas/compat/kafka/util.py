"""Small things that programs find beside the clients."""

from __future__ import annotations

from typing import Any


class EnumHelper:
    """For enums whose members may be given by value, or by name in any case and with dashes."""

    @classmethod
    def build_from(cls: Any, val: Any) -> Any:
        """The member. Raises: ValueError."""
        if isinstance(val, cls):
            return val
        try:
            return cls(val)
        except ValueError:
            pass
        try:
            return cls[str(val).strip().upper().replace("-", "_")]
        except KeyError:
            raise ValueError(f"Unrecognized {cls.__name__}: {val}") from None

    @classmethod
    def value_for(cls: Any, val: Any) -> Any:
        """The member's value. Raises: ValueError."""
        if isinstance(val, cls):
            return val.value
        if isinstance(val, int):
            return cls(val).value
        try:
            return cls[str(val).upper().replace("-", "_")].value
        except KeyError:
            raise ValueError(f"Unrecognized {cls.__name__}: {val}") from None

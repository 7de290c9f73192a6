"""From what users pass to members of an enumeration."""

from enum import Enum
from typing import Any, TypeVar

_Member = TypeVar("_Member", bound=Enum)

__all__ = ["ConversionUtil"]


class ConversionUtil:
    """A namespace for `convert_to_enum`."""

    @staticmethod
    def convert_to_enum(val: str | int | Enum, enum_clazz: type[_Member]) -> _Member:
        """The member of `enum_clazz` that `val` is, has as its name in any case, or as its value.

        Raises TypeError for another type, ValueError for a name or value that the enumeration does not have.
        """
        if type(enum_clazz) is not type(Enum):
            raise TypeError("'enum_clazz' must be of type Enum")
        if isinstance(val, str):
            member: Any = enum_clazz.__members__.get(val.upper())
            if member is None:
                raise ValueError(f'Unknown value "{val}": should be a {enum_clazz.__name__}')
            return member
        if isinstance(val, int):
            return enum_clazz(val)
        if not isinstance(val, enum_clazz):
            raise TypeError(f'Unknown value "{val}": should be a {enum_clazz.__name__}')
        return val

"""Classes whose making can be awaited."""

from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type[Any])


def asyncinit(cls: _Class) -> _Class:
    """A class decorator: `__init__` is a coroutine function, and `await Class(...)` makes an instance."""
    make: Any = cls.__new__

    async def initialize(made: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        await made.__init__(*arguments, **keywords)
        return made

    def new(class_: type[Any], *arguments: Any, **keywords: Any) -> Any:
        return initialize(make(class_), arguments, keywords)

    cls.__new__ = new
    return cls

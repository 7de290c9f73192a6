"""Values: dataclasses that are frozen and have slots, and that cost little to import.

`dataclass(frozen=True, slots=True)` compiles six methods of each class while its module is imported, which
takes half a millisecond, and most processes import a hundred such classes. `frozen` makes the same of a
class, except that all share their methods, and that `__init__` is compiled for the first instance. Knows
nothing of the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import cache
from inspect import Signature, signature
from operator import attrgetter
from typing import Any, NamedTuple, NoReturn, TypeVar, dataclass_transform, overload

T = TypeVar("T")


class _Unset:
    def __repr__(self) -> str:
        return "<factory>"


_UNSET: Any = _Unset()


class InitParameter(NamedTuple):
    """A field, as `__init__` takes it. It has to be given where there is neither default nor factory."""

    name: str
    default: Any = MISSING
    default_factory: Callable[[], Any] | None = None
    keyword_only: bool = False


def compiled_init(
    cls: type[Any], parameters: Iterable[InitParameter], *, is_frozen: bool
) -> Callable[..., None]:
    """The `__init__` of `cls` that sets these fields."""
    names: dict[str, Any] = {"UNSET": _UNSET, "set_field": object.__setattr__}
    head = ["self"]
    body: list[str] = []
    for number, parameter in enumerate(sorted(parameters, key=lambda each: each.keyword_only)):
        name, default, factory, keyword_only = parameter
        given = name
        if factory is not None:
            names[f"NEW_{number}"], default = factory, _UNSET
            fresh = "[]" if factory is list else f"NEW_{number}()"
            given = f"{fresh} if {name} is UNSET else {name}"
        if keyword_only and "*" not in head:
            head.append("*")
        names[f"DEFAULT_{number}"] = default
        head.append(name if default is MISSING else f"{name}=DEFAULT_{number}")
        body.append(f"set_field(self, {name!r}, {given})" if is_frozen else f"self.{name} = {given}")
    source = f"def __init__({', '.join(head)}):\n    " + ("\n    ".join(body) or "pass")
    exec(compile(source, f"<__init__ of {cls.__qualname__}>", "exec"), names)
    init = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


@overload
def frozen(cls: type[T], /) -> type[T]: ...
@overload
def frozen(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T] | None = None, /, *, kw_only: bool = False) -> type[T] | Callable[[type[T]], type[T]]:
    """Makes a frozen dataclass with slots: `fields`, `replace` and `asdict` know it."""
    if cls is None:
        return lambda cls: _made(cls, kw_only)
    return _made(cls, kw_only)


def _made(cls: type[T], kw_only: bool) -> type[T]:
    own = vars(cls)
    for name, method in _SHARED.items():
        if name not in own:
            setattr(cls, name, method)
    # Without one, `dataclass` would take long to describe the parameters.
    cls.__doc__ = cls.__doc__ or cls.__name__
    made: Any = dataclass(slots=True, init=False, repr=False, eq=False, kw_only=kw_only)(cls)

    def init(self: Any, *values: Any, **values_by_name: Any) -> None:
        made.__init__ = _init_of(made)
        made.__init__(self, *values, **values_by_name)

    made.__init__ = init
    return made


def _init_of(cls: type[Any]) -> Callable[..., None]:
    init = compiled_init(cls, map(_parameter, fields(cls)), is_frozen=True)
    init.__annotations__ = {each.name: each.type for each in fields(cls)}
    return init


def _parameter(each: Field[Any]) -> InitParameter:
    factory = None if each.default_factory is MISSING else each.default_factory
    return InitParameter(each.name, each.default, factory, each.kw_only is True)


@cache
def _compared(cls: type[Any]) -> Callable[[Any], Any]:
    """What counts of an instance when it is compared."""
    names = [each.name for each in fields(cls) if each.compare]
    return attrgetter(*names) if names else lambda _: ()


def _equals(self: Any, other: object) -> bool:
    if other.__class__ is not self.__class__:
        return NotImplemented
    values = _compared(self.__class__)
    return values(self) == values(other)


def _hash(self: Any) -> int:
    return hash(_compared(self.__class__)(self))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _refuse_to_set(self: Any, name: str, given: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, given in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, given)


class _SignatureOfInit:
    """What `help` shows of a class that has not been used yet."""

    def __get__(self, instance: Any, cls: type[Any]) -> Signature:
        found = signature(_init_of(cls))
        return found.replace(parameters=list(found.parameters.values())[1:])


_SHARED: dict[str, Any] = {
    "__eq__": _equals,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _state,
    "__setstate__": _set_state,
    "__signature__": _SignatureOfInit(),
}

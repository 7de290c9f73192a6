"""Values: dataclasses that have slots, and that cost little to import.

`dataclass(slots=True)` compiles up to six methods of each class while its module is imported, which takes
half a millisecond, and most processes import a hundred such classes. `frozen` and `mutable` make the same of
a class, except that all share their methods, that `__init__` is compiled for the first instance, and that
the fields are read when they are first asked for. Knows nothing of the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields, replace
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
        return lambda cls: _made(cls, _OF_FROZEN, kw_only=kw_only, is_frozen=True)
    return _made(cls, _OF_FROZEN, kw_only=kw_only, is_frozen=True)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def mutable(cls: type[T], /) -> type[T]:
    """Makes a dataclass with slots whose instances are equal to nothing but themselves."""
    return _made(cls, _OF_MUTABLE, kw_only=False, is_frozen=False)


def _made(cls: type[T], methods: Mapping[str, Any], *, kw_only: bool, is_frozen: bool) -> type[T]:
    own = dict(vars(cls))
    own.pop("__dict__", None)
    own.pop("__weakref__", None)
    # A string, as every module here takes its annotations for later.
    annotations: dict[str, str] = cls.__annotations__
    names = [name for name, written in annotations.items() if not written.startswith("ClassVar")]
    given = {name: own.pop(name) for name in names if name in own}
    described = {name: _Description(name, given, kw_only) for name in _DESCRIBED}
    slots = {"__slots__": tuple(names), "__qualname__": cls.__qualname__}
    made: Any = type(cls)(cls.__name__, cls.__bases__, {**methods, **described, **own, **slots})

    def init(self: Any, *values: Any, **values_by_name: Any) -> None:
        made.__init__ = _init_of(made, is_frozen=is_frozen)
        made.__init__(self, *values, **values_by_name)

    made.__init__ = init
    return made


_DESCRIBED = "__dataclass_fields__", "__dataclass_params__", "__match_args__"


class _Description:
    """What `dataclass` says of a class by one of these names, found when it is first asked for. `given` is
    what stood in the class for its fields: defaults and `field(...)`."""

    def __init__(self, name: str, given: dict[str, Any], kw_only: bool) -> None:
        self._name = name
        self._given = given
        self._kw_only = kw_only

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._owner = owner

    def __get__(self, instance: Any, cls: type[Any]) -> Any:
        owner: Any = self._owner
        # Without a text, `dataclass` would take long to describe the parameters.
        body = {"__annotations__": owner.__annotations__, "__module__": owner.__module__, "__doc__": "."}
        if "__orig_bases__" in vars(owner):
            body["__orig_bases__"] = owner.__orig_bases__
        likeness = type(owner)(owner.__name__, owner.__bases__, body | self._given)
        described = dataclass(init=False, repr=False, eq=False, kw_only=self._kw_only)(likeness)
        for name in _DESCRIBED:
            setattr(owner, name, getattr(described, name))
        return getattr(owner, self._name)


def _init_of(cls: type[Any], *, is_frozen: bool) -> Callable[..., None]:
    init = compiled_init(cls, map(_parameter, fields(cls)), is_frozen=is_frozen)
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
        found = signature(_init_of(cls, is_frozen=True))
        return found.replace(parameters=list(found.parameters.values())[1:])


_OF_MUTABLE: Mapping[str, Any] = {
    "__repr__": _repr,
    "__replace__": replace,
    "__signature__": _SignatureOfInit(),
}
_OF_FROZEN: Mapping[str, Any] = {
    **_OF_MUTABLE,
    "__eq__": _equals,
    "__hash__": _hash,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _state,
    "__setstate__": _set_state,
}

"""Instances of dataclasses and of Pydantic models: into plain values, and out of what was read.

Owns what types of fields mean for values; the formats' own modules say what they mean for schemas.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from barnabas.errors import ConfigError, SerializationError

Build = Callable[[Any], Any]


class ModelError(ConfigError):
    """A class is none that a schema can be made of, or a type of one of its fields."""


def is_model(kind: Any) -> bool:
    """Whether it is a dataclass or a Pydantic model."""
    return isinstance(kind, type) and (dataclasses.is_dataclass(kind) or is_pydantic(kind))


def is_pydantic(kind: Any) -> bool:
    return hasattr(kind, "__pydantic_fields__")


@dataclasses.dataclass(frozen=True, slots=True)
class ModelField:
    """`default`: `REQUIRED` where there is none; of one that is made anew each time, what it makes."""

    name: str
    hint: Any
    default: Any
    doc: str | None = None


REQUIRED = dataclasses.MISSING
NO_TEXTS: Mapping[Any, Build] = types.MappingProxyType({})


def fields_of(kind: type[Any]) -> list[ModelField]:
    """Raises: ModelError."""
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise ModelError(f"{kind.__name__}: {error}, in a type of one of its fields") from None
    if is_pydantic(kind):
        return [
            ModelField(
                name,
                hints[name],
                REQUIRED if field.is_required() else field.get_default(call_default_factory=True),
                field.description,
            )
            for name, field in cast(Any, kind).__pydantic_fields__.items()
        ]
    found: list[ModelField] = []
    for field in dataclasses.fields(kind):
        default: Any = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        found.append(ModelField(field.name, hints[field.name], default, field.metadata.get("doc")))
    return found


def without_notes(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type, and what Annotated says of it."""
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        hint, more = without_notes(inner)
        return hint, (*more, *notes)
    if isinstance(hint, typing.NewType):
        return without_notes(hint.__supertype__)
    return hint, ()


def branches_of(hint: Any) -> tuple[Any, ...] | None:
    """Of a union; None is NoneType."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else None


def symbols_of(kind: type[enum.Enum]) -> dict[str, enum.Enum]:
    """What its members are written as: their values if all are names, otherwise their names."""
    values = [member.value for member in kind]
    if all(isinstance(value, str) and value.isidentifier() and value.isascii() for value in values):
        return {member.value: member for member in kind}
    return {member.name: member for member in kind}


# Into plain values


def plain(value: Any) -> Any:
    """The same in dicts and lists, which rules can change. What is plain already stays."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in cast(dict[Any, Any], value).items()}
    if isinstance(value, list):
        return [plain(part) for part in cast(list[Any], value)]
    kind = value.__class__
    if is_model(kind):
        return {field.name: plain(getattr(value, field.name)) for field in fields_of(kind)}
    if issubclass(kind, enum.Enum):
        return next(symbol for symbol, member in symbols_of(kind).items() if member is value)
    if kind is tuple:
        return tuple(plain(part) for part in cast(tuple[Any, ...], value))
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in cast(Mapping[Any, Any], value).items()}
    return value


# Out of what was read


def builder_of(kind: type[Any], texts: Mapping[Any, Build] = NO_TEXTS) -> Build:
    """Makes instances of the fields that were read. Of a union, records come with their names, or are
    the first that they fit. `texts`: how what the format has as text becomes what fields have.

    Raises: ModelError. What it gives raises: SerializationError.
    """
    build = _Builders(texts).of(kind)
    assert build is not None
    return build


class _Builders:
    """Of one class, and of those that it has in its fields; a class may have itself."""

    def __init__(self, texts: Mapping[Any, Build]) -> None:
        self._texts = texts
        self._of_classes: dict[type[Any], Build] = {}

    def of(self, hint: Any) -> Build | None:
        """None for what stays as it was read."""
        hint, _ = without_notes(hint)
        branches = branches_of(hint)
        if branches is not None:
            return self._of_union(branches)
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Literal or not isinstance(origin or hint, type):
            return None
        kind: type[Any] = origin or hint
        if kind in self._texts:
            return self._texts[kind]
        if is_model(kind):
            return self._of_class(kind)
        if issubclass(kind, enum.Enum):
            symbols = symbols_of(kind)
            return symbols.__getitem__
        if kind in (list, tuple, set, frozenset):
            return self._of_items(kind, arguments)
        if issubclass(kind, dict) and len(arguments) == 2:
            value = self.of(arguments[1])
            return None if value is None else lambda found: {key: value(part) for key, part in found.items()}
        return None

    def _of_items(self, kind: type[Any], arguments: tuple[Any, ...]) -> Build | None:
        item = self.of(arguments[0]) if arguments else None
        if item is None:
            return None if kind is list else kind
        if kind is list:
            return lambda found: [item(part) for part in found]
        return lambda found: kind(item(part) for part in found)

    def _of_union(self, branches: tuple[Any, ...]) -> Build | None:
        models = [kind for branch in branches if is_model(kind := without_notes(branch)[0])]
        by_name = {kind.__name__: self._of_class(kind) for kind in models}
        others = [
            other
            for branch in branches
            if not is_model(without_notes(branch)[0]) and (other := self.of(branch)) is not None
        ]
        if not others and not models:
            return None

        def build(found: Any) -> Any:
            if found is None:
                return None
            if by_name and isinstance(found, tuple) and len(cast(Any, found)) == 2:
                name, record = cast(tuple[str, Any], found)
                return by_name[name.rpartition(".")[2]](record)
            if by_name and isinstance(found, dict):
                return _first_that_takes(list(by_name.values()), cast(Any, found))
            return _first_that_takes(others, cast(Any, found)) if others else cast(Any, found)

        return build

    def _of_class(self, kind: type[Any]) -> Build:
        known = self._of_classes.get(kind)
        if known is not None:
            return known
        parts: list[tuple[str, Build]] = []
        make: Any = kind.model_validate if is_pydantic(kind) else kind

        def build(found: Any) -> Any:
            try:
                values = {**found, **{name: part(found[name]) for name, part in parts if name in found}}
                return make(values) if is_validated else make(**values)
            except (ValueError, TypeError, LookupError, ArithmeticError) as error:
                raise SerializationError(f"{kind.__name__} does not take what was read: {error}") from error

        is_validated = is_pydantic(kind)
        self._of_classes[kind] = build
        if is_validated and self._texts:
            # It makes of texts what it has itself.
            return build
        for field in fields_of(kind):
            part = self.of(field.hint)
            if part is not None:
                parts.append((field.name, part))
        return build


def _first_that_takes(builds: list[Build], found: Any) -> Any:
    """What the first of them makes of it; none may, where the type needs no making."""
    failure: SerializationError | None = None
    for build in builds:
        try:
            return build(found)
        except SerializationError as error:
            failure = failure or error
        except (ValueError, TypeError, LookupError, ArithmeticError):
            continue
    if failure is not None:
        raise failure
    return found

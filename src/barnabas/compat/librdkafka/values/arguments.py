"""Arguments as functions written in C take them: with CPython's own complaints about those that do not fit.

`c_arguments` wraps a function of Python so that a wrong call raises what `PyArg_ParseTupleAndKeywords` would,
which is what callers of the real package, an extension in C, are used to. Knows nothing of Kafka.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_INT_LIMITS = {"i": (31, "integer"), "l": (63, "long"), "L": (63, "long")}


class _Mismatch(Exception):
    """What an argument should have been; the message is completed with its number."""


def _to_integer(value: Any, kind: str) -> int:
    number = operator.index(value)
    bits, _ = _INT_LIMITS[kind]
    if -(1 << bits) <= number < 1 << bits:
        return number
    if kind != "i" or not -(1 << 63) <= number < 1 << 63:
        what = "int too big to convert" if kind == "L" else "Python int too large to convert to C long"
        raise OverflowError(what)
    edge = "greater than maximum" if number > 0 else "less than minimum"
    raise OverflowError(f"signed integer is {edge}")


def _to_text(value: Any, expected: str) -> str:
    if not isinstance(value, str):
        raise _Mismatch(f"must be {expected}, not {_type_name(value)}")
    value.encode()
    if "\0" in value:
        raise ValueError("embedded null character")
    return value


def _to_float(value: Any) -> float:
    if isinstance(value, str) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value)


def _type_name(value: Any) -> str:
    return "None" if value is None else type(value).__name__


def _converted(kind: str | type, value: Any) -> Any:
    if isinstance(kind, type):
        if not isinstance(value, kind):
            raise _Mismatch(f"must be {_qualified_name(kind)}, not {_type_name(value)}")
        return value
    if kind == "O":
        return value
    if kind == "I":
        # Without a look at how large it is.
        return operator.index(value) & 0xFFFF_FFFF
    if kind in _INT_LIMITS:
        return _to_integer(value, kind)
    if kind == "s":
        return _to_text(value, "str")
    if kind == "z":
        return None if value is None else _to_text(value, "str or None")
    if kind == "d":
        return _to_float(value)
    return bool(value)


def _qualified_name(kind: type) -> str:
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


class _Format:
    """The arguments of one function, in order."""

    def __init__(
        self, names: list[str], kinds: list[str | type], required: int, function: str | None
    ) -> None:
        self.names = names
        self.kinds = kinds
        self.required = required
        self.caller = "function" if function is None else f"{function}()"
        self.this_function = "this function" if function is None else f"{function}()"
        self.prefix = "" if function is None else f"{function}() "

    def parse(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments given, by name, converted. Raises what CPython does."""
        self._check_count(args, kwargs)
        parsed: dict[str, Any] = {}
        for index, name in enumerate(self.names):
            if index < len(args):
                value = args[index]
            elif name in kwargs:
                value = kwargs[name]
            elif index < self.required:
                raise TypeError(f"{self.caller} missing required argument '{name}' (pos {index + 1})")
            else:
                continue
            try:
                parsed[name] = _converted(self.kinds[index], value)
            except _Mismatch as mismatch:
                raise TypeError(f"{self.prefix}argument {index + 1} {mismatch}") from None
        self._check_names(args, kwargs)
        return parsed

    def _check_count(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = len(args) + len(kwargs)
        most = len(self.names)
        if given > most:
            kind = "" if args else "keyword "
            plural = "" if most == 1 else "s"
            raise TypeError(f"{self.caller} takes at most {most} {kind}argument{plural} ({given} given)")

    def _check_names(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for index, name in enumerate(self.names[: len(args)]):
            if name in kwargs:
                raise TypeError(
                    f"argument for {self.caller} given by name ('{name}') and position ({index + 1})"
                )
        for name in kwargs:
            if name not in self.names:
                raise TypeError(self._unexpected(name))

    def _unexpected(self, name: str) -> str:
        if sys.version_info < (3, 13):
            return f"'{name}' is an invalid keyword argument for {self.this_function}"
        from _suggestions import _generate_suggestions

        meant = _generate_suggestions(self.names, name)
        hint = "" if meant is None else f". Did you mean '{meant}'?"
        return f"{self.this_function} got an unexpected keyword argument '{name}'{hint}"


def no_state(value: object) -> TypeError:
    """What copying and pickling raise for an object in C, unless a subclass says how that is done: a method
    `__getstate__` is to raise it."""
    kind = type(value)
    # Only those in C call themselves by their module.
    name = f"cimpl.{kind.__name__}" if kind.__module__ == "cimpl" else kind.__name__
    return TypeError(f"cannot pickle '{name}' object")


def c_arguments(
    kinds: str | tuple[str | type, ...], *, function: str | None = None
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Makes a method take its arguments as one in C with the format `kinds` would.

    `kinds` has one letter for each parameter after `self`: `i` and `L` integers of 32 and 64 bits, `I` one of
    32 bits that is not checked, `s` a string, `z` one or None, `d` a number, `p` a truth value, `O` anything;
    in a tuple also a type. Parameters without a default are required. `function` is what complaints call it,
    where the original names itself.
    """

    def wrap(wrapped: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        parameters = list(inspect.signature(wrapped).parameters.values())[1:]
        required = sum(parameter.default is inspect.Parameter.empty for parameter in parameters)
        names = [parameter.name for parameter in parameters]
        if len(names) != len(kinds):
            raise ValueError(f"{wrapped.__qualname__} has {len(names)} parameters, but {len(kinds)} kinds")
        form = _Format(names, list(kinds), required, function)

        @functools.wraps(wrapped)
        def method(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            call: Callable[..., _Result] = wrapped
            return call(args[0], **form.parse(args[1:], kwargs))

        return method

    return wrap


def c_no_arguments(function: str) -> Callable[[Callable[[Any], _Result]], Callable[..., _Result]]:
    """Makes a method refuse arguments as one in C that takes none does. `function` is what it is called
    then."""

    def wrap(wrapped: Callable[[Any], _Result]) -> Callable[..., _Result]:
        @functools.wraps(wrapped)
        def method(self: Any, *args: Any, **kwargs: Any) -> _Result:
            if kwargs:
                raise TypeError(f"{function}() takes no keyword arguments")
            if args:
                raise TypeError(f"{function}() takes no arguments ({len(args)} given)")
            return wrapped(self)

        return method

    return wrap


def c_one_argument(function: str) -> Callable[[Callable[[Any, Any], _Result]], Callable[..., _Result]]:
    """Makes a method refuse anything but one argument, without a name, as such a one in C does."""

    def wrap(wrapped: Callable[[Any, Any], _Result]) -> Callable[..., _Result]:
        @functools.wraps(wrapped)
        def method(self: Any, *args: Any, **kwargs: Any) -> _Result:
            if kwargs:
                raise TypeError(f"{function}() takes no keyword arguments")
            if len(args) != 1:
                raise TypeError(f"{function}() takes exactly one argument ({len(args)} given)")
            return wrapped(self, args[0])

        return method

    return wrap


def c_by_position(
    function: str,
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Makes a method refuse arguments as one in C does that takes all of them by position and counts them
    itself. `function` is what it is called when they have names."""

    def wrap(wrapped: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        parameters = list(inspect.signature(wrapped).parameters.values())[1:]
        most = len(parameters)
        least = sum(parameter.default is inspect.Parameter.empty for parameter in parameters)

        @functools.wraps(wrapped)
        def method(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            if kwargs:
                raise TypeError(f"{function}() takes no keyword arguments")
            given = len(args) - 1
            if not least <= given <= most:
                bound = f"at least {least}" if given < least else f"at most {most}"
                plural = "" if bound.endswith(" 1") else "s"
                raise TypeError(f"function takes {bound} argument{plural} ({given} given)")
            return wrapped(*args, **kwargs)

        return method

    return wrap

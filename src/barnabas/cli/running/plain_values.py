"""Values that need no check, taken as the command line has them.

Typer, such as 0.29, checks each value with pydantic, whose import takes longer than most commands. What is
surely right is taken here without it, and all else is left to typer, with its messages. Where a typer has
no such checks, nothing is changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, cast, get_args, get_origin

_WHOLE = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_DECIMAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)
_LEFT_TO_TYPER = object()


def take_plain_values(command: Any) -> None:
    """By this command, not by those below it."""
    every = command.get_params

    def with_plain_values(context: Any) -> list[Any]:
        # Here and not before, since --help comes to be when it is asked for.
        parameters = every(context)
        for parameter in parameters:
            _take_plain_values_of(parameter)
        return parameters

    command.get_params = with_plain_values


def _take_plain_values_of(parameter: Any) -> None:
    check: Callable[[], Any] | None = getattr(parameter, "get_runtime_param", None)
    descriptor = getattr(parameter, "type_descriptor", None)
    if check is None or descriptor is None or isinstance(getattr(check, "__self__", None), _PlainFirst):
        return
    are_several = parameter.multiple or parameter.nargs == -1
    plain = _PlainFirst(check, descriptor.annotation, descriptor.parameter_info, are_several)
    parameter.get_runtime_param = plain.itself


class _PlainFirst:
    """In place of what typer checks a parameter's values with. That is made when the first value needs it."""

    def __init__(self, check: Callable[[], Any], annotation: Any, limits: Any, are_several: bool) -> None:
        self._check = check
        self._annotation = annotation
        self._limits = limits
        self._are_several = are_several

    def itself(self) -> _PlainFirst:
        return self

    def coerce(self, value: Any, *args: Any, **given: Any) -> Any:
        found = self._plain(value)
        return self._check().coerce(value, *args, **given) if found is _LEFT_TO_TYPER else found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._check(), name)

    def _plain(self, value: Any) -> Any:
        if value is None:
            return () if self._are_several else None
        if getattr(self._limits, "parser", None) is not None:
            return _LEFT_TO_TYPER
        if not self._are_several:
            return _plain_one(self._annotation, value, self._limits)
        if get_origin(self._annotation) is not list or not isinstance(value, (list, tuple)):
            return _LEFT_TO_TYPER
        (of,) = get_args(self._annotation)
        found = [_plain_one(of, each, self._limits) for each in cast("list[Any]", value)]
        return _LEFT_TO_TYPER if _LEFT_TO_TYPER in found else found


def _plain_one(annotation: Any, value: Any, limits: Any) -> Any:
    found: Any = _LEFT_TO_TYPER
    if annotation in (str, bool):
        found = value if type(value) is annotation else _LEFT_TO_TYPER
    elif annotation in (int, float):
        shape = _WHOLE if annotation is int else _DECIMAL
        if type(value) is annotation or (type(value) is str and shape.fullmatch(value)):
            found = annotation(value)
            # Nan is within no limits.
            is_within = (limits.min is None or found >= limits.min) and (
                limits.max is None or found <= limits.max
            )
            found = found if is_within else _LEFT_TO_TYPER
    elif get_origin(annotation) is Literal and type(value) is str and value in get_args(annotation):
        found = value
    return found

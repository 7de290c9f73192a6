"""`--where` and `--set-cel`: conditions and values in CEL (extra: registry-rules), the language of the rules
of a schema registry."""

# cel-python's types are its own.
# pyright: basic

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from barnabas.errors import MissingExtraError
from barnabas.records.asked import UsageError
from barnabas.records.fields import NAMES

OPTION = "--where"
# JSON has one kind of number: 3 is less than 3.5, though one is an int of CEL and the other a double.
_OF_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "_+_": operator.add,
    "_-_": operator.sub,
    "_*_": operator.mul,
    "_/_": operator.truediv,
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
    "_==_": operator.eq,
    "_!=_": operator.ne,
}


class CelFailure(Exception):
    """An expression has no value for a record: it has no such field, or one of another type."""


def condition(expression: str, option: str = OPTION) -> Callable[[dict[str, Any]], bool]:
    """Whether it is true of a record's fields. A field that the record does not have, or that has another
    type than what it is compared with, makes it false. Raises: UsageError, MissingExtraError."""
    evaluate = computation(expression, option, "condition")
    from celpy import celtypes

    def holds(fields: dict[str, Any]) -> bool:
        try:
            found = evaluate(fields)
        except CelFailure:
            return False
        if not isinstance(found, celtypes.BoolType):
            raise UsageError(f"{option} {expression!r} is no condition: it gives {found}, not true or false")
        return bool(found)

    return holds


def computation(expression: str, option: str, what: str = "expression") -> Callable[[dict[str, Any]], Any]:
    """What it is of a record's fields, as a value of CEL; that raises: CelFailure, UsageError (it names what
    no record has). Raises: UsageError, MissingExtraError."""
    try:
        import celpy
        from celpy import celtypes
        from celpy.adapter import json_to_cel
        from celpy.celparser import CELParseError
        from celpy.evaluation import CELEvalError, base_functions
    except ImportError:
        raise MissingExtraError(option, "registry-rules") from None

    numbers = (celtypes.IntType, celtypes.UintType, celtypes.DoubleType)

    def mixed(name: str, compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        own: Any = base_functions[name]

        def computed(left: Any, right: Any) -> Any:
            if isinstance(left, numbers) and isinstance(right, numbers) and type(left) is not type(right):
                # As Python's own numbers do it.
                found = compute(
                    *(float(each) if isinstance(each, float) else int(each) for each in (left, right))
                )
                return celtypes.BoolType(found) if isinstance(found, bool) else celtypes.DoubleType(found)
            return own(left, right)

        return computed

    environment = celpy.Environment()
    try:
        program = environment.program(
            environment.compile(expression),
            functions={name: mixed(name, compute) for name, compute in _OF_NUMBERS.items()},
        )
    except CELParseError as error:
        raise UsageError(f"{option} {expression!r} is no {what} in CEL: see column {error.column}") from None

    def evaluate(fields: dict[str, Any]) -> Any:
        try:
            return program.evaluate({name: json_to_cel(value) for name, value in fields.items()})
        except CELEvalError as error:
            if "undeclared reference" in str(error.args[0]):
                raise UsageError(
                    f"{option} {expression!r} names what no record has; there are {', '.join(NAMES)}"
                ) from None
            raise CelFailure(str(error.args[0])) from None

    return evaluate


def plain_of(value: Any) -> Any:
    """A value of CEL as one of JSON. Raises: ValueError for what JSON does not have."""
    from celpy import celtypes

    match value:
        case None:
            return None
        case celtypes.BoolType():
            return bool(value)
        case celtypes.DoubleType():
            return float(value)
        case celtypes.IntType() | celtypes.UintType():
            return int(value)
        case celtypes.StringType():
            return str(value)
        case celtypes.ListType():
            return [plain_of(each) for each in value]
        case celtypes.MapType():
            return {str(plain_of(name)): plain_of(each) for name, each in value.items()}
        case _:
            raise ValueError(f"{value} is no value of JSON")

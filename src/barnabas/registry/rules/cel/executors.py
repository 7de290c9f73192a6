"""CEL and CEL_FIELD. An expression may have a guard, `guard; expression`: where that does not hold, a
condition counts as true, and a transformation changes nothing.

`message` is bound to the message; for a field also `value`, `name`, `fullName`, `typeName` and `tags`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.errors import MissingExtraError
from barnabas.registry.rules.context import FieldContext, FieldTransform, RuleContext
from barnabas.registry.rules.errors import RuleError
from barnabas.registry.rules.executors import FieldRuleExecutor, RuleExecutor
from barnabas.registry.rules.kinds import RuleKind

LONGEST_WORDS = 500


def cel(module: str) -> Any:
    """A module of this package that needs the library. Raises: MissingExtraError."""
    import importlib

    try:
        return importlib.import_module(f"barnabas.registry.rules.cel.{module}")
    except ModuleNotFoundError as error:
        if error.name not in ("celpy", "lark"):
            raise
        raise MissingExtraError("a rule of a schema registry in CEL", "registry-rules") from None


class CelExecutor(RuleExecutor):
    """Of whole messages. A transformation gives the new message, with all its fields."""

    def type(self) -> str:
        return "CEL"

    def transform(self, ctx: RuleContext, message: Any) -> Any:
        return self.execute(ctx, message, {"message": cel("messages").as_cel(message)})

    def execute(self, ctx: RuleContext, msg: Any, args: Mapping[str, Any]) -> Any:
        """What the rule makes of `msg`, with `args` bound. Raises: RuleError, which has the expression; what
        its values raise."""
        if ctx.rule.expr is None:
            return msg
        guard, separator, expression = ctx.rule.expr.partition(";")
        if not separator:
            expression = guard
        elif guard.strip() and not _evaluated(guard, args):
            return True if ctx.rule.kind == RuleKind.CONDITION else msg
        result = _evaluated(expression, args)
        if ctx.rule.kind == RuleKind.CONDITION:
            return result
        write_back = cel("write_back")
        return write_back.message_of(result, msg) if hasattr(msg, "DESCRIPTOR") else write_back.plain(result)


class CelFieldExecutor(FieldRuleExecutor):
    """Of fields that have one value."""

    def __init__(self) -> None:
        self._executor = CelExecutor()

    def type(self) -> str:
        return "CEL_FIELD"

    def new_transform(self, ctx: RuleContext) -> FieldTransform:
        return self._field_transform

    def _field_transform(self, ctx: RuleContext, field_ctx: FieldContext, field_value: Any) -> Any:
        if not field_ctx.is_primitive():
            return field_value
        messages = cel("messages")
        descriptor = field_ctx.field_descriptor
        args = {
            "value": messages.as_cel(field_value)
            if descriptor is None
            else messages.element_as_cel(field_value, descriptor),
            "fullName": messages.as_cel(field_ctx.full_name),
            "name": messages.as_cel(field_ctx.name),
            "typeName": messages.as_cel(field_ctx.type_name()),
            "tags": messages.as_cel(sorted(field_ctx.tags)),
        }
        if "message" in (ctx.rule.expr or ""):
            # All of it, for each of its fields.
            args["message"] = messages.as_cel(field_ctx.containing_message)
        return self._executor.execute(ctx, field_value, args)


def _evaluated(expression: str, args: Mapping[str, Any]) -> Any:
    environment = cel("environment")
    try:
        return environment.evaluated(expression, args)
    except RecursionError:
        raise RuleError(f"the expression {expression.strip()!r:.200} is nested too deeply") from None
    except RuleError:
        raise
    except Exception as error:
        raise RuleError(f"the expression {expression.strip()!r:.200} failed: {_words(error)}") from error


def _words(error: Exception) -> str:
    """Of an error of the library, whose text is the tuple of what it was made with, and may be long."""
    first: Any = error.args[0] if error.args else None
    words = first if isinstance(first, str) else str(error) or type(error).__name__
    return words if len(words) <= LONGEST_WORDS else f"{words[:LONGEST_WORDS]}..."

"""JSONATA: a message of one version of a schema becomes one of the next, by an expression (extra: rules)."""

# jsonata-python has hardly any types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

import threading
from typing import Any

from barnabas.errors import MissingExtraError
from barnabas.registry.rules import limits
from barnabas.registry.rules.context import RuleContext
from barnabas.registry.rules.errors import RuleError
from barnabas.registry.rules.executors import RuleExecutor

REMEMBERED_EXPRESSIONS = 1000


class JsonataExecutor(RuleExecutor):
    """Messages are dicts and lists."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        # An expression that is evaluated keeps its input in itself: each thread has its own.
        self._of_thread = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def type(self) -> str:
        return "JSONATA"

    def transform(self, ctx: RuleContext, message: Any) -> Any:
        """Raises: RuleError."""
        expression = ctx.rule.expr
        try:
            compiled = self._compiled(expression)
            with limits.limited():
                return compiled.evaluate(message)
        except RecursionError:
            raise RuleError(f"the expression {expression!r:.200} goes too deep") from None
        except (RuleError, MissingExtraError):
            raise
        except Exception as error:
            raise RuleError(f"the expression {expression!r:.200} failed: {error}") from error

    def _compiled(self, expression: Any) -> Any:
        known: dict[str, Any] = self._of_thread.__dict__
        compiled = known.get(expression)
        if compiled is None:
            try:
                from barnabas.registry.rules import jsonata_bounds
            except ImportError:
                raise MissingExtraError("a rule in JSONata", "rules") from None
            compiled = jsonata_bounds.compiled(expression)
            if len(known) >= REMEMBERED_EXPRESSIONS:
                known.clear()
            known[expression] = compiled
        return compiled

"""CEL expressions, compiled once and evaluated: cel-python with functions whose names have dots
(`decimals.add(a, b)`), and with `has()` that knows whether a field of a message is set.

Imported when a rule is first run: its libraries are an extra.
"""

# cel-python's types are its own.
# pyright: basic

from __future__ import annotations

import datetime
import threading
from collections.abc import Mapping
from typing import Any

import celpy
import lark
from celpy import celtypes
from celpy.evaluation import Evaluator

from barnabas.registry.cache import Cache
from barnabas.registry.rules import limits
from barnabas.registry.rules.cel import decimals, strings, timestamps, variants
from barnabas.registry.rules.cel.messages import within_has

FUNCTIONS: Mapping[str, Any] = {
    **strings.FUNCTIONS,
    **decimals.FUNCTIONS,
    **timestamps.FUNCTIONS,
    **variants.FUNCTIONS,
}
# Which look like functions of a value.
MACROS = frozenset({"map", "filter", "all", "exists", "exists_one", "reduce", "min"})
# Parts of expressions that select a value and make none.
SELECTING = frozenset({"expr", "member_dot", "member_index"})
REMEMBERED_PROGRAMS = 1000

_programs: Cache[str, Any] = Cache(REMEMBERED_PROGRAMS)
# Its parser is made anew by each environment.
_compiling = threading.Lock()


def evaluated(expression: str, values: Mapping[str, Any]) -> Any:
    """What an expression gives. `now` is bound where it is named. Raises: celpy's errors,
    RuleError."""
    program = _programs.get(expression)
    if program is None:
        with _compiling:
            environment = celpy.Environment(runner_class=_Runner)
            program = environment.program(environment.compile(expression), functions=dict(FUNCTIONS))
        _programs.put(expression, program)
    bound = dict(values)
    if "now" in expression and "now" not in bound:
        bound["now"] = celtypes.TimestampType(datetime.datetime.now(datetime.UTC))
    with limits.limited():
        result = program.evaluate(bound)
    return bool(result) if isinstance(result, celtypes.BoolType) else result


class _Runner(celpy.InterpretedRunner):
    def evaluate(self, context: Any) -> Any:
        return _Evaluator(ast=self.ast, activation=self.new_activation()).evaluate(context)


class _Evaluator(Evaluator):
    def _visit_tree(self, tree: lark.Tree) -> Any:
        # Of each part of an expression, and again for each element that a macro goes through.
        limits.step()
        result = super()._visit_tree(tree)
        # A part with one child passes its value on, or names a value; it makes none.
        if len(tree.children) > 1 and tree.data not in SELECTING:
            limits.made(result)
        return result

    def sub_evaluator(self, ast: lark.Tree) -> Evaluator:
        return _Evaluator(ast, activation=self.activation)

    def macro_has_eval(self, exprlist: Any) -> celtypes.BoolType:
        with within_has():
            return super().macro_has_eval(exprlist)

    def member_dot_arg(self, tree: Any) -> Any:
        receiver, method, *arguments = tree.children
        if method.value not in MACROS:
            path = _path(receiver)
            function = None if path is None else self.activation.functions.get(f"{path}.{method.value}")
            if function is not None:
                given = list(self.visit(arguments[0])) if arguments and arguments[0] is not None else []
                return function(*given)
        return super().member_dot_arg(tree)


def _path(tree: Any) -> str | None:
    """`a.b` of a tree that is nothing but names."""
    if not hasattr(tree, "data"):
        return None
    if tree.data in ("member", "primary") and len(tree.children) == 1:
        return _path(tree.children[0])
    if tree.data == "ident" and hasattr(tree.children[0], "value"):
        return str(tree.children[0].value)
    if tree.data == "member_dot":
        left = _path(tree.children[0])
        return None if left is None else f"{left}.{tree.children[1].value}"
    return None

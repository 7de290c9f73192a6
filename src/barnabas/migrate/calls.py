"""The calls of a source: what is given to them, as far as the source says so. Knows no rules."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from barnabas.migrate.bindings import Scope, assigned, resolve
from barnabas.migrate.sources import ASYNC_AS_A_NAME

__all__ = ["UNKNOWN", "GivenArguments", "constant", "given_to", "keys_of"]


class _Unknown:
    def __repr__(self) -> str:
        return "..."


UNKNOWN = _Unknown()
"""A value that only the running program knows."""


@dataclass
class GivenArguments:
    """What one call is given."""

    positional: list[ast.expr]
    named: dict[str, object] = field(default_factory=dict[str, object])
    """Values by name, UNKNOWN where they are no constants; `**` included."""
    nodes: dict[str, ast.AST] = field(default_factory=dict[str, ast.AST])
    """Where each of them stands."""
    is_complete: bool = True
    """Whether `*` or `**` may give more."""


def given_to(call: ast.Call, scope: Scope) -> GivenArguments:
    given = GivenArguments([])
    for argument in call.args:
        if isinstance(argument, ast.Starred):
            given.is_complete = False
            break
        given.positional.append(argument)
    for keyword in call.keywords:
        if keyword.arg is None:
            found = keys_of(keyword.value, scope)
            given.is_complete = given.is_complete and found is not None
            for name, node in (found or {}).items():
                given.named[name], given.nodes[name] = constant(node, scope), call
        else:
            name = "async" if keyword.arg == ASYNC_AS_A_NAME else keyword.arg
            given.named[name], given.nodes[name] = constant(keyword.value, scope), keyword.value
    return given


def keys_of(node: ast.expr, scope: Scope, depth: int = 0) -> dict[str, ast.expr] | None:
    """The keys of a dictionary and what they are given; None where the source does not say all of them."""
    if depth > 5:
        return None
    match node:
        case ast.Dict(keys=keys, values=values):
            found: dict[str, ast.expr] = {}
            for key, value in zip(keys, values, strict=True):
                if key is None:
                    inner = keys_of(value, scope, depth + 1)
                    if inner is None:
                        return None
                    found |= inner
                elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                    found[key.value] = value
            return found
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
            if any(keyword.arg is None for keyword in keywords):
                return None
            return {keyword.arg: keyword.value for keyword in keywords if keyword.arg}
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            one, other = keys_of(left, scope, depth + 1), keys_of(right, scope, depth + 1)
            return None if one is None or other is None else one | other
        case ast.Name(id=name):
            sources = assigned(name, scope)
            found = {}
            for source in sources:
                inner = keys_of(source, scope, depth + 1)
                if inner is None:
                    return None
                found |= inner
            return found | set_later(name, scope) if sources else None
        case _:
            return None


def set_later(name: str, scope: Scope) -> dict[str, ast.expr]:
    """`name["key"] = value`, in the scope that binds the name."""
    home = next((each for each in scope.seen_from_here() if name in each.names), scope)
    found: dict[str, ast.expr] = {}
    for node in ast.walk(home.node):
        match node:
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=id_), slice=ast.Constant(value=str(key)))],
                value=value,
            ) if id_ == name:
                found[key] = value
            case _:
                continue
    return found


def constant(node: ast.expr, scope: Scope) -> object:
    """The value of a literal, or of a name that is assigned one literal."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    if isinstance(node, ast.Name) and not resolve(node, scope):
        sources = assigned(node.id, scope)
        if len(sources) == 1 and not isinstance(sources[0], ast.Name):
            return constant(sources[0], scope)
    return UNKNOWN

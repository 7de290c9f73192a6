"""What names in one source stand for: which class, method or result of which package.

Owns scopes and how values are named. Knows no rules, but for what calls of the packages give (`RESULTS`).

A value is a text. `kafka.consumer` is a module or what it has; `kafka:KafkaConsumer` a class, wherever it was
imported from; `kafka:KafkaConsumer()` one made of it; `kafka:KafkaConsumer().poll` its method; with `()` what
a call gives, with `[]` what it has in it. A name may stand for several values: where it was bound first does
not count, only that it was.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from barnabas.migrate.rules.results import FUNCTIONS, RESULTS

__all__ = ["PACKAGES", "Scope", "Values", "as_class", "assigned", "resolve", "scopes_of"]

Values = frozenset[str]

PACKAGES = ("kafka", "pykafka", "confluent_kafka", "mapr_streams_python")
_FACADES = "barnabas.compat."
_NOTHING: Values = frozenset()
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class _Binding:
    """Where a name gets a value from."""

    kind: str
    """`value` and `item` of an expression; `instance` of an annotation; `name` of a module; `self`."""
    node: ast.expr | None = None
    scope: Scope | None = None
    text: str = ""
    """The name; or which element of a value."""


@dataclass(eq=False)
class Scope:
    """A module, a class or a function."""

    node: ast.AST
    parent: Scope | None = None
    names: dict[str, list[_Binding]] = field(default_factory=lambda: defaultdict(list))
    attributes: dict[str, list[_Binding]] = field(default_factory=lambda: defaultdict(list))
    """Of a class: what is assigned to attributes of `self`, in any of its methods."""
    classes: dict[str, Scope] = field(default_factory=dict[str, "Scope"])
    functions: dict[str, Scope] = field(default_factory=dict[str, "Scope"])
    returned: list[ast.expr] = field(default_factory=list[ast.expr])

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    def enclosing_class(self) -> Scope | None:
        scope: Scope | None = self
        while scope is not None and not scope.is_class:
            scope = scope.parent
        return scope

    def seen_from_here(self) -> Iterator[Scope]:
        """This scope and those around it; the names of a class are not seen from its methods."""
        yield self
        scope = self.parent
        while scope is not None:
            if not scope.is_class:
                yield scope
            scope = scope.parent


def scopes_of(tree: ast.Module) -> dict[ast.AST, Scope]:
    """The scope of each module, class and function in a tree, with all names bound."""
    found: dict[ast.AST, Scope] = {}
    _Collector(found).enter(tree, None)
    return found


class _Collector(ast.NodeVisitor):
    def __init__(self, found: dict[ast.AST, Scope]) -> None:
        self._found = found
        self._scope = Scope(ast.Module([], []))

    def enter(self, node: ast.AST, parent: Scope | None) -> Scope:
        outer, self._scope = self._scope, Scope(node, parent)
        self._found[node] = self._scope
        inner = self._scope
        if isinstance(node, _FUNCTIONS):
            self._bind_arguments(node)
        for child in ast.iter_child_nodes(node):
            self.visit(child)
        self._scope = outer
        return inner

    def _bind_arguments(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        for argument in arguments:
            if argument.annotation is not None:
                self._bind(argument.arg, _Binding("instance", argument.annotation, self._scope))
        parent = self._scope.parent
        if parent is not None and parent.is_class and arguments:
            self._bind(arguments[0].arg, _Binding("self", scope=parent))

    def _bind(self, name: str, binding: _Binding) -> None:
        self._scope.names[name].append(binding)

    def _bind_target(self, target: ast.expr, kind: str, value: ast.expr, element: str = "") -> None:
        binding = _Binding(kind, value, self._scope, element)
        match target:
            case ast.Name(id=name):
                self._bind(name, binding)
            case ast.Attribute(value=ast.Name(), attr=attribute):
                owner = self._scope.enclosing_class()
                if owner is not None:
                    owner.attributes[attribute].append(binding)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for at, each in enumerate(elements):
                    self._bind_target(each, kind, value, f"{element}[{at}]")
            case _:
                return

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._scope.functions[node.name] = self.enter(node, self._scope)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._scope.functions[node.name] = self.enter(node, self._scope)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.enter(node, self._scope)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._scope.classes[node.name] = self.enter(node, self._scope)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname is not None:
                self._bind(alias.asname, _Binding("name", text=_module(alias.name)))
            elif alias.name.startswith(_FACADES):
                self._bind("barnabas", _Binding("name", text="barnabas"))
            else:
                root = alias.name.partition(".")[0]
                self._bind(root, _Binding("name", text=root))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or node.module is None:
            return
        for alias in node.names:
            self._bind(
                alias.asname or alias.name, _Binding("name", text=_module(f"{node.module}.{alias.name}"))
            )

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._bind_target(target, "value", node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._bind_target(node.target, "instance", node.annotation)
        if node.value is not None:
            self._bind_target(node.target, "value", node.value)
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._bind_target(node.target, "value", node.value)
        self.generic_visit(node)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self._bind_target(node.target, "item", node.iter)
        self.generic_visit(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> None:
        self.visit_For(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._bind_target(node.target, "item", node.iter)
        self.generic_visit(node)

    def visit_withitem(self, node: ast.withitem) -> None:
        if node.optional_vars is not None:
            self._bind_target(node.optional_vars, "value", node.context_expr)
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._scope.returned.append(node.value)
        self.generic_visit(node)


def resolve(node: ast.expr | None, scope: Scope, under_way: frozenset[object] = frozenset()) -> Values:
    """What an expression may stand for; nothing where that is none of the packages' business."""
    if node is None or node in under_way or len(under_way) > 40:
        return _NOTHING
    deeper = under_way | {node}
    match node:
        case ast.Name(id=name):
            return _named(name, scope, deeper)
        case ast.Attribute(value=value, attr=attribute):
            found = {as_class(f"{each}.{attribute}") for each in resolve(value, scope, deeper)}
            return frozenset(found) | _attribute(value, attribute, scope, deeper)
        case ast.Call():
            return _called(node, scope, deeper)
        case ast.Subscript(value=value):
            return frozenset(_given(f"{each}[]") for each in resolve(value, scope, deeper))
        case ast.Await(value=value) | ast.NamedExpr(value=value) | ast.Starred(value=value):
            return resolve(value, scope, deeper)
        case ast.IfExp(body=body, orelse=orelse):
            return resolve(body, scope, deeper) | resolve(orelse, scope, deeper)
        case ast.BoolOp(values=values):
            return _NOTHING.union(*(resolve(each, scope, deeper) for each in values))
        case _:
            return _NOTHING


def assigned(name: str, scope: Scope) -> list[ast.expr]:
    """The expressions that a name is assigned, in the innermost scope that binds it."""
    for each in scope.seen_from_here():
        if name in each.names:
            return [binding.node for binding in each.names[name] if binding.kind == "value" and binding.node]
    return []


def as_class(name: str) -> str:
    """A dotted name as the class that it means, where it is one; without the place of Barnabas's facades."""
    name = _module(name)
    package, dot, rest = name.partition(".")
    last = name.rpartition(".")[2]
    if not dot or package not in PACKAGES or not last[:1].isupper() or "(" in name:
        return _given(name)
    if name == "kafka.KafkaClient" or not all(part.isidentifier() for part in rest.split(".")):
        return name
    return f"{package}:{last}"


def _module(name: str) -> str:
    return name.removeprefix(_FACADES)


def _given(value: str) -> str:
    return RESULTS.get(value, value)


def _named(name: str, scope: Scope, under_way: frozenset[object]) -> Values:
    for each in scope.seen_from_here():
        found = [_bound(binding, under_way) for binding in each.names.get(name, ())]
        if name in each.classes:
            found.append(_bases(each.classes[name], under_way))
        if found:
            return _NOTHING.union(*found)
    return _NOTHING


def _bound(binding: _Binding, under_way: frozenset[object]) -> Values:
    if binding.kind == "name":
        return frozenset({as_class(binding.text)})
    if binding.kind == "self" and binding.scope is not None:
        return frozenset(f"{each}()" for each in _bases(binding.scope, under_way))
    if binding.node is None or binding.scope is None:
        return _NOTHING
    if binding.kind == "instance":
        return frozenset(
            f"{each}()" for each in _annotated(binding.node, binding.scope, under_way) if ":" in each
        )
    values = resolve(binding.node, binding.scope, under_way)
    if binding.kind == "item":
        values = frozenset(_given(f"{each}[]") for each in values)
    return frozenset(_given(each + binding.text) for each in values) if binding.text else values


def _annotated(node: ast.expr, scope: Scope, under_way: frozenset[object]) -> Values:
    match node:
        case ast.Constant(value=str(text)):
            try:
                return _annotated(ast.parse(text, mode="eval").body, scope, under_way)
            except SyntaxError:
                return _NOTHING
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _annotated(left, scope, under_way) | _annotated(right, scope, under_way)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return _annotated(inner, scope, under_way)
        case _:
            return resolve(node, scope, under_way)


def _bases(of: Scope, under_way: frozenset[object]) -> Values:
    """Which classes of the packages a class of the source descends from."""
    node = of.node
    if not isinstance(node, ast.ClassDef) or node in under_way or of.parent is None:
        return _NOTHING
    return _NOTHING.union(*(resolve(base, of.parent, under_way | {node}) for base in node.bases))


def _attribute(value: ast.expr, attribute: str, scope: Scope, under_way: frozenset[object]) -> Values:
    """Of `self`: what the class or its methods assign to it."""
    owner = scope.enclosing_class()
    if owner is None or not isinstance(value, ast.Name):
        return _NOTHING
    bindings = [*owner.attributes.get(attribute, ()), *owner.names.get(attribute, ())]
    first = next((b for each in scope.seen_from_here() for b in each.names.get(value.id, ())), None)
    if first is None or first.kind != "self":
        return _NOTHING
    return _NOTHING.union(*(_bound(binding, under_way) for binding in bindings))


def _called(node: ast.Call, scope: Scope, under_way: frozenset[object]) -> Values:
    match node.func:
        case ast.Name(id=name) if name in FUNCTIONS and node.args:
            values = resolve(node.args[0], scope, under_way)
            return frozenset(_given(each + FUNCTIONS[name]) for each in values)
        case ast.Name(id=name):
            function = next((s.functions[name] for s in scope.seen_from_here() if name in s.functions), None)
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            owner = scope.enclosing_class()
            function = None if owner is None else owner.functions.get(name)
        case _:
            function = None
    if function is not None:
        return _returned(function, under_way)
    return frozenset(_given(f"{each}()") for each in resolve(node.func, scope, under_way))


def _returned(function: Scope, under_way: frozenset[object]) -> Values:
    if function.node in under_way:
        return _NOTHING
    inner = under_way | {function.node}
    found: Iterable[Values] = [resolve(each, function, inner) for each in function.returned]
    annotation = getattr(function.node, "returns", None)
    if annotation is not None:
        named = _annotated(annotation, function, inner)
        found = [*found, frozenset(f"{each}()" for each in named if ":" in each)]
    return _NOTHING.union(*found)

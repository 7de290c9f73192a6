"""What the real confluent_kafka has for programs to use, and what of it a facade lacks.

Looks at the real package as it is installed: every module, the public names in it, the members of classes,
their parameters, and whether they are documented. Parameters of what is in C are those of its stub file.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import confluent_kafka

FACADE = "barnabas.compat.confluent_kafka"
# What the original has them for is in librdkafka's wing here.
ELSEWHERE = ("confluent_kafka._oauthbearer",)

# Dunder methods that programs use by syntax.
_BY_SYNTAX = {
    *("__len__", "__bool__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__iter__", "__next__"),
    *("__getitem__", "__contains__", "__call__", "__await__", "__aiter__", "__anext__", "__class_getitem__"),
    *(
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__eq__",
        "__ne__",
        "__hash__",
        "__int__",
        "__str__",
        "__repr__",
    ),
}


def real_modules() -> list[str]:
    """The names of the real package's modules, but for those that are elsewhere."""
    return [confluent_kafka.__name__, *_modules_in(confluent_kafka)]


def _modules_in(package: ModuleType) -> Iterator[str]:
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if module.name in ELSEWHERE:
            continue
        yield module.name
        if module.ispkg:
            yield from _modules_in(importlib.import_module(module.name))


def _imported(name: str) -> ModuleType:
    """A module of the real package. Those of kafkatest are programs, which import each other from there."""
    folder = str(Path(confluent_kafka.__file__).with_name("kafkatest"))
    if name.endswith(".azure_client"):
        # These two import each other, and begin with the other one.
        importlib.import_module(name.replace("azure_client", "azure_driver"))
    sys.path.append(folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


def missing() -> list[str]:
    """What the facade lacks, each in a line that begins with its name in the real package."""
    return [line for name in real_modules() for line in _missing_in_module(name)]


def _missing_in_module(name: str) -> Iterator[str]:
    real = _imported(name)
    try:
        ours = importlib.import_module(name.replace("confluent_kafka", FACADE, 1))
    except ModuleNotFoundError:
        yield f"{name}: no such module"
        return
    if real.__doc__ and not ours.__doc__:
        yield f"{name}: no docstring"
    for public in _public_names(real):
        theirs = getattr(real, public)
        if not hasattr(ours, public):
            yield f"{name}.{public}: missing"
        elif isinstance(theirs, type):
            yield from _missing_in_class(f"{name}.{public}", theirs, getattr(ours, public))
        elif callable(theirs):
            yield from _missing_in_callable(f"{name}.{public}", theirs, getattr(ours, public))


def _public_names(module: ModuleType) -> list[str]:
    """The names that a module has of its own, or takes over from other modules of the package. Programs such
    as those of kafkatest, and modules of rules, hand nothing on."""
    # What programs take from there are rules' executors and actions, and what is known of formats, not what
    # these are made with.
    no_hands_on = ("kafkatest", "rules", "common")
    is_private = any(part.startswith("_") or part in no_hands_on for part in module.__name__.split("."))
    names = [name for name in vars(module) if not name.startswith("_") or name == "__version__"]
    names = [name for name in names if name != "TYPE_CHECKING"]
    return sorted(name for name in names if not _is_imported(getattr(module, name), module, is_private))


def _is_imported(value: Any, module: ModuleType, is_private: bool) -> bool:
    """Whether a value is a module, or of another package; in a private module, of another module."""
    if inspect.ismodule(value):
        return True
    home = getattr(value, "__module__", None)
    if home is None:
        return False
    if home.startswith(("confluent_kafka", "cimpl")):
        return is_private and home != module.__name__
    name = getattr(value, "__name__", None) or getattr(value, "_name", None)
    return getattr(sys.modules.get(home), str(name), None) is value


def _missing_in_class(name: str, real: type, ours: Any) -> Iterator[str]:
    if not isinstance(ours, type):
        yield f"{name}: not a class"
        return
    if real.__name__ != ours.__name__:
        yield f"{name}: called {ours.__name__}"
    if _own_doc(real) and not _own_doc(ours):
        yield f"{name}: no docstring"
    yield from _missing_in_callable(f"{name}.__init__", real, ours, has_doc=False)
    for member in _members(real):
        if not hasattr(ours, member):
            yield f"{name}.{member}: missing"
            continue
        theirs = inspect.getattr_static(real, member)
        if not callable(getattr(real, member)) or isinstance(getattr(real, member), type):
            continue
        has_doc = not member.startswith("__") and not inspect.isdatadescriptor(theirs)
        yield from _missing_in_callable(
            f"{name}.{member}", getattr(real, member), getattr(ours, member), has_doc=has_doc
        )


def _own_doc(value: type) -> str | None:
    doc = value.__dict__.get("__doc__")
    return None if doc is not None and doc.startswith("str(object=") else doc or value.__doc__


def _members(class_: type) -> list[str]:
    bases = [base for base in class_.__mro__ if base.__module__.startswith(("confluent_kafka", "cimpl"))]
    names = {name for base in bases for name in vars(base)}
    return sorted(name for name in names if not name.startswith("_") or name in _BY_SYNTAX)


def _missing_in_callable(name: str, real: Any, ours: Any, *, has_doc: bool = True) -> Iterator[str]:
    if has_doc and inspect.getdoc(real) and not inspect.getdoc(ours):
        yield f"{name}: no docstring"
    wanted, found = _parameters(name, real), _own_parameters(ours)
    if wanted == ["*args", "**kwargs"]:
        # What they are is not said there.
        return
    if wanted is None or found is None:
        return
    if any(parameter.startswith("*") for parameter in found) and _is_by_position(name, ours):
        return
    are_the_same = len(wanted) == len(found) if _is_by_position(name, ours) else wanted == found
    if not are_the_same:
        yield f"{name}: takes {found}, not {wanted}"


def _parameters(name: str, function: Any) -> list[str] | None:
    """Names of the parameters, those with a default marked; of what is in C from the stub file."""
    if getattr(function, "__module__", None) in ("cimpl", "confluent_kafka.cimpl") or _is_builtin(function):
        parts = name.split(".")
        return _stub_parameters().get(".".join(parts[-2:])) or _stub_parameters().get(parts[-1])
    return _own_parameters(function)


def _is_by_position(name: str, function: Any) -> bool:
    """Whether nobody names the arguments of a function: the language gives them, or they cannot be named."""
    if name.rpartition(".")[2] in _BY_SYNTAX:
        return True
    return _is_builtin(function) and all(
        p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL) or p.name == "self"
        for p in inspect.signature(function).parameters.values()
    )


def _is_builtin(function: Any) -> bool:
    return inspect.isbuiltin(function) or inspect.ismethoddescriptor(function)


def _own_parameters(function: Any) -> list[str] | None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    found = list(signature.parameters.values())
    if all(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in found) and not inspect.isfunction(function):
        return None
    return [_shown(p.name, p.kind, p.default is not p.empty) for p in found if p.name not in ("self", "cls")]


def _shown(name: str, kind: Any, has_default: bool) -> str:
    prefix = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(kind, "")
    return prefix + name + ("=" if has_default else "")


@cache
def _stub_parameters() -> dict[str, list[str]]:
    """The parameters of the functions and methods in the stub file of the extension in C."""
    stub = Path(confluent_kafka.__file__).with_name("cimpl.pyi")
    found: dict[str, list[str]] = {}
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = _stub_names(node)
        elif isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and not member.decorator_list:
                    found[f"{node.name}.{member.name}"] = _stub_names(member)
    return found


def _stub_names(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    first_default = len(arguments.args) - len(arguments.defaults)
    names = [a.arg + ("=" if i >= first_default else "") for i, a in enumerate(arguments.args)]
    names = [n for n in names if n != "self"]
    if arguments.vararg:
        names.append(f"*{arguments.vararg.arg}")
    if arguments.kwarg:
        names.append(f"**{arguments.kwarg.arg}")
    return names


if __name__ == "__main__":
    print("\n".join(missing()))

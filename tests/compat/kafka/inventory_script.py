"""Prints, as JSON, the public names of the package `kafka` by module, and what functions and methods take.

With a file that it printed before: what of these names there is. It runs on Python 3.6 too, on which
kafka-python 1.2.1 does.
"""

import ast
import importlib
import inspect
import json
import logging
import pkgutil
import sys

import kafka


def modules_of(package):
    yield package.__name__
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".", onerror=lambda name: None):
        if not found.name.endswith("__main__") and ".vendor" not in found.name:
            yield found.name


def imported(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def assigned_in(module):
    """The names that the source of a module assigns."""
    found = set()
    try:
        source = inspect.getsource(module)
    except OSError:
        # It is empty.
        return found
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign):
            found.update(each.id for each in node.targets if isinstance(each, ast.Name))
    return found


def public_names(module):
    given = getattr(module, "__all__", None)
    if given is not None:
        return sorted(name for name in given if hasattr(module, name))
    is_package = hasattr(module, "__path__")
    assigned = assigned_in(module)
    names = []
    for name, value in vars(module).items():
        if name.startswith("_") or inspect.ismodule(value) or isinstance(value, logging.Logger):
            continue
        home = getattr(value, "__module__", None) if callable(value) else None
        is_of_the_package = (home or "kafka").partition(".")[0] == "kafka"
        is_taken_over = is_package and home is not None
        if home == module.__name__ or (is_of_the_package and (is_taken_over or name in assigned)):
            names.append(name)
    return sorted(names)


def parameters(function):
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    prefixes = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    shown = []
    for each in found:
        if each.name not in ("self", "cls"):
            default = "" if each.default is inspect.Parameter.empty else "="
            shown.append(prefixes.get(each.kind, "") + each.name + default)
    return shown


def told(value):
    if inspect.isclass(value):
        return {"takes": parameters(value), "members": {}}
    if callable(value):
        return {"takes": parameters(value)}
    return {}


def members_of(value):
    bases = [base for base in value.__mro__ if base.__module__.partition(".")[0] == "kafka"]
    return sorted(
        {
            name
            for base in bases
            for name, member in vars(base).items()
            # What instances have in slots, they may have otherwise.
            if not name.startswith("_") and not inspect.ismemberdescriptor(member)
        }
    )


def described(value, members):
    found = told(value)
    if members is not None and "members" in found:
        for name in members:
            if hasattr(value, name):
                found["members"][name] = told(getattr(value, name))
                found["members"][name].pop("members", None)
    return found


def inventory():
    found = {}
    for name in modules_of(kafka):
        module = imported(name)
        if module is not None:
            values = {each: getattr(module, each) for each in public_names(module)}
            found[name] = {
                each: described(value, members_of(value) if inspect.isclass(value) else None)
                for each, value in values.items()
            }
    return found


def what_there_is(of):
    found = {}
    for name, values in of.items():
        module = imported(name)
        if module is not None:
            found[name] = {
                each: described(getattr(module, each), value.get("members"))
                for each, value in values.items()
                if hasattr(module, each)
            }
    return found


if len(sys.argv) > 1:
    with open(sys.argv[1]) as wanted:
        print(json.dumps(what_there_is(json.load(wanted))))
else:
    print(json.dumps(inventory(), sort_keys=True))

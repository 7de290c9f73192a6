"""Prints, as JSON, the public names of the `pykafka` there is: modules, what is in them, members of classes,
parameters. For pykafka 2.8.0, whose names are in recorded_names.json:

    python inventory_script.py > recorded_names.json
"""

import importlib
import inspect
import json
import logging
import pkgutil
import sys
import warnings

warnings.simplefilter("ignore")

# Modules of the original that are its own machinery.
LEFT_OUT = ("pykafka.cli.__main__", "pykafka.rdkafka._rd_kafka")


def modules():
    import pykafka

    names = ["pykafka"] + [each.name for each in pkgutil.walk_packages(pykafka.__path__, "pykafka.")]
    return [name for name in names if name not in LEFT_OUT and not name.split(".")[-1].startswith("_")]


def is_public(name):
    return not name.startswith("_")


def parameters(function):
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    return [
        [each.name, each.kind.name, None if each.default is each.empty else default_of(each.default)]
        for each in signature.parameters.values()
    ]


def default_of(value):
    if isinstance(value, (bool, int, float, str, type(None))):
        return repr(value)
    return getattr(value, "__name__", type(value).__name__)


def members(cls):
    found = {"__init__": parameters(cls)}
    own = [each for each in cls.__mro__ if each.__module__ != "builtins"]
    for name in dir(cls):
        if not is_public(name) or not any(name in vars(each) for each in own):
            continue
        value = inspect.getattr_static(cls, name)
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        found[name] = parameters(value) if inspect.isroutine(value) else None
    return found


def is_of(module, name, value):
    """Whether a name is the module's own, and not one that it only uses."""
    home = (getattr(value, "__module__", None) or "").replace("barnabas.compat.", "")
    return home == module or name in getattr(sys.modules[module], "__all__", ())


def is_own(value):
    module = getattr(value, "__module__", None) or ""
    return module.split(".")[0] == "pykafka" or "compat.pykafka" in module


def inventory():
    found = {}
    for name in modules():
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            if name.split(".")[1] not in ("test", "rdkafka"):
                raise
            found[name] = {"": str(error)}
            continue
        entries = found[name] = {}
        exported = getattr(module, "__all__", ())
        for each in sorted(set(dir(module)) | set(exported)):
            value = getattr(module, each, None)
            if not is_public(each) or inspect.ismodule(value) or isinstance(value, logging.Logger):
                continue
            if callable(value) and not is_of(name, each, value):
                continue
            if inspect.isclass(value):
                entries[each] = {"class": members(value) if is_own(value) else {}}
            elif inspect.isfunction(value):
                entries[each] = {"function": parameters(value)}
            elif is_own(value) or isinstance(value, (bool, int, str, dict)) or each in exported:
                entries[each] = {"value": type(value).__name__}
    return found


if __name__ == "__main__":
    lines = [
        json.dumps(name) + ": " + json.dumps(entries, sort_keys=True)
        for name, entries in sorted(inventory().items())
    ]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")

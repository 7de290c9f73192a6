"""Prints, as JSON, what programs can see of `kafka.errors` and `kafka.structs`.

Runs on the genuine packages, on Python 3.6 as well, and on the facade."""

import inspect
import json

import kafka.errors
import kafka.structs

ATTRIBUTES = ("errno", "message", "description", "retriable", "invalid_metadata")
ARGUMENTS = ((), ("why",), ("why", 2))


def said_by(error_class):
    told = []
    for arguments in ARGUMENTS:
        try:
            error = error_class(*arguments)
        except TypeError:
            told.append("TypeError")
        else:
            told.append([str(error), repr(error.args), sorted(vars(error)), error == error_class(*arguments)])
    return told


def star(module):
    names = {}
    exec(f"from {module} import *", names)
    return {name: value for name, value in names.items() if not name.startswith("__")}


def errors():
    told = {}
    for name, value in star("kafka.errors").items():
        if inspect.isclass(value):
            bases = [base.__name__ for base in value.__bases__]
            told[name] = [value.__name__, value.__module__, bases]
            told[name] += [[getattr(value, each, None) for each in ATTRIBUTES], said_by(value)]
        elif isinstance(value, tuple):
            told[name] = [each.__name__ for each in value]
    return told


def codes():
    known = {str(code): each.__name__ for code, each in kafka.errors.kafka_errors.items()}
    asked = {str(code): str(kafka.errors.for_code(code)()) for code in (-1, 0, 3, 22, 36, 35, 127, 500)}
    return [known, asked]


def structs():
    told = {}
    for name, value in star("kafka.structs").items():
        if hasattr(value, "_fields"):
            told[name] = [value.__module__, value._fields, repr(value.__new__.__defaults__)]
        elif name == "MemberState":
            told[name] = {each: text for each, text in vars(value).items() if each.isupper()}
    return told


def names():
    modules = ("absolute_import", "inspect", "sys", "namedtuple")
    return {each: sorted(set(star(each)) - set(modules)) for each in ("kafka.errors", "kafka.structs")}


if __name__ == "__main__":
    told = {"errors": errors(), "codes": codes(), "structs": structs(), "names": names()}
    print(json.dumps(told, sort_keys=True, separators=(",", ":")))

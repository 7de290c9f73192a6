"""Which names, modules and signatures kafka-python has in each generation, where these differ.

Owns what `scripts/record_kafka_python_names.py` wrote down. Knows no sources of programs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import cast

from barnabas.compat.kafka_engine.generations import GENERATIONS

__all__ = ["Signature", "first_with", "homes", "methods", "modules", "names", "shape", "signature", "steps"]

_FILE = "names_of_kafka_python.json"
_ORDER = tuple(GENERATIONS)

_Names = dict[str, dict[str, str]]
_Calls = dict[str, dict[str, dict[str, str]]]


@cache
def _recorded() -> tuple[_Names, _Calls]:
    text = files("barnabas.migrate").joinpath(_FILE).read_text()
    found = cast("Mapping[str, object]", json.loads(text))
    return cast("_Names", found["names"]), cast("_Calls", found["calls"])


def steps(older: str, newer: str) -> tuple[str, ...]:
    """The generations on the way, without the one that it begins with."""
    return _ORDER[_ORDER.index(older) + 1 : _ORDER.index(newer) + 1]


def first_with(is_so: Mapping[str, bool], older: str, newer: str) -> str:
    """The generation since which something is so, up to the newer one, in which it is."""
    since = newer
    for each in reversed(steps(older, newer)):
        if not is_so[each]:
            break
        since = each
    return since


@cache
def names(module: str) -> Mapping[str, frozenset[str]]:
    """By the generations that have the module: its names that not all generations have. Empty for a module
    that is the same in all, or that there is not."""
    return {each: frozenset(found.split()) for each, found in _recorded()[0].get(module, {}).items()}


def modules(generation: str) -> frozenset[str]:
    """Those that the generation has, of those that are not the same in all."""
    return frozenset(module for module, of in _recorded()[0].items() if generation in of)


def homes(name: str, generation: str) -> list[str]:
    """The modules that have a name of a generation's, the shortest first."""
    found = [module for module, of in _recorded()[0].items() if name in of.get(generation, "").split()]
    return sorted(found, key=lambda module: (module.count("."), module))


def methods(of: str) -> list[str]:
    """The methods and attributes of a class that are not the same in all generations."""
    return list(_recorded()[1].get(of, {}))


def shape(of: str, method: str) -> Mapping[str, str]:
    """By generation: a method of a class, as text, where not all generations have the same."""
    return _recorded()[1].get(of, {}).get(method, {})


@dataclass(frozen=True)
class Signature:
    """What a method takes, without `self`."""

    positional: tuple[str, ...]
    keywords: frozenset[str]
    required: frozenset[str]
    takes_more: bool
    takes_more_keywords: bool


@cache
def signature(text: str) -> Signature | None:
    """None for an attribute or a property."""
    if not text.startswith("("):
        return None
    positional: list[str] = []
    keywords: set[str] = set()
    required: set[str] = set()
    takes_more = takes_more_keywords = only_keywords = False
    for each in text[1:-1].split():
        name = each.strip("*=")
        if each.startswith("**"):
            takes_more_keywords = True
        elif each.startswith("*"):
            takes_more, only_keywords = takes_more or bool(name), True
        else:
            keywords.add(name)
            if not only_keywords:
                positional.append(name)
            if not each.endswith("="):
                required.add(name)
    return Signature(
        tuple(positional), frozenset(keywords), frozenset(required), takes_more, takes_more_keywords
    )

"""Avro schemas by chance, others near them, and values of them."""

from __future__ import annotations

import random
from typing import Any

PRIMITIVES = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]


class Maker:
    """Schemas, and values of them, by chance. Named types are defined where they are first used. Arrays and
    maps have `least_items` or more."""

    def __init__(self, chance: random.Random, least_items: int = 0) -> None:
        self.chance = chance
        self.least_items = least_items
        self.defined: set[str] = set()

    def schema(self, depth: int = 0, *, in_union: bool = False) -> Any:
        kinds = ["primitive"] * 4 if depth > 2 else ["primitive", "record", "enum", "fixed", "array", "map"]
        kind = self.chance.choice(kinds if in_union or depth > 2 else [*kinds, "union", "record"])
        name = f"{kind[0].upper()}{self.chance.randrange(2)}"
        if kind in ("record", "enum", "fixed"):
            if name in self.defined:
                return self.chance.choice(PRIMITIVES)
            self.defined.add(name)
        if kind == "record":
            return {"type": "record", "name": name, "fields": self.fields(depth)}
        if kind == "enum":
            symbols = self.chance.sample("ABCD", self.chance.randint(1, 4))
            default = {"default": symbols[0]} if self.chance.random() < 0.3 else {}
            return {"type": "enum", "name": name, "symbols": symbols, **default}
        if kind == "fixed":
            return {"type": "fixed", "name": name, "size": self.chance.randint(1, 2)}
        if kind == "array":
            return {"type": "array", "items": self.schema(depth + 1)}
        if kind == "map":
            return {"type": "map", "values": self.schema(depth + 1)}
        if kind == "union":
            return self.union(depth)
        return self.chance.choice(PRIMITIVES)

    def union(self, depth: int) -> list[Any]:
        branches: dict[str, Any] = {}
        for _ in range(self.chance.randint(1, 3)):
            branch = self.schema(depth + 1, in_union=True)
            key = branch if isinstance(branch, str) else branch.get("name", branch["type"])
            branches.setdefault(key, branch)
        if "bytes" in branches and "array" in branches:
            # fastavro takes bytes for an array of numbers, where that comes first.
            branches["array"] = branches.pop("array")
        return list(branches.values())

    def fields(self, depth: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for name in self.chance.sample("abc", self.chance.randint(0, 3)):
            field = {"name": name, "type": self.schema(depth + 1)}
            if field["type"] in ("int", "long") and self.chance.random() < 0.5:
                field["default"] = 7
            found.append(field)
        return found

    def value(self, schema: Any) -> Any:
        if isinstance(schema, list):
            branch = self.chance.choice(schema)
            value = self.value(branch)
            named = isinstance(branch, dict) and "name" in branch
            return (branch["name"], value) if named else value
        kind = schema if isinstance(schema, str) else schema["type"]
        if kind == "record":
            return {field["name"]: self.value(field["type"]) for field in schema["fields"]}
        if kind == "enum":
            return self.chance.choice(schema["symbols"])
        if kind == "fixed":
            return bytes(schema["size"])
        if kind == "array":
            return [self.value(schema["items"]) for _ in range(self.chance.randint(self.least_items, 2))]
        if kind == "map":
            return {
                key: self.value(schema["values"]) for key in "kl"[: self.chance.randint(self.least_items, 2)]
            }
        return {
            "null": None,
            "boolean": True,
            "int": 5,
            "long": 1 << 40,
            "float": 1.5,
            "double": 2.5,
            "bytes": b"bbb",
            "string": "s",
        }[kind]


def changed(schema: Any, maker: Maker) -> Any:
    """A schema near this one, so that many pairs are compatible, or nearly."""
    if maker.chance.random() < 0.15:
        maker.defined = set()
        return maker.schema(1, in_union=True)
    if isinstance(schema, list):
        return [changed(branch, maker) for branch in schema][: maker.chance.randint(1, len(schema))]
    if isinstance(schema, str):
        return maker.chance.choice([schema, schema, "long", "double", "string", ["null", "string"]])
    found = dict(schema)
    if "fields" in found:
        fields = [{**field, "type": changed(field["type"], maker)} for field in found["fields"]]
        found["fields"] = [field for field in fields if maker.chance.random() < 0.8]
    for part in ("items", "values"):
        if part in found:
            found[part] = changed(found[part], maker)
    return found

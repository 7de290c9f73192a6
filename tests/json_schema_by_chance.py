"""JSON Schemas by chance, and values that are likely to be theirs."""

from __future__ import annotations

import random
from typing import Any

NAMES = ("a", "b", "c", "name")
WORDS = ("", "x", "xy", "abc", "a-b")


class Maker:
    """`is_simple`: only what Confluent's rules look at, with types told; nothing that may refer to itself."""

    def __init__(self, chance: random.Random, *, is_simple: bool = False) -> None:
        self._chance = chance
        self._is_simple = is_simple

    def schema(self, depth: int = 3) -> Any:
        chance = self._chance
        kinds = ["string", "integer", "number", "boolean", "null", "any", "enum", "const", "types"]
        if depth:
            kinds += ["object", "array", "anyOf", "allOf"] * 2
        if depth and not self._is_simple:
            kinds.append("oneOf")
        kind = chance.choice(kinds)
        if kind == "any":
            return chance.choice([{}, True])
        if kind == "enum":
            return {"enum": chance.sample(["x", "xy", 1, 2, None, True], chance.randint(1, 4))}
        if kind == "const":
            return {"const": chance.choice(["x", 1, None])}
        if kind in ("anyOf", "oneOf", "allOf"):
            return {kind: [self.schema(depth - 1) for _ in range(chance.randint(1, 3))]}
        if kind == "types":
            types = chance.sample(["string", "integer", "null", "boolean"], chance.randint(1, 3))
            return {"type": types, **self._limits(types)}
        if kind == "object":
            return self._object(depth)
        if kind == "array":
            return self._array(depth)
        return {"type": kind, **self._limits([kind])}

    def _limits(self, types: list[str]) -> dict[str, Any]:
        chance = self._chance
        found: dict[str, Any] = {}
        if "string" in types and chance.random() < 0.4:
            found["minLength"] = chance.randint(0, 2)
        if "string" in types and chance.random() < 0.4:
            found["maxLength"] = chance.randint(2, 4)
        if {"integer", "number"} & set(types) and chance.random() < 0.4:
            found[chance.choice(["minimum", "exclusiveMinimum"])] = chance.randint(-2, 1)
        if {"integer", "number"} & set(types) and chance.random() < 0.4:
            found[chance.choice(["maximum", "exclusiveMaximum"])] = chance.randint(2, 5)
        if {"integer", "number"} & set(types) and chance.random() < 0.2:
            found["multipleOf"] = chance.choice([1, 2, 4, 0.5])
        return found

    def _object(self, depth: int) -> dict[str, Any]:
        chance = self._chance
        names = chance.sample(NAMES, chance.randint(0, 3))
        found: dict[str, Any] = {
            "type": "object",
            "properties": {name: self.schema(depth - 1) for name in names},
        }
        required = [name for name in names if chance.random() < 0.3]
        if required:
            found["required"] = required
        openness = chance.choice(["open", "closed", "closed", "partial"])
        if openness == "closed":
            found["additionalProperties"] = False
        elif openness == "partial":
            found["additionalProperties"] = self.schema(depth - 1)
        if chance.random() < 0.2:
            found["maxProperties"] = chance.randint(1, 4)
        if chance.random() < 0.1:
            found["minProperties"] = chance.randint(0, 2)
        if not self._is_simple and chance.random() < 0.2:
            found["patternProperties"] = {"^n": self.schema(depth - 1)}
        return found

    def _array(self, depth: int) -> dict[str, Any]:
        chance = self._chance
        found: dict[str, Any] = {"type": "array"}
        if chance.random() < 0.6:
            found["items"] = self.schema(depth - 1)
        else:
            found["items"] = [self.schema(depth - 1) for _ in range(chance.randint(1, 3))]
            found["additionalItems"] = chance.choice([True, False, False, self.schema(depth - 1)])
        if chance.random() < 0.2:
            found["minItems"] = chance.randint(0, 2)
        if chance.random() < 0.2:
            found["maxItems"] = chance.randint(2, 4)
        if chance.random() < 0.1:
            found["uniqueItems"] = True
        return found

    def changed(self, schema: Any, depth: int = 3) -> Any:
        """The same with something else in it, or another one."""
        chance = self._chance
        if not isinstance(schema, dict) or chance.random() < 0.15:
            return self.schema(depth)
        found = dict(schema)
        if not found:
            return found
        name = chance.choice(list(found))
        value = found[name]
        if chance.random() < 0.2 and name not in ("type", "properties"):
            del found[name]
        elif name == "properties":
            properties = dict(value)
            which = chance.choice(NAMES)
            if which not in properties:
                properties[which] = self.schema(max(depth - 1, 0))
            elif chance.random() < 0.3:
                del properties[which]
            else:
                properties[which] = self.changed(properties[which], max(depth - 1, 0))
            found[name] = properties
            if "required" in found:
                found["required"] = [each for each in found["required"] if each in properties]
        elif name in ("items", "additionalProperties", "additionalItems"):
            found[name] = self.changed(value, max(depth - 1, 0))
            if isinstance(value, list):
                found[name] = [self.changed(each, max(depth - 1, 0)) for each in value]
        elif name in ("anyOf", "oneOf", "allOf"):
            parts = [self.changed(each, max(depth - 1, 0)) for each in value]
            if chance.random() < 0.5:
                parts.append(self.schema(max(depth - 1, 0)))
            found[name] = parts if chance.random() < 0.7 else value[:1]
        elif name == "enum":
            found[name] = list(value) + chance.sample([3, "z"], 1) if chance.random() < 0.5 else value[:1]
        elif isinstance(value, int) and not isinstance(value, bool):
            found[name] = max(value + chance.choice([-1, 1]), int(name == "multipleOf"))
        return found

    def value(self, schema: Any, depth: int = 5) -> Any:
        """Likely to be valid, not sure to be."""
        chance = self._chance
        if not isinstance(schema, dict) or depth == 0 or chance.random() < 0.05:
            return self.any_value(2)
        if "enum" in schema:
            return chance.choice(schema["enum"])
        if "const" in schema:
            return schema["const"]
        for name in ("anyOf", "oneOf", "allOf"):
            if name in schema:
                return self.value(chance.choice(schema[name]), depth - 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = chance.choice(kind)
        if kind == "string":
            least = schema.get("minLength", 0)
            length = chance.randint(least, max(schema.get("maxLength", 4), least))
            return "".join(chance.choice("xyab") for _ in range(length))
        if kind in ("integer", "number"):
            return chance.choice([-3, -1, 0, 1, 2, 3, 4, 6] + ([0.5, 2.5, 1.25] if kind == "number" else []))
        if kind == "boolean":
            return chance.random() < 0.5
        if kind == "null":
            return None
        if kind == "array":
            return self._array_value(schema, depth)
        if kind == "object":
            return self._object_value(schema, depth)
        return self.any_value(2)

    def _array_value(self, schema: dict[str, Any], depth: int) -> list[Any]:
        items = schema.get("items", {})
        if isinstance(items, list):
            found = [self.value(each, depth - 1) for each in items]
            if schema.get("additionalItems", True) is not False:
                found += [self.value(schema.get("additionalItems"), depth - 1)]
            return found[: self._chance.randint(0, len(found))]
        return [self.value(items, depth - 1) for _ in range(self._chance.randint(0, 3))]

    def _object_value(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        chance = self._chance
        found = {
            name: self.value(each, depth - 1)
            for name, each in schema.get("properties", {}).items()
            if name in schema.get("required", []) or chance.random() < 0.7
        }
        others = schema.get("additionalProperties", True)
        if others is not False and chance.random() < 0.6:
            name = chance.choice((*NAMES, "other"))
            if name not in schema.get("properties", {}):
                found[name] = self.value(others, depth - 1)
        return found

    def any_value(self, depth: int) -> Any:
        chance = self._chance
        choice = chance.randint(0, 7 if depth else 5)
        if choice == 6:
            return [self.any_value(depth - 1) for _ in range(chance.randint(0, 2))]
        if choice == 7:
            return {chance.choice(NAMES): self.any_value(depth - 1) for _ in range(chance.randint(0, 2))}
        return [None, True, 1, -2.5, chance.choice(WORDS), 10**25][choice]

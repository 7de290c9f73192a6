"""Descriptors of Protocol Buffers by chance, in the order in which a text has their parts."""

# google.protobuf has no types.
# pyright: basic

from __future__ import annotations

import random
from typing import Any

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

from barnabas.formats.proto.compiler import option_pool

INTEGERS = (
    Field.TYPE_INT32,
    Field.TYPE_INT64,
    Field.TYPE_UINT32,
    Field.TYPE_UINT64,
    Field.TYPE_SINT32,
    Field.TYPE_SINT64,
    Field.TYPE_FIXED32,
    Field.TYPE_FIXED64,
    Field.TYPE_SFIXED32,
    Field.TYPE_SFIXED64,
)
SCALARS = (
    *INTEGERS,
    Field.TYPE_DOUBLE,
    Field.TYPE_FLOAT,
    Field.TYPE_BOOL,
    Field.TYPE_STRING,
    Field.TYPE_BYTES,
)
TEXTS = (
    "",
    "a",
    'quo"te',
    "it's",
    "back\\slash",
    "line\nbreak\t",
    "ärger €",
    "\x00\x07\x7f",
    "// no /* comment",
)
TIMESTAMP = "google/protobuf/timestamp.proto"
META = "confluent/meta.proto"


class Maker:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.file = descriptor_pb2.FileDescriptorProto(name="default")
        self.messages: list[str] = []
        self.enums: list[str] = []
        self.count = 0

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def make(self) -> Any:
        file, chance = self.file, self.chance
        syntax = chance.choice(["proto2", "proto3", "editions"])
        self.is_proto2, self.is_proto3 = syntax == "proto2", syntax == "proto3"
        if syntax == "editions":
            file.edition = descriptor_pb2.EDITION_2023
        if not self.is_proto2:
            file.syntax = syntax
        if chance.random() < 0.7:
            file.package = chance.choice(["p", "p.q", "message.string"])
        self.scope = f".{file.package}" if file.package else ""
        file.dependency.extend([TIMESTAMP, META])
        if chance.random() < 0.2:
            file.public_dependency.append(1)
        if chance.random() < 0.3:
            file.options.java_package = chance.choice(TEXTS)
            file.options.optimize_for = descriptor_pb2.FileOptions.CODE_SIZE
        self.meta(file.options, "file_meta")
        # Names first, so that types may name those behind them, and themselves.
        self.plan = [self.planned(self.scope, 0) for _ in range(chance.randint(1, 3))]
        for _ in range(chance.randint(0, 2)):
            self.enum(file.enum_type.add(), self.scope)
        for plan in self.plan:
            self.message(file.message_type.add(), plan)
        if not self.is_proto3:
            self.extensions(file)
        if chance.random() < 0.4:
            self.service(file.service.add())
        return file

    def planned(self, scope: str, depth: int) -> dict[str, Any]:
        name = self.name("M")
        full_name = f"{scope}.{name}"
        self.messages.append(full_name)
        inner = [
            self.planned(full_name, depth + 1)
            for _ in range(self.chance.choice([0, 0, 1, 2]) if depth < 3 else 0)
        ]
        return {"name": name, "full_name": full_name, "inner": inner}

    def meta(self, options: Any, extension: str) -> None:
        if self.chance.random() < 0.2:
            pool = option_pool()
            from google.protobuf import message_factory

            field = pool.FindExtensionByName(f"confluent.{extension}")
            owner = message_factory.GetMessageClass(field.containing_type)()
            meta = owner.Extensions[field]
            meta.doc = self.chance.choice(TEXTS)
            meta.tags.extend(self.chance.sample(["PII", "PRIVATE", "x y"], self.chance.randint(0, 2)))
            for key in self.chance.sample(["scale", "k", "precision", ""], self.chance.randint(0, 2)):
                meta.params[key] = self.chance.choice(TEXTS)
            if self.chance.random() < 0.3:
                meta.rules.add(name="r", expr="this > 0 && 'a' != \"b\"")
            options.MergeFromString(owner.SerializeToString(deterministic=True))

    def message(self, message: Any, plan: dict[str, Any]) -> None:
        chance = self.chance
        message.name = plan["name"]
        self.meta(message.options, "message_meta")
        if chance.random() < 0.2:
            message.options.deprecated = True
        numbers = iter(chance.sample([*range(1, 60), 18_999, 20_000, 536_870_911], 40))
        for _ in range(chance.randint(0, 5)):
            self.field(message.field.add(), next(numbers))
        maps = [self.name("map_") for _ in range(chance.choice([0, 0, 1, 2]))]
        for name in maps:
            field = message.field.add(name=name, number=next(numbers), label=Field.LABEL_REPEATED)
            field.type = Field.TYPE_MESSAGE
            field.type_name = f"{plan['full_name']}.{entry(name)}"
        for index in range(chance.choice([0, 0, 1, 2])):
            message.oneof_decl.add(name=self.name("one"))
            for _ in range(chance.randint(1, 3)):
                self.field(message.field.add(oneof_index=index), next(numbers), in_oneof=True)
        groups = []
        if self.is_proto2 and chance.random() < 0.3:
            groups.append(self.name("Group"))
            field = message.field.add(name=groups[0].lower(), number=next(numbers))
            field.label = chance.choice([Field.LABEL_OPTIONAL, Field.LABEL_REPEATED])
            field.type, field.type_name = Field.TYPE_GROUP, f"{plan['full_name']}.{groups[0]}"
            self.message(
                message.nested_type.add(), {"name": groups[0], "full_name": field.type_name, "inner": []}
            )
        if self.is_proto3:
            for field in message.field:
                is_bare = not field.HasField("oneof_index") and field.label == Field.LABEL_OPTIONAL
                if is_bare and chance.random() < 0.4:
                    field.proto3_optional = True
                    field.oneof_index = len(message.oneof_decl)
                    message.oneof_decl.add(name=f"_{field.name}")
        for inner in plan["inner"]:
            self.message(message.nested_type.add(), inner)
        for name in maps:
            self.entry(message.nested_type.add(), entry(name))
        for _ in range(chance.choice([0, 0, 1])):
            self.enum(message.enum_type.add(), plan["full_name"])
        if chance.random() < 0.3:
            message.reserved_range.add(start=1000, end=chance.choice([1001, 1010, 1011]))
            message.reserved_name.append("gone")
        if not self.is_proto3 and chance.random() < 0.4:
            message.extension_range.add(start=100_000, end=self.chance.choice([100_010, 536_870_911]))
            self.extendable = plan["full_name"]

    def field(self, field: Any, number: int, *, in_oneof: bool = False) -> None:
        chance = self.chance
        field.name, field.number = self.name("f_"), number
        kind = chance.choice([*SCALARS, Field.TYPE_MESSAGE, Field.TYPE_ENUM])
        if kind == Field.TYPE_ENUM and not self.enums:
            kind = Field.TYPE_STRING
        field.type = kind
        if kind == Field.TYPE_MESSAGE:
            field.type_name = chance.choice([*self.messages, ".google.protobuf.Timestamp"])
        elif kind == Field.TYPE_ENUM:
            field.type_name = chance.choice(self.enums)
        labels = [Field.LABEL_OPTIONAL, Field.LABEL_REPEATED]
        if self.is_proto2:
            labels.append(Field.LABEL_REQUIRED)
        field.label = Field.LABEL_OPTIONAL if in_oneof else chance.choice(labels)
        if chance.random() < 0.2:
            field.json_name = chance.choice(["other", "o-t'h\"er", field.name + "X"]) + str(number)
        self.meta(field.options, "field_meta")
        if chance.random() < 0.2:
            field.options.deprecated = True
        if (
            field.label == Field.LABEL_REPEATED
            and kind in INTEGERS
            and self.is_proto2
            and chance.random() < 0.3
        ):
            field.options.packed = chance.random() < 0.5
        if not self.is_proto3 and field.label != Field.LABEL_REPEATED and chance.random() < 0.3:
            default = self.default(kind)
            if default is not None:
                field.default_value = default

    def default(self, kind: int) -> str | None:
        if kind in INTEGERS:
            return str(self.chance.choice([0, 1, 77, 2_147_483_647]))
        if kind in (Field.TYPE_DOUBLE, Field.TYPE_FLOAT):
            return self.chance.choice(["inf", "-inf", "nan", "1.5", "-0.25", "1e+30", "3"])
        if kind == Field.TYPE_BOOL:
            return self.chance.choice(["true", "false"])
        if kind == Field.TYPE_STRING:
            return self.chance.choice(TEXTS)
        if kind == Field.TYPE_BYTES:
            return self.chance.choice(["", "abc", '\\000\\377\\n\\"\\\\', "caf\\303\\251"])
        return None

    def entry(self, message: Any, name: str) -> None:
        message.name = name
        message.options.map_entry = True
        key = self.chance.choice([*INTEGERS, Field.TYPE_BOOL, Field.TYPE_STRING])
        message.field.add(name="key", number=1, label=Field.LABEL_OPTIONAL, type=key)
        value = message.field.add(name="value", number=2, label=Field.LABEL_OPTIONAL)
        value.type = self.chance.choice([*SCALARS, Field.TYPE_MESSAGE])
        if value.type == Field.TYPE_MESSAGE:
            value.type_name = self.chance.choice(self.messages)

    def enum(self, enum: Any, scope: str) -> None:
        chance = self.chance
        enum.name = self.name("E")
        self.enums.append(f"{scope}.{enum.name}")
        self.meta(enum.options, "enum_meta")
        numbers = [0, *chance.sample([-2_147_483_648, -1, 1, 2, 3, 2_147_483_647], chance.randint(0, 4))]
        for number in numbers:
            value = enum.value.add(name=self.name("V"), number=number)
            self.meta(value.options, "enum_value_meta")
        if chance.random() < 0.2:
            enum.options.allow_alias = True
            enum.value.add(name=self.name("V"), number=numbers[-1])
        if chance.random() < 0.2:
            enum.reserved_range.add(start=100, end=chance.choice([100, 105, 2_147_483_646]))
            enum.reserved_name.append("GONE")

    extendable: str | None = None

    def extensions(self, file: Any) -> None:
        if self.extendable is not None:
            for number in range(100_000, 100_000 + self.chance.randint(1, 3)):
                field = file.extension.add(extendee=self.extendable)
                self.field(field, number)
                field.ClearField("json_name")
                if field.label == Field.LABEL_REQUIRED:
                    field.label = Field.LABEL_OPTIONAL

    def service(self, service: Any) -> None:
        service.name = self.name("S")
        for _ in range(self.chance.randint(0, 2)):
            method = service.method.add(name=self.name("Do"))
            method.input_type, method.output_type = self.chance.choices(self.messages, k=2)
            if self.chance.random() < 0.3:
                method.client_streaming = True
            if self.chance.random() < 0.3:
                method.options.idempotency_level = descriptor_pb2.MethodOptions.NO_SIDE_EFFECTS


def entry(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_")) + "Entry"

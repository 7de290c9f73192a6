"""Compiles (message class, version) to a straight-line Python function that turns it into parts of bytes.

The function is generated as source, the mirror of `decoder`. Neighbouring fields of fixed size, and arrays of
numbers among them, are packed by one `struct` call. What a version cannot carry is an error, unless the field
is ignorable. A wrong value is reported by `faults`, off the hot path.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from barnabas.errors import BrokenProtocolError, NoCommonVersionError
from barnabas.protocol.decoder import FIXED_FORMATS
from barnabas.protocol.file_part import FilePart
from barnabas.protocol.schema import Message, SchemaField, WireField, fields_of, keeps_tags

Part = bytes | bytearray | memoryview
Encoder = Callable[[Any, Callable[[Part | FilePart], None]], None]
"""(message, append) -> None; the parts given to `append` make up the message."""

_MOST_CACHED_SHAPES = 4096


def varint(value: int) -> bytes:
    """An unsigned varint."""
    if value < 128:
        return bytes((value,))
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


class _Varints(dict[int, bytes]):
    """Unsigned varints by their value, the short ones remembered."""

    def __missing__(self, value: int) -> bytes:
        encoded = varint(value)
        if value < 1024:
            self[value] = encoded
        return encoded


VARINTS = _Varints()


def tag_section(known: Mapping[int, bytes], unknown: Mapping[int, bytes]) -> bytes:
    """The tagged fields at the end of a struct, in the order of their tags."""
    both = known.keys() & unknown.keys()
    if both:
        raise BrokenProtocolError(f"unknown_tagged_fields holds tags that this version knows: {sorted(both)}")
    parts = [VARINTS[len(known) + len(unknown)]]
    for tag, content in sorted({**known, **unknown}.items()):
        parts += (VARINTS[tag], VARINTS[len(content)], content)
    return b"".join(parts)


def raw_bytes(buffer: Part | FilePart) -> Part | FilePart:
    """Any buffer as one whose length is its number of bytes."""
    return buffer if isinstance(buffer, bytes | bytearray | FilePart) else memoryview(buffer).cast("B")


class _Packers(dict[tuple[int, ...], Callable[..., bytes]]):
    """By the lengths of the arrays in it: packs a run of fields.

    `items` are struct formats, and for each array a pair of the formats of its length and of its elements.
    The arguments are the values in order, each array's preceded by its length as written.
    """

    def __init__(self, items: tuple[str | tuple[str, str], ...]) -> None:
        self.items_in_order = items

    def __missing__(self, counts: tuple[int, ...]) -> Callable[..., bytes]:
        remaining = iter(counts)
        formats: list[str] = []
        for item in self.items_in_order:
            if isinstance(item, str):
                formats.append(item)
            else:
                count = next(remaining)
                length_format = item[0]
                if length_format == "B" and count > 126:
                    return self._pack_by_item
                formats.append(f"{length_format}{count}{item[1]}")
        packer = struct.Struct(">" + "".join(formats)).pack
        if sum(counts) <= 256 and len(self) < _MOST_CACHED_SHAPES:
            self[counts] = packer
        return packer

    def _pack_by_item(self, *values: Any) -> bytes:
        """The way for arrays whose compact length takes more than a byte."""
        parts: list[bytes] = []
        position = 0
        for item in self.items_in_order:
            if isinstance(item, str):
                count = len(item.replace("16s", "s").replace("x", ""))
                parts.append(struct.pack(">" + item, *values[position : position + count]))
                position += count
            else:
                written = values[position]
                count = written - 1 if item[0] == "B" else written
                parts.append(VARINTS[written] if item[0] == "B" else struct.pack(">" + item[0], written))
                elements = values[position + 1 : position + 1 + count]
                parts.append(struct.pack(f">{count}{item[1]}", *elements))
                position += 1 + count
        return b"".join(parts)


def compile_encoder(cls: type[Message], version: int) -> Encoder:
    """The function that writes `cls` in `version`."""
    return _EncoderSource(cls, version).compile()


class _EncoderSource:
    """The source under construction, the names it uses, and the run of fields not yet written."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.cls = cls
        self.version = version
        self.flexible = version >= cls.FLEXIBLE_VERSIONS
        self.lines: list[str] = []
        self.indent = 1
        self.counter = 0
        self.append = "append"
        self.names: dict[str, Any] = {
            "VARINTS": VARINTS,
            "absent": self.absent,
            "raw_bytes": raw_bytes,
            "tag_section": tag_section,
        }
        self.run_items: list[str | tuple[str, str]] = []
        self.run_values: list[str] = []
        self.run_counts: list[str] = []

    def compile(self) -> Encoder:
        self.write_struct(self.cls, "message")
        title = f"{self.cls.__name__} version {self.version}"
        source = "def encode(message, append):\n" + "\n".join(self.lines or ["    pass"]) + "\n"
        exec(compile(source, f"<encoder of {title}>", "exec"), self.names)
        return self.names["encode"]

    def absent(self, name: str) -> NoCommonVersionError:
        """The error for a field that is set, but that this version does not have."""
        return NoCommonVersionError(
            f"{self.cls.__name__} version {self.version} cannot carry {name}: leave it at its default, "
            "or use a version that has it"
        )

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def variable(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def constant(self, prefix: str, value: Any) -> str:
        name = self.variable(prefix)
        self.names[name] = value
        return name

    def add_fixed(self, format: str, value: str | None) -> None:
        if self.run_items and isinstance(self.run_items[-1], str):
            self.run_items[-1] += format
        else:
            self.run_items.append(format)
        if value is not None:
            self.run_values.append(value)

    def flush(self) -> None:
        """Write the run of fields of fixed size and arrays of numbers."""
        values = ", ".join(self.run_values)
        if self.run_counts:
            packers = self.constant("packers", _Packers(tuple(self.run_items)))
            self.line(f"{self.append}({packers}[{', '.join(self.run_counts)},]({values}))")
        elif self.run_items:
            pack = self.constant("pack", struct.Struct(f">{self.run_items[0]}").pack)
            self.line(f"{self.append}({pack}({values}))")
        self.run_items = []
        self.run_values = []
        self.run_counts = []

    def write_struct(self, cls: type[Any], variable: str) -> None:
        tagged: list[SchemaField] = []
        for field in fields_of(cls):
            value = f"{variable}.{field.name}"
            if not field.wire.present(self.version):
                if not field.wire.ignorable:
                    self.line(f"if {self.is_set(field, value)}:")
                    self.line(f"    raise absent({field.name!r})")
            elif self.flexible and field.wire.tagged(self.version):
                tagged.append(field)
            else:
                self.write_value(field.wire, value)
        if self.flexible and tagged:
            self.write_tags(variable, tagged)
        elif self.flexible:
            self.write_unknown_tags(variable)
        else:
            self.flush()
            if keeps_tags(cls):
                self.line(f"if {variable}.unknown_tagged_fields:")
                self.line("    raise absent('unknown_tagged_fields')")

    def is_set(self, field: SchemaField, value: str) -> str:
        """The condition that a field differs from its default."""
        if field.default_factory is None and field.default is None:
            return f"{value} is not None"
        if field.wire.is_array and not field.wire.nullable_versions[1]:
            return value
        default = field.default if field.default_factory is None else field.default_factory()
        return f"{value} != {self.constant('default', default)}"

    def write_value(self, wire: WireField, value: str, *, tagged: bool = False) -> None:
        nullable = wire.nullable(self.version)
        compact = self.flexible and wire.flexible
        if wire.is_array:
            self.write_array(wire, value, nullable)
        elif wire.type in FIXED_FORMATS:
            self.add_fixed(FIXED_FORMATS[wire.type], f"{value}.bytes" if wire.type == "uuid" else value)
        elif wire.type in {"string", "bytes", "records"}:
            self.write_sized(wire.type, value, nullable, compact)
        elif nullable:
            # What marks null is -1 in an int8, but in a tagged field 0 in an unsigned varint.
            self.write_null_or_else(value, b"\0" if tagged else b"\xff")
            self.add_fixed("b", "1")
            self.write_inner_struct(wire.type, value)
            self.indent -= 1
        else:
            self.write_inner_struct(wire.type, value)

    def write_inner_struct(self, type: str, value: str) -> None:
        variable = self.variable("struct")
        self.line(f"{variable} = {value}")
        self.write_struct(getattr(self.cls, type), variable)

    def write_null_or_else(self, value: str, null: bytes) -> None:
        """Open the branch for a value that is not null; the caller closes it."""
        self.flush()
        self.line(f"if {value} is None:")
        self.line(f"    {self.append}({null!r})")
        self.line("else:")
        self.indent += 1

    def write_sized(self, type: str, value: str, nullable: bool, compact: bool) -> None:
        length_format = "h" if type == "string" else "i"
        if nullable:
            self.write_null_or_else(value, b"\0" if compact else struct.pack(">" + length_format, -1))
        data = self.variable(type)
        self.line(f"{data} = {value}.encode()" if type == "string" else f"{data} = raw_bytes({value})")
        if compact:
            self.flush()
            self.line(f"{self.append}(VARINTS[len({data}) + 1])")
        else:
            self.add_fixed(length_format, f"len({data})")
            self.flush()
        self.line(f"{self.append}({data})")
        if nullable:
            self.indent -= 1

    def write_array(self, wire: WireField, value: str, nullable: bool) -> None:
        element = wire.element_type
        items = self.variable("items")
        self.line(f"{items} = {value}")
        if nullable:
            self.write_null_or_else(items, b"\0" if self.flexible else b"\xff\xff\xff\xff")
        if element in FIXED_FORMATS and element != "uuid":
            count = self.variable("count")
            self.line(f"{count} = len({items})")
            self.run_items.append(("B" if self.flexible else "i", FIXED_FORMATS[element]))
            self.run_values += [f"{count} + 1" if self.flexible else count, f"*{items}"]
            self.run_counts.append(count)
            if nullable:
                self.flush()
        else:
            self.write_array_by_element(element, items)
        if nullable:
            self.indent -= 1

    def write_array_by_element(self, element: str, items: str) -> None:
        if self.flexible:
            self.flush()
            self.line(f"{self.append}(VARINTS[len({items}) + 1])")
        else:
            self.add_fixed("i", f"len({items})")
            self.flush()
        item = self.variable("item")
        self.line(f"for {item} in {items}:")
        self.indent += 1
        if element == "uuid":
            self.line(f"{self.append}({item}.bytes)")
        elif element in {"string", "bytes", "records"}:
            self.write_sized(element, item, False, self.flexible)
        else:
            lines_before = len(self.lines)
            self.write_struct(getattr(self.cls, element), item)
            if len(self.lines) == lines_before:
                self.line("pass")
        self.indent -= 1

    def write_unknown_tags(self, variable: str) -> None:
        """End a struct that has no tagged fields of its own: nearly always a zero, packed with the run."""
        run = (list(self.run_items), list(self.run_values), list(self.run_counts))
        self.line(f"if {variable}.unknown_tagged_fields:")
        self.indent += 1
        self.flush()
        self.line(f"{self.append}(tag_section({{}}, {variable}.unknown_tagged_fields))")
        self.indent -= 1
        self.line("else:")
        self.indent += 1
        self.run_items, self.run_values, self.run_counts = run
        self.add_fixed("x", None)
        self.flush()
        self.indent -= 1

    def write_tags(self, variable: str, tagged: list[SchemaField]) -> None:
        self.flush()
        unknown = f"{variable}.unknown_tagged_fields"
        known = self.variable("known")
        self.line(f"{known} = {{}}")
        outer_append = self.append
        for field in tagged:
            value = f"{variable}.{field.name}"
            self.line(f"if {self.is_set(field, value)}:")
            self.indent += 1
            parts = self.variable("parts")
            self.append = self.variable("append")
            self.line(f"{parts} = []")
            self.line(f"{self.append} = {parts}.append")
            self.write_value(field.wire, value, tagged=True)
            self.flush()
            self.line(f"{known}[{field.wire.tag}] = b''.join({parts})")
            self.indent -= 1
        self.append = outer_append
        self.line(f"{self.append}(tag_section({known}, {unknown}) if {known} or {unknown} else b'\\0')")

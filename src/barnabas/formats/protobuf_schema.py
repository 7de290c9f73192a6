"""Schemas of Protocol Buffers as registries keep them: .proto texts, and descriptors in base64.

    files = compile_text(text, {"common.proto": common_text})      # a serialized FileDescriptorSet
    parse_any(text_or_base64).canonical_text

Owns which files a text is compiled with, and in which order. google.protobuf (extra: protobuf) is needed for
descriptors only. Must know nothing of registries.
"""

# google.protobuf has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingModuleSource=false

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

from barnabas.errors import MissingExtraError
from barnabas.formats.errors import SchemaError
from barnabas.formats.proto.elements import FileElement
from barnabas.formats.proto.known import known_descriptor, known_text
from barnabas.formats.proto.names import Names
from barnabas.formats.proto.normal_form import Normalizer
from barnabas.formats.proto.parser import parse
from barnabas.formats.proto.printer import printed

DEFAULT_NAME = "default"
"""What a file is called that has no name, as in Confluent's registry."""
MOST_FILES = 1000
LONGEST_IMPORT_CHAIN = 100


class ProtobufSchema:
    """A schema with the files that it imports, each by the name that it imports it by.

    A schema is a .proto text, or a FileDescriptorProto in base64. What Confluent's registry has built in
    (google/protobuf, google/type, confluent) needs no reference. An import that is neither is ignored as
    long as nothing of it is used.
    """

    def __init__(self, text: str, references: Mapping[str, str] | None = None) -> None:
        """Raises: SchemaError, MissingExtraError (for a descriptor)."""
        self.name = DEFAULT_NAME
        self._references = dict(references or {})
        while self.name in self._references:
            self.name += "_"
        self._files: dict[str, FileElement | None] = {}
        """What was read, None for what nobody gave."""
        self.file = _read(text)
        self._files[self.name] = self.file

    def imported(self, name: str) -> FileElement | None:
        """A file by its name; None if nobody gave it. Raises: SchemaError."""
        if name not in self._files:
            if len(self._files) >= MOST_FILES:
                raise SchemaError(f"the Protobuf schema imports more than {MOST_FILES} files")
            self._files[name] = self._read_import(name)
        return self._files[name]

    def _read_import(self, name: str) -> FileElement | None:
        text = self._references.get(name)
        if text is None:
            return _known(name)
        try:
            return _read(text)
        except SchemaError as error:
            raise SchemaError(f"{name!r:.200}, which is imported: {error}") from None

    @cached_property
    def files(self) -> dict[str, FileElement]:
        """By name, all that the schema imports, each behind those that it imports itself; the schema last.

        Raises: SchemaError.
        """
        found: dict[str, FileElement] = {}
        self._visit(self.name, [], found)
        return found

    def _visit(self, name: str, way: list[str], found: dict[str, FileElement]) -> None:
        if name in way:
            circle = " imports ".join(f"{each!r:.100}" for each in [*way[way.index(name) :], name])
            raise SchemaError(f"the Protobuf schema imports itself: {circle}")
        if len(way) > LONGEST_IMPORT_CHAIN:
            raise SchemaError(f"the Protobuf schema imports through more than {LONGEST_IMPORT_CHAIN} files")
        if name in found:
            return
        file = self.imported(name)
        if file is None:
            return
        way.append(name)
        for each in (*file.imports, *file.public_imports, *file.weak_imports):
            self._visit(each, way, found)
        way.pop()
        found[name] = file

    @cached_property
    def names(self) -> Names:
        """Raises: SchemaError."""
        names = Names()
        for name, file in self.files.items():
            names.add(file, name)
        return names

    @cached_property
    def missing_imports(self) -> list[str]:
        """Of all files."""
        return [
            name
            for file in self.files.values()
            for name in (*file.imports, *file.public_imports, *file.weak_imports)
            if name not in self.files
        ]

    @property
    def canonical_text(self) -> str:
        """As Confluent's registry keeps it."""
        return printed(self.file)

    @property
    def text_without_extensions(self) -> str:
        """Without extensions and options that are ones, but for Confluent's own: what its registry calls
        the format `ignore_extensions`."""
        return printed(self.file, custom_options=False)

    @property
    def normalized_text(self) -> str:
        """Raises: SchemaError, where the schema uses what is not defined."""
        return printed(self.file, normalizer=Normalizer(self.names))

    @cached_property
    def descriptor_set(self) -> bytes:
        """A serialized FileDescriptorSet, of the files in their order.

        Raises: SchemaError, MissingExtraError.
        """
        try:
            from barnabas.formats.proto.compiler import compiled
        except ImportError:
            raise MissingExtraError("a descriptor of Protocol Buffers", "protobuf") from None
        return compiled(self.files, self.names, self.missing_imports)

    @property
    def descriptor(self) -> bytes:
        """The schema's own serialized FileDescriptorProto: in base64, Confluent's format `serialized`.

        Raises: SchemaError, MissingExtraError.
        """
        whole = self.descriptor_set
        from google.protobuf import descriptor_pb2

        files = descriptor_pb2.FileDescriptorSet.FromString(whole)
        return files.file[-1].SerializeToString(deterministic=True)


def parse_any(text: str, references: Mapping[str, str] | None = None) -> ProtobufSchema:
    """Raises: SchemaError, MissingExtraError."""
    return ProtobufSchema(text, references)


def compile_text(text: str, references: Mapping[str, str] | None = None) -> bytes:
    """A serialized FileDescriptorSet: dependencies first, the file last.

    Raises: SchemaError, MissingExtraError.
    """
    return ProtobufSchema(text, references).descriptor_set


def text_of(file_descriptor: bytes) -> str:
    """Confluent's canonical text of a serialized FileDescriptorProto.

    Raises: SchemaError, MissingExtraError.
    """
    return printed(_of_descriptor(file_descriptor))


def _read(text: str) -> FileElement:
    try:
        return parse(text)
    except SchemaError:
        data = _decoded(text)
        if data is None:
            raise
        try:
            return _of_descriptor(data)
        except SchemaError:
            pass
        raise


def _decoded(text: str) -> bytes | None:
    """Of base64; None if it is none."""
    try:
        return base64.b64decode("".join(text.split()), validate=True) or None
    except (binascii.Error, ValueError):
        return None


def _of_descriptor(data: bytes) -> FileElement:
    try:
        from google.protobuf import descriptor_pb2
        from google.protobuf.message import DecodeError

        from barnabas.formats.proto.compiler import option_pool
        from barnabas.formats.proto.from_descriptor import from_descriptor
    except ImportError:
        raise MissingExtraError("a descriptor of Protocol Buffers", "protobuf") from None
    try:
        file: Any = descriptor_pb2.FileDescriptorProto.FromString(data)
        return from_descriptor(file, option_pool())
    except (DecodeError, ValueError, LookupError, TypeError) as error:
        raise SchemaError(f"this is no FileDescriptorProto: {error}") from None


@cache
def _known(name: str) -> FileElement | None:
    text = known_text(name)
    if text is not None:
        return parse(text)
    data = known_descriptor(name)
    return None if data is None else _of_descriptor(data)

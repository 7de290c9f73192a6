"""Files to a FileDescriptorSet that google.protobuf takes."""

# google.protobuf has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingModuleSource=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool

from barnabas.formats.errors import SchemaError
from barnabas.formats.proto.elements import FileElement
from barnabas.formats.proto.from_descriptor import from_descriptor
from barnabas.formats.proto.known import known_descriptor, known_text
from barnabas.formats.proto.names import Names
from barnabas.formats.proto.options import set_options
from barnabas.formats.proto.parser import parse
from barnabas.formats.proto.to_descriptor import PendingOptions, to_descriptor

DESCRIPTOR = "google/protobuf/descriptor.proto"
META = "confluent/meta.proto"
OF_OPTIONS = "google.protobuf"


def compiled(files: Mapping[str, FileElement], names: Names, missing: Sequence[str]) -> bytes:
    """A serialized FileDescriptorSet. `files`: each behind those that it imports. Raises: SchemaError."""
    made: dict[str, Any] = {}
    pending: dict[str, list[PendingOptions]] = {}
    for name, file in files.items():
        data = known_descriptor(name) if not file.text else None
        if data is not None:
            made[name], pending[name] = descriptor_pb2.FileDescriptorProto.FromString(data), []
        else:
            visible = _visible(name, files)
            made[name], pending[name] = to_descriptor(file, name, names, visible, missing)
    # What a file means to a pool depends on the options that are no extensions: features are among them.
    for name, file in files.items():
        plain = _part(pending[name], is_custom=False)
        set_options(plain, option_pool(), names, file.text, lacks_imports=False)
    pool = _pool(made)
    for name, file in files.items():
        custom = _part(pending[name], is_custom=True)
        set_options(custom, pool, names, file.text, lacks_imports=bool(missing))
    whole = descriptor_pb2.FileDescriptorSet(file=made.values())
    return whole.SerializeToString(deterministic=True)


def _part(pending: Sequence[PendingOptions], *, is_custom: bool) -> list[PendingOptions]:
    return [
        PendingOptions(
            owner,
            [each for each in options if any(part.is_extension for part in each.path) is is_custom],
            scope,
        )
        for owner, options, scope in pending
    ]


@cache
def option_pool() -> DescriptorPool:
    """For options of a descriptor that comes without its dependencies: it knows Confluent's."""
    names = Names()
    pool = DescriptorPool()
    of_options = known_descriptor(DESCRIPTOR) or b""
    pool.AddSerializedFile(of_options)
    names.add(from_descriptor(descriptor_pb2.FileDescriptorProto.FromString(of_options), pool), DESCRIPTOR)
    meta = parse(known_text(META) or "")
    names.add(meta, META)
    made, _ = to_descriptor(meta, META, names, frozenset((DESCRIPTOR, META)), ())
    pool.AddSerializedFile(made.SerializeToString())
    return pool


def _visible(name: str, files: Mapping[str, FileElement]) -> frozenset[str]:
    """The files whose names a file may use: its own, those that it imports, and what these pass on."""
    file = files[name]
    found = {name}
    ahead = [*file.imports, *file.public_imports, *file.weak_imports]
    while ahead:
        each = ahead.pop()
        if each not in found and each in files:
            found.add(each)
            ahead += files[each].public_imports
    return frozenset(found)


def _declares_options(file: Any) -> bool:
    return any(message.name == "FileOptions" for message in file.message_type)


def _pool(files: Mapping[str, Any]) -> DescriptorPool:
    """Raises: SchemaError."""
    pool = DescriptorPool()
    # A schema may be a copy of it.
    if not any(file.package == OF_OPTIONS and _declares_options(file) for file in files.values()):
        pool.AddSerializedFile(known_descriptor(DESCRIPTOR) or b"")
    for file in files.values():
        try:
            pool.AddSerializedFile(file.SerializeToString())
        except TypeError as error:
            reason = str(error).removeprefix("Couldn't build proto file into descriptor pool: ")
            raise SchemaError(f"the Protobuf schema is broken: {reason}") from None
    return pool

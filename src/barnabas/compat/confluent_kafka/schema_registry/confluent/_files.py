# pyright: basic
"""Confluent's own files of Protobuf, in the process's pool: of the texts that every registry has built in."""

from __future__ import annotations

from typing import Any

from barnabas.errors import MissingExtraError
from barnabas.formats.proto.known import FILES

_GO_PACKAGES = {"confluent/meta.proto": "../confluent"}


def known_file(name: str) -> Any:
    """The descriptor of a file. Raises: MissingExtraError."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool
    except ImportError:
        raise MissingExtraError("Protocol Buffers", "protobuf") from None
    from barnabas.formats.protobuf_schema import compile_text

    pool = descriptor_pool.Default()
    try:
        return pool.FindFileByName(name)
    except KeyError:
        compiled = compile_text((FILES / name).read_text())
        file = descriptor_pb2.FileDescriptorSet.FromString(compiled).file[-1]
        file.name = name
        # As the original's, which other code may bring into the same pool.
        file.ClearField("options")
        if name in _GO_PACKAGES:
            file.options.go_package = _GO_PACKAGES[name]
        pool.AddSerializedFile(file.SerializeToString())
        return pool.FindFileByName(name)


def message_of(file: Any, name: str) -> Any:
    """The class of a message of a file."""
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(file.message_types_by_name[name])

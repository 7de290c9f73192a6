"""Files that every .proto text may import, as Confluent's registry has them built in.

google.protobuf has its own; those of google/type and of Confluent are beside this module.
"""

# google.protobuf has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

FILES = Path(__file__).parent / "known_files"
OF_PROTOBUF = (
    "any", "api", "descriptor", "duration", "empty", "field_mask", "source_context", "struct", "timestamp",
    "type", "wrappers",
)  # fmt: skip
PREFIXES = ("google/protobuf/", "google/type/", "confluent/")
"""What begins so is no reference to a subject, whether it is built in or not."""


@cache
def known_names() -> frozenset[str]:
    """Without descriptor.proto there would be no options; all have its name."""
    beside = (path.relative_to(FILES).as_posix() for path in FILES.rglob("*.proto"))
    return frozenset([*(f"google/protobuf/{name}.proto" for name in OF_PROTOBUF), *beside])


@cache
def known_text(name: str) -> str | None:
    """The text of a file beside this module."""
    path = FILES / name
    return path.read_text() if name in known_names() and not name.startswith("google/protobuf/") else None


@cache
def known_descriptor(name: str) -> bytes | None:
    """The serialized FileDescriptorProto of a file that google.protobuf has."""
    if name not in known_names() or not name.startswith("google/protobuf/"):
        return None
    module = import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    found: bytes = module.DESCRIPTOR.serialized_pb
    return found

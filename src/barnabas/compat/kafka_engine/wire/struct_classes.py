"""Makes the classes of structs of fixed versions out of the core's messages and the table of their names.

Each is made when a program asks for it by its name.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Any

from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.generations.struct_messages import STRUCT_MESSAGES, StructMessage
from barnabas.compat.kafka_engine.wire import types
from barnabas.compat.kafka_engine.wire.structs import Request, Response
from barnabas.protocol.registry import REQUESTS
from barnabas.protocol.schema import Message, WireField, fields_of, versions_of

__all__ = ["names_in", "struct_class"]

_TYPES = {
    "bool": types.Boolean,
    "int8": types.Int8,
    "int16": types.Int16,
    "int32": types.Int32,
    "int64": types.Int64,
    "float64": types.Float64,
}
_API_VERSIONS = 18
_NEWEST_TABLE = "2"


@cache
def _tables(of_generation: str) -> dict[str, dict[str, StructMessage]]:
    """By the name of the module, and the name in the classes: with what an older generation does not have."""
    found: dict[str, dict[str, StructMessage]] = {}
    for table in (STRUCT_MESSAGES[_NEWEST_TABLE], STRUCT_MESSAGES["1.2"], STRUCT_MESSAGES[of_generation]):
        for message in table:
            found.setdefault(message.module, {})[message.name] = message
    return found


@cache
def names_in(module: str) -> dict[str, tuple[StructMessage, str, int | None]]:
    """What a module of kafka.protocol has, by name: of which message, Request or Response, in which version;
    None for the list of all of this generation's."""
    found: dict[str, tuple[StructMessage, str, int | None]] = {}
    newest = {each.name: each for each in STRUCT_MESSAGES[_NEWEST_TABLE]}
    for name, message in _tables(generation().structs_of_messages).get(module, {}).items():
        for kind in ("Request", "Response"):
            found[f"{name}{kind}"] = (message, kind, None)
            for version in range(message.highest + 1):
                found[f"{name}{kind}_v{version}"] = (message, kind, version)
            later = newest.get(name, message)
            for version in range(message.highest + 1, later.highest + 1):
                found[f"{name}{kind}_v{version}"] = (later, kind, version)
    return found


def struct_class(module: str, name: str) -> Any:
    """A class, or the list of an API's classes by their versions. Raises: KeyError."""
    message, kind, version = names_in(module)[name]
    if version is not None:
        return _struct_class(message, kind, version)
    return [_struct_class(message, kind, each) for each in range(message.highest + 1)]


_made: dict[tuple[int, str, int], Any] = {}


def _struct_class(message: StructMessage, kind: str, version: int) -> Any:
    made = _made.get((id(message), kind, version))
    if made is None:
        make = _request_class if kind == "Request" else _response_class
        made = _made[id(message), kind, version] = make(message, version)
    return made


def _request_class(message: StructMessage, version: int) -> Any:
    core = REQUESTS[message.api_key]
    attributes = _attributes(message, core, "Request", version)
    attributes["RESPONSE_TYPE"] = _struct_class(message, "Response", version)
    for name, (versions, value) in message.constants.items():
        lowest, highest = versions_of(versions)
        if lowest <= version <= highest:
            attributes[name] = value
    if message.api_key == 0:
        attributes["expect_response"] = _expects_answer
    if message.name == "Metadata" and version == 0 and "NO_TOPICS" in attributes:
        attributes["ALL_TOPICS"] = []
    return type(f"{message.name}Request_v{version}", (Request,), attributes)


def _response_class(message: StructMessage, version: int) -> Any:
    core = REQUESTS[message.api_key].RESPONSE
    attributes = _attributes(message, core, "Response", version)
    if message.api_key == _API_VERSIONS:
        # KIP-511: the header is one of old, and what says that something is wrong is in version 0.
        attributes["FLEXIBLE_VERSION"] = False
        if version > 0:
            attributes["decode"] = classmethod(_decode_api_versions(_struct_class(message, "Response", 0)))
    return type(f"{message.name}Response_v{version}", (Response,), attributes)


def _expects_answer(self: Any) -> bool:
    return self.required_acks != 0


def _decode_api_versions(oldest: Any) -> Any:
    read: Any = Response.decode.__func__  # pyright: ignore[reportFunctionMemberAccess]

    def decode(cls: Any, data: Any) -> Any:
        data = BytesIO(data) if isinstance(data, bytes) else data
        start = data.tell()
        code = types.Int16.decode(data)
        data.seek(start)
        return oldest.decode(data) if code else read(cls, data)

    return decode


def _attributes(message: StructMessage, core: type[Message], kind: str, version: int) -> dict[str, Any]:
    names = message.request if kind == "Request" else message.response
    maker = _SchemaMaker(message, core, version, _renamed(names, version))
    return {
        "__module__": f"barnabas.compat.kafka.protocol.{message.module}",
        "API_KEY": message.api_key,
        "API_VERSION": version,
        "FLEXIBLE_VERSION": version >= core.FLEXIBLE_VERSIONS,
        "SCHEMA": types.Schema(*maker.fields(core, "")),
    }


def _renamed(names: str, version: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in names.split():
        path, _, rest = entry.partition("=")
        name, _, versions = rest.partition(":")
        lowest, highest = versions_of(versions or "0+")
        if lowest <= version <= highest:
            found[path] = name
    return found


@dataclass(frozen=True)
class _SchemaMaker:
    message: StructMessage
    core: type[Message]
    version: int
    names: Mapping[str, str]

    @property
    def is_flexible(self) -> bool:
        return self.version >= self.core.FLEXIBLE_VERSIONS

    def fields(self, cls: type[Any], path: str) -> list[tuple[str, Any]]:
        """(name, type) of what a message or a part of it has in this version."""
        made: list[tuple[str, Any]] = []
        for each in fields_of(cls):
            if each.wire.present(self.version) and not each.wire.tagged(self.version):
                below = f"{path}{each.name}"
                made.append((self.names.get(below, each.name), self._type(each.wire, below)))
        name, count = self.message.gathered.get(path.rstrip("."), ("", 0))
        if count:
            made[-count:] = [(name, types.Schema(*made[-count:]))]
        if self.is_flexible:
            made.append((self.message.tags_name, types.TaggedFields))
        return made

    def _type(self, field: WireField, path: str) -> Any:
        compact = self.is_flexible and field.flexible
        if not field.is_array:
            return self._element(field, path, compact)
        array = types.CompactArray if compact else types.Array
        part = getattr(self.core, field.element_type, None)
        if part is None:
            return array(self._element(field, path, compact))
        fields = self.fields(part, f"{path}.")
        if len(fields) == 1:
            return array(fields[0][1])
        return array(*fields)

    def _element(self, field: WireField, path: str, compact: bool) -> Any:
        if path in self.message.messages:
            return importlib.import_module("barnabas.compat.kafka.protocol.message").MessageSet
        if path in self.message.bits:
            return types.BitField
        part = getattr(self.core, field.element_type, None)
        if part is not None:
            return types.Schema(*self.fields(part, f"{path}."))
        if field.element_type == "string":
            return types.CompactString("utf-8") if compact else types.String("utf-8")
        if field.element_type in ("bytes", "records"):
            return types.CompactBytes if compact else types.Bytes
        return _TYPES[field.element_type]

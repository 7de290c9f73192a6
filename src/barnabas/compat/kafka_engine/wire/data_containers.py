"""Parts of messages as kafka-python 3 has them: values by Kafka's names, which know their version.

Owns how values become the core's and back. What a whole message can do besides is in `api_messages`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from copy import copy
from functools import cache
from typing import Any, ClassVar

from barnabas.protocol.schema import ZERO_UUID, SchemaField, fields_of
from barnabas.protocol.secrets import shown_field, shown_unknown_field

__all__ = ["DataContainer", "FieldOfContainer", "bits_of"]

_BITS = {
    ("MetadataResponse", "cluster_authorized_operations"): "authorized_operations",
    ("MetadataResponseTopic", "topic_authorized_operations"): "authorized_operations",
    ("DescribeClusterResponse", "cluster_authorized_operations"): "authorized_operations",
    ("DescribedGroup", "authorized_operations"): "authorized_operations",
}
"""Numbers that are sets of their bits, by class and Kafka's name: the name that they go by."""
_DEFAULTS: dict[tuple[str, str], Any] = {
    ("PartitionProduceData", "records"): b"",
    ("PartitionData", "records"): b"",
    ("ListOffsetsRequest", "replica_id"): -1,
    ("CreatableTopic", "assignments"): [],
    ("CreatePartitionsTopic", "assignments"): None,
}
"""Where they are others than Kafka's."""
_NO_BITS = -(2**31)
"""Kafka's "nobody asked for authorized operations"."""


def bits_of(value: int) -> set[int] | None:
    """The numbers of the bits that are set; None where brokers were not asked for them."""
    if value == _NO_BITS:
        return None
    return {bit for bit in range(32) if value >> bit & 1}


class FieldOfContainer:
    """One field: its name, when it is there, and what it is where nobody gave it. `part`: the class of a
    part, or of each part in a list."""

    def __init__(self, owner: type[Any], field: SchemaField, part: type[DataContainer] | None) -> None:
        self.core_name = field.name
        self.wire = field.wire
        self.is_bits = (owner.__name__, field.name) in _BITS
        self.name = _BITS.get((owner.__name__, field.name), field.name)
        self.part = part
        self._default: Any = self._default_of(owner, field)

    def _default_of(self, owner: type[Any], field: SchemaField) -> Any:
        if (owner.__name__, field.name) in _DEFAULTS:
            return _DEFAULTS[owner.__name__, field.name]
        if self.is_bits or field.wire.type == "uuid" or (self.part is not None and not field.wire.is_array):
            return None
        return field.default if field.default_factory is None else field.default_factory()

    @property
    def default(self) -> Any:
        """A list is a new one each time."""
        return copy(self._default)

    def is_in(self, version: int | None) -> bool:
        return version is None or self.wire.present(version)

    def to_core(self, value: Any, version: int) -> Any:
        if self.is_bits:
            return _NO_BITS if value is None else _as_signed(sum(1 << bit for bit in value))
        if self.wire.type == "uuid":
            return ZERO_UUID if value is None else uuid.UUID(str(value))
        if self.part is None:
            return list(value) if self.wire.is_array and value is not None else value
        if not self.wire.is_array:
            return value if value is None else _part(self.part, value, version).to_core(version)
        return (
            value if value is None else [_part(self.part, each, version).to_core(version) for each in value]
        )

    def of_core(self, value: Any, version: int | None) -> Any:
        if self.is_bits:
            return bits_of(value)
        if self.wire.type == "uuid":
            return None if value == ZERO_UUID else value
        if self.wire.type in ("bytes", "records") and value is not None:
            return bytes(value)
        if self.part is None or value is None:
            return value
        if self.wire.is_array:
            return [self.part.of_core(each, version) for each in value]
        is_unset = self.wire.tag >= 0 and value == type(value)()
        return None if is_unset else self.part.of_core(value, version)

    def to_json(self, value: Any) -> Any:
        if value is None:
            return None
        if self.wire.type == "uuid":
            return str(value)
        if self.wire.type in ("bytes", "records"):
            if hasattr(value, "to_dict"):
                return value.to_dict()
            data = value.encode() if isinstance(value, str) else bytes(value)
            return data.decode(errors="backslashreplace")
        return list(value) if self.is_bits else value


def _as_signed(bits: int) -> int:
    return bits - 2**32 if bits >= 2**31 else bits


def _part(cls: type[DataContainer], value: Any, version: int) -> Any:
    if isinstance(value, DataContainer):
        return value
    if isinstance(value, (list, tuple)):
        return cls(*value, version=version)
    return cls(value, version=version)


class DataContainer:
    """Values by their names, or in order: of all fields, or of those of `version`. A value that is not there
    is the default."""

    _core: ClassVar[Any] = None
    _top: ClassVar[Any] = None
    _max_version_of_fields: ClassVar[int] = 32767
    _version: Any

    def __init__(self, *args: Any, version: int | None = None, **field_vals: Any) -> None:
        lowest, highest = 0, self._max_version_of_fields
        if version is not None and not lowest <= version <= highest:
            raise ValueError(f"Invalid version: {version} (min={lowest}, max={highest})")
        self._version = version
        self.tags: set[str] | None = None
        self.unknown_tags: dict[str, Any] | None = None
        fields = _fields(type(self))
        if args:
            in_order = [each for each in fields.values() if version is None or self._is_plain(each, version)]
            if len(args) > len(in_order):
                raise RuntimeError(
                    f"Unable to init DataContainer with {len(args)} positional args: unexpected "
                    f"{len(in_order)}"
                )
            field_vals |= {field.name: value for field, value in zip(in_order, args, strict=False)}
        for name, field in fields.items():
            if name in field_vals:
                if field.wire.tag >= 0:
                    self.tags = (self.tags or set()) | {name}
                setattr(self, name, field_vals.pop(name))
            elif version is not None and field.is_in(version):
                setattr(self, name, field.default)
        unknown = {name: value for name, value in field_vals.items() if name.startswith("_")}
        self.unknown_tags = unknown or None
        wrong = {name: value for name, value in field_vals.items() if name not in unknown}
        if wrong:
            container = re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()
            shown = ", ".join(
                f"{name!r}: {shown_unknown_field(name, value)}" for name, value in wrong.items()
            )
            raise ValueError(f"Unrecognized fields for type {container}: {{{shown}}}")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls._core is not None:
            for field in _fields(cls).values():
                if field.part is not None:
                    setattr(cls, field.part.__name__, field.part)

    @staticmethod
    def _is_plain(field: FieldOfContainer, version: int) -> bool:
        return field.is_in(version) and not field.wire.tagged(version)

    def __getattr__(self, name: str) -> Any:
        field = _fields(type(self)).get(name)
        if field is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return field.default

    @property
    def version(self) -> int | None:
        return self._version

    def to_core(self, version: int) -> Any:
        """The core's, for that version: what it does not have is left out."""
        core = self._core()
        for name, field in _fields(type(self)).items():
            if field.is_in(version):
                value = field.to_core(getattr(self, name), version)
                is_unset = value is None and field.wire.tag >= 0 and field.part is not None
                if not is_unset:
                    setattr(core, field.core_name, value)
        return core

    @classmethod
    def of_core(cls, core: Any, version: int | None) -> Any:
        """Out of what the core has read."""
        made = cls.__new__(cls)
        DataContainer.__init__(made)
        made._version = version
        for name, field in _fields(cls).items():
            if field.is_in(version):
                setattr(made, name, field.of_core(getattr(core, field.core_name), version))
        return made

    def __repr__(self) -> str:
        shown = [] if self._version is None else [f"version={self._version}"]
        values = {name: getattr(self, name) for name in self._names()}
        shown += [f"{name}={shown_field(name, values)}" for name in values]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _names(self) -> list[str]:
        return [name for name, field in _fields(type(self)).items() if field.is_in(self._version)]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple):
            values = [getattr(self, name) for name in _fields(type(self))]
            # The last one may be tagged fields, as the structs of earlier generations have them.
            given = list(other[:-1]) if len(other) == len(values) + 1 and other[-1] == {} else list(other)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            return values == given
        if type(other) is not type(self):
            return False
        return all(getattr(self, name) == getattr(other, name) for name in _fields(type(self)))

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def _values(self, what: str) -> list[Any]:
        version = self._version
        if version is None:
            raise RuntimeError(f"DataContainer {what} not supported without _version")
        fields = _fields(type(self)).items()
        return [getattr(self, name) for name, field in fields if self._is_plain(field, version)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values("Iteration"))

    def __getitem__(self, key: Any) -> Any:
        values = self._values("subscript")
        if not isinstance(key, (int, slice)):
            raise TypeError(f"DataContainer subscript supports int or slices only: {type(key).__name__}")
        return values[key]

    def to_dict(self, meta: Any = False, json: bool = True) -> dict[str, Any]:
        """The values by their names, and those of parts likewise. `meta`: with name and version, "all" for
        those of parts too; `json`: in values that JSON knows."""
        about = {"_type": type(self).__name__, "_version": self._version} if meta else {}
        below = meta if meta == "all" else False
        plain: dict[str, Any] = {}
        for name in self._names():
            field, value = _fields(type(self))[name], getattr(self, name)
            if field.part is None or value is None:
                plain[name] = field.to_json(value) if json else value
            elif field.wire.is_array:
                plain[name] = [each.to_dict(meta=below, json=json) for each in value]
            else:
                plain[name] = value.to_dict(meta=below, json=json)
        return about | plain


@cache
def _fields(cls: type[DataContainer]) -> dict[str, FieldOfContainer]:
    """By their names, in Kafka's order."""
    if cls._core is None:  # pyright: ignore[reportPrivateUsage]
        return {}
    made: dict[str, FieldOfContainer] = {}
    core: Any = cls._core  # pyright: ignore[reportPrivateUsage]
    top: Any = cls._top  # pyright: ignore[reportPrivateUsage]
    for each in fields_of(core):
        part = getattr(top, each.wire.element_type, None)
        field = FieldOfContainer(core, each, None if part is None else _part_class(top, part, cls.__module__))
        made[field.name] = field
    return made


@cache
def _part_class(top: type[Any], part: type[Any], module: str) -> type[DataContainer]:
    return type(part.__name__, (DataContainer,), {"__module__": module, "_core": part, "_top": top})

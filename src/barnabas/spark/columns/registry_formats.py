"""Formats whose schemas a registry keeps: made on the driver, which asks for the column's schema; and in each
process of tasks one for all tasks, with what it has learnt of writers' schemas.

What travels to tasks has the registry's settings in it, passwords included, and shows none of them.
"""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import pickle
import threading
import uuid
from collections import OrderedDict
from dataclasses import field, fields

import pyarrow as pa

from barnabas.formats import SchemaError
from barnabas.registry import RegistryError, Schema
from barnabas.registry.columns import RegistryFormat
from barnabas.registry.config import RegistryConfig
from barnabas.spark.columns.format_options import FormatOptions
from barnabas.spark.errors import InvalidOptionError
from barnabas.sync.registry import Registry
from barnabas.values import frozen

MOST_FORMATS = 16
"""Those that a process keeps; a query has one or two."""

_lock = threading.Lock()
_formats: OrderedDict[str, RegistryFormat] = OrderedDict()


@frozen
class SharedFormat:
    """Can be pickled. `name` is that of the format in messages."""

    name: str
    token: str
    _pickled: bytes = field(repr=False)

    def here(self) -> RegistryFormat:
        """This process's one."""
        with _lock:
            found = _formats.get(self.token)
            if found is None:
                found = _formats[self.token] = pickle.loads(self._pickled)
            _formats.move_to_end(self.token)
            while len(_formats) > MOST_FORMATS:
                _formats.popitem(last=False)
            return found


def shared(format: RegistryFormat, name: str) -> SharedFormat:
    """For tasks. The column's schema has been asked for."""
    return SharedFormat(name, uuid.uuid4().hex, pickle.dumps(format))


def registry_format(options: FormatOptions) -> RegistryFormat:
    """By the options of one side that has a registry. Nothing is asked yet."""
    registry = options.registry
    assert registry is not None
    kind = options.format.upper()
    schema = None if options.schema is None else Schema(str(options.schema), kind)
    return RegistryFormat(
        _client(registry.config),
        registry.subject or None,
        version=registry.version,
        id=registry.id,
        schema=schema,
        type=kind,
        message=options.message,
        registers=registry.registers,
        normalize=registry.normalize,
        ignores_rules=registry.ignores_rules,
    )


def type_of(format: RegistryFormat, side: str) -> pa.DataType:
    """That of the column, by the registry. Raises: InvalidOptionError, MissingExtraError."""
    try:
        return format.run(format.data_type())
    except (RegistryError, SchemaError) as error:
        raise InvalidOptionError(f"the {side}'s schema cannot be had: {error}") from None


def _client(config: RegistryConfig) -> Registry:
    settings = {each.name: getattr(config, each.name) for each in fields(config) if each.name != "url"}
    return Registry(config.url, **settings)

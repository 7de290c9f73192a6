"""A library's mock client, whose calls are recorded."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.compat.differential.stage import Stage

# A mock chooses them.
GUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
RECORDED = (
    "register_schema",
    "register_schema_full_response",
    "lookup_schema",
    "get_schema",
    "get_schema_by_guid",
    "get_latest_version",
    "get_latest_with_metadata",
    "get_version",
    "get_associations_by_resource_name",
)


def recording_client(registry: ModuleType, stage: Stage, *, is_async: bool = False) -> Any:
    """`client.record(label)` records the calls since that was called last, all arguments by name: those that
    were not made before, since a client knows what it answered."""
    kind = registry.AsyncSchemaRegistryClient if is_async else registry.SchemaRegistryClient
    client = kind.new_client({"url": "mock://"})
    calls: list[Any] = []
    seen: set[str] = set()
    for name in RECORDED:
        setattr(client, name, _recorded(getattr(client, name), calls))

    def record(label: str) -> None:
        for call in calls:
            if repr(call) not in seen:
                stage.record(f"{label} called", call)
            seen.add(repr(call))
        calls.clear()

    client.record = record
    return client


def _recorded(call: Callable[..., Any], calls: list[Any]) -> Callable[..., Any]:
    signature = inspect.signature(call)

    def recorded(*arguments: Any, **keywords: Any) -> Any:
        bound = signature.bind(*arguments, **keywords)
        bound.apply_defaults()
        told = {name: GUID.sub("<guid>", repr(value)) for name, value in bound.arguments.items()}
        calls.append([call.__name__, told])
        return call(*arguments, **keywords)

    return recorded

"""By what a metric is known."""

from __future__ import annotations

import builtins
import copy
from typing import Any

from barnabas.compat.kafka_engine.generations import generation


class MetricName:
    """A name in a group, with tags; the description does not count when two are compared."""

    __slots__ = ("_description", "_group", "_hash", "_name", "_tags")

    def __init__(
        self, name: str, group: str, description: str | None = None, tags: dict[str, Any] | None = None
    ) -> None:
        refused: type[Exception] = getattr(builtins, generation().metric_name_refusal)
        if not name or not group:
            raise refused("name and group must be non-empty.")
        if not isinstance(tags, dict | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise refused("tags must be a dict if present.")
        self._name = name
        self._group = group
        self._description = description
        self._tags = copy.copy(tags)
        self._hash: int | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def group(self) -> str:
        return self._group

    @property
    def description(self) -> str | None:
        return self._description

    @property
    def tags(self) -> dict[str, Any] | None:
        """A copy."""
        return None if self._tags is None else dict(self._tags)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self._group, self._name, frozenset((self._tags or {}).items())))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetricName) or not isinstance(self, type(other)):
            return False
        mine, others = ((each.group, each.name, each.tags) for each in (self, other))
        return mine == others

    def __str__(self) -> str:
        parts = ("name", "group", "description", "tags")
        return f"MetricName({', '.join(f'{part}={getattr(self, part)}' for part in parts)})"

"""Settings of things that exist by their settings alone: groups' and client metrics subscriptions'.

Owns that a name without settings is not there, and that a change is kept or does not happen. Must not know
what the settings mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from barnabas.broker.metadata_part import Keep

_NONE: Mapping[str, str] = MappingProxyType({})


class NamedSettings:
    """`kept` is what is on disk once `keep` returns. `version` grows with every change."""

    def __init__(self, kept: dict[str, dict[str, str]], keep: Keep) -> None:
        self._kept = kept
        self._keep = keep
        self.version = 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def of(self, name: str) -> Mapping[str, str]:
        return self._kept.get(name, _NONE)

    def change(self, name: str, settings: Mapping[str, str]) -> None:
        """Puts checked settings in the place of all that the name had. Raises: KafkaStorageError."""
        before = self._kept.get(name)
        if settings == (before or {}):
            return
        self._put(name, settings)
        self._keep(f"keep the settings of {name}", lambda: self._put(name, before or {}))
        self.version += 1

    def _put(self, name: str, settings: Mapping[str, str]) -> None:
        if settings:
            self._kept[name] = dict(settings)
        else:
            self._kept.pop(name, None)

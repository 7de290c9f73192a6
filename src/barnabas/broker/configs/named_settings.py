"""Settings of things that exist by their settings alone: groups' and client metrics subscriptions'.

Owns that a name without settings is not there, and that a change is kept or does not happen. Must not know
what the settings mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from barnabas.broker.log.files import described
from barnabas.broker_errors import KafkaStorageError

_NONE: Mapping[str, str] = MappingProxyType({})


class NamedSettings:
    """`kept` is what is on disk once `save` returns, which raises OSError where it cannot. `version` grows
    with every change."""

    def __init__(self, kept: dict[str, dict[str, str]], save: Callable[[], None]) -> None:
        self._kept = kept
        self._save = save
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
        try:
            self._save()
        except OSError as error:
            self._put(name, before or {})
            raise KafkaStorageError(f"cannot keep the settings of {name}: {described(error)}") from error
        self.version += 1

    def _put(self, name: str, settings: Mapping[str, str]) -> None:
        if settings:
            self._kept[name] = dict(settings)
        else:
            self._kept.pop(name, None)

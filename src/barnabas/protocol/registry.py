"""Finds the class of a request by its API key, importing the module of that API only then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from barnabas.protocol.api_key import REQUEST_NAMES, ApiKey
from barnabas.protocol.schema import Request


class _Requests(Mapping[int, type[Request[Any]]]):
    def __init__(self) -> None:
        self._loaded: dict[int, type[Request[Any]]] = {}

    def __getitem__(self, api_key: int) -> type[Request[Any]]:
        found = self._loaded.get(api_key)
        if found is None:
            name = REQUEST_NAMES[api_key]
            module = import_module(f"barnabas.protocol.messages.{ApiKey(api_key).name.lower()}")
            found = self._loaded[api_key] = getattr(module, name)
        return found

    def __contains__(self, api_key: object) -> bool:
        return api_key in REQUEST_NAMES

    def __iter__(self) -> Iterator[int]:
        return iter(REQUEST_NAMES)

    def __len__(self) -> int:
        return len(REQUEST_NAMES)


REQUESTS: Mapping[int, type[Request[Any]]] = _Requests()
"""The class of each API's request. KeyError for a key that no supported Kafka release has."""

"""One file for each API, opening with its versions and behaviour. `HANDLERS` has them all by API key,
`offered_versions` what of them is offered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from barnabas.broker.handlers.api import Handler
from barnabas.broker.older_release import Release


def _all_handlers() -> Iterator[Handler[Any]]:
    """Those of all modules in the folders here that have a `HANDLER`, so that none is listed anywhere."""
    for folder in iter_modules(__path__, f"{__name__}."):
        if folder.ispkg:
            for found in iter_modules(import_module(folder.name).__path__, f"{folder.name}."):
                handler: Handler[Any] | None = getattr(import_module(found.name), "HANDLER", None)
                if handler is not None:
                    yield handler


HANDLERS: Mapping[int, Handler[Any]] = {handler.request_type.API_KEY: handler for handler in _all_handlers()}


def offered_versions(release: Release | None = None) -> dict[int, tuple[int, int]]:
    """By API key the lowest and highest version that the broker answers, which may pass for a release."""
    offered: dict[int, tuple[int, int]] = {}
    for api_key, handler in HANDLERS.items():
        lowest, highest = handler.lowest, handler.highest
        if release is not None:
            first, last = release.versions(api_key)
            lowest, highest = max(handler.oldest, first), min(highest, last)
        if lowest <= highest:
            offered[api_key] = (lowest, highest)
    return offered

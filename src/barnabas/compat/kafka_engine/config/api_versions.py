"""`api_version`: the version of the brokers as a program gives it, and as what they speak tells it.

The core speaks whatever the brokers speak. The version stays what a program reads in `config["api_version"]`,
and what says which calls a client refuses.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

from barnabas.compat.kafka_engine.generations.broker_versions import broker_versions

Version = tuple[int, ...]

_SPOKEN = Mapping[int, tuple[int, int]]
"""The lowest and highest version of each API key that a broker speaks."""


def version_of_text(text: str, log: logging.Logger) -> Version | None:
    """What a text meant in earlier generations: None for "auto". Warns of it in `log`."""
    version = None if text == "auto" else tuple(map(int, text.split(".")))
    log.warning('use api_version=%s [tuple] -- "%s" as str is deprecated', version, text)
    return version


def known_version(given: Any, log: logging.Logger) -> Version | None:
    """The nearest version before the one that a program gave; None where there is none. Warns in `log` where
    that is another one. Raises: TypeError for what is no tuple."""
    if not isinstance(given, tuple):
        raise TypeError("api_version must be tuple")
    version = cast("Version", given)
    known = broker_versions().known
    if version in known:
        return version
    if (*version, 0) in known:
        log.warning("Configured api_version %s is ambiguous; using %s", version, (*version, 0))
        return (*version, 0)
    nearest = max((each for each in known if each <= version), default=None)
    if nearest is not None:
        log.warning("Configured api_version %s not supported; using %s", version, nearest)
    return nearest


def version_spoken(spoken: _SPOKEN) -> Version:
    """The newest version that this generation knows brokers of which speak so."""
    versions = broker_versions()
    for version, (api_key, needed) in versions.signs.items():
        low, high = spoken.get(api_key, (0, -1))
        if low <= needed <= high:
            return version
    return versions.oldest

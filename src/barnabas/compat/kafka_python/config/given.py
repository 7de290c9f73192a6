"""A program's settings over the defaults of a class, with those refused that the class does not know."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from barnabas.compat.kafka_python.generations.settings import UNKNOWN_SETTING_ERRORS, column

_BUILTIN = {"AssertionError": AssertionError, "ValueError": ValueError}


def merged(
    client: str,
    defaults: Mapping[str, Any],
    given: Mapping[str, Any],
    configuration_error: type[Exception],
) -> dict[str, Any]:
    """The configuration of a `client`, the name of its class, which refuses what is not in `defaults`.

    Raises: AssertionError, ValueError or `configuration_error`, whichever the original raises.
    """
    unknown = {name: value for name, value in given.items() if name not in defaults}
    if unknown:
        kind = UNKNOWN_SETTING_ERRORS[client][column()]
        if kind in _BUILTIN:
            raise _BUILTIN[kind](f"Unrecognized configs: {unknown}")
        raise configuration_error(f"Unrecognized configs: {set(unknown)}")
    return copy.copy(dict(defaults)) | dict(given)


def known(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a class that ignores what it does not know."""
    return {name: given.get(name, default) for name, default in defaults.items()}

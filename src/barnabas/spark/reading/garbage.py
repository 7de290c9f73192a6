"""Planning without garbage collections: they looked through all partitions again and again while objects for
them were made, and took up to half of the time with 10,000 partitions. Counted references free what planning
leaves, and what they do not is collected afterwards."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def without_collections(function: Callable[P, R]) -> Callable[P, R]:
    """Where they are off already they stay so."""

    @functools.wraps(function)
    def called(*arguments: P.args, **named: P.kwargs) -> R:
        was_on = gc.isenabled()
        gc.disable()
        try:
            return function(*arguments, **named)
        finally:
            if was_on:
                gc.enable()

    return called

"""What Spark shows of an error: the whole traceback, with much of its own before and behind it.

Owns the boundary to Spark, which is every method that Spark calls. An error of Barnabas says by itself what
is wrong and what to do, and leaves without the way that it came, which is in the log at level DEBUG. All
other errors are faults, and keep theirs.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

from barnabas.errors import BarnabasError

T = TypeVar("T")
P = ParamSpec("P")

logger = logging.getLogger(__name__)


def short_errors(method: Callable[P, T]) -> Callable[P, T]:
    """The method, for Spark to call."""

    @functools.wraps(method)
    def called(*arguments: P.args, **keywords: P.kwargs) -> T:
        try:
            return method(*arguments, **keywords)
        except BarnabasError as error:
            raise _shortened(error) from None

    return called


def short_errors_of_rows(method: Callable[P, Iterator[T]]) -> Callable[P, Iterator[T]]:
    """As `short_errors`, where the rows are made while Spark takes them."""

    @functools.wraps(method)
    def called(*arguments: P.args, **keywords: P.kwargs) -> Iterator[T]:
        try:
            yield from method(*arguments, **keywords)
        except BarnabasError as error:
            raise _shortened(error) from None

    return called


def _shortened(error: BarnabasError) -> BarnabasError:
    logger.debug("%s", error, exc_info=error)
    return error.with_traceback(None)

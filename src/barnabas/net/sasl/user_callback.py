"""Calling what a user gave to get tokens and keys from. Knows nothing of what it gives."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from barnabas.errors import BarnabasError, CredentialsError
from barnabas.net.addresses import in_thread


async def call(setting: str, callback: Callable[[], Any | Awaitable[Any]]) -> Any:
    """What the callback gives. A coroutine function runs on the event loop, any other one on a thread of its
    own, so that it may wait. `setting` is where the callback was given.

    Raises: CredentialsError in place of what the callback raises, but for a BarnabasError.
    """
    try:
        if inspect.iscoroutinefunction(callback):
            return await callback()
        given, error = await in_thread(lambda: _outcome(callback))
        if error is not None:
            raise error
        return await given if inspect.isawaitable(given) else given
    except BarnabasError:
        raise
    except Exception as error:
        raise CredentialsError(f"{setting} raised {type(error).__name__}") from error


def _outcome(callback: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """An error as a value: a future cannot carry each kind (StopIteration)."""
    try:
        return callback(), None
    except Exception as error:
        return None, error

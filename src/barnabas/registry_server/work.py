"""What takes long in a decision, done beside the event loop: reading, writing and comparing texts of schemas.

A decision is a plain function of the state, on the loop, which owns that. What may take long it asks for by
`done`. Where that is not known yet, the decision ends with `Unfinished`, a thread does the work, and the
decision is made again from its beginning, with all that is known by then. So threads see texts only, never
the state.

Owns what is known. Knows nothing of threads, nor of schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextvars import ContextVar
from typing import TypeVar, TypeVarTuple

from barnabas.values import frozen

T = TypeVar("T")
A = TypeVarTuple("A")


@frozen
class SlowCall:
    """`function` is pure, and its arguments cannot be changed."""

    function: Callable[..., object]
    arguments: tuple[Hashable, ...]


class Unfinished(Exception):
    """A decision needs `call` done first."""

    def __init__(self, call: SlowCall) -> None:
        super().__init__(call.function)
        self.call = call


_current: ContextVar[SlowCalls | None] = ContextVar("barnabas_registry_work", default=None)


def done(function: Callable[[*A], T], *arguments: *A) -> T:
    """What `function` gives, or what it raises. Outside of a decision of a service it is done at once."""
    work = _current.get()
    return function(*arguments) if work is None else work.result(function, *arguments)


class SlowCalls:
    """Of one request: what has been done for it."""

    def __init__(self) -> None:
        self._known: dict[SlowCall, tuple[object, Exception | None]] = {}

    def result(self, function: Callable[[*A], T], *arguments: *A) -> T:
        call = SlowCall(function, arguments)
        known = self._known.get(call)
        if known is None:
            raise Unfinished(call)
        found, error = known
        if error is not None:
            # Each time without the traceback of the time before.
            raise error.with_traceback(None)
        return found  # pyright: ignore[reportReturnType]  it is what `function` gave

    def attempt(self, decide: Callable[[], T]) -> T:
        """Raises: Unfinished, and what `decide` raises."""
        token = _current.set(self)
        try:
            return decide()
        finally:
            _current.reset(token)

    def do(self, call: SlowCall) -> None:
        """In a thread."""
        try:
            self._known[call] = call.function(*call.arguments), None
        except Exception as error:
            self._known[call] = None, error

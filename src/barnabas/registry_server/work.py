"""What takes long in a decision, done beside the event loop: reading, writing and comparing texts of schemas.

A decision is a coroutine that looks at the state, on the loop, which owns that. What may take long it awaits
by `done`, and it awaits nothing else. `walk` takes it forward: it has each call done by a thread, and gives
the result to the decision. So threads see texts only, never the state.

Owns what is known. Knows nothing of threads, nor of schemas.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator, Hashable
from typing import Any, TypeVar, TypeVarTuple

from barnabas.values import frozen

T = TypeVar("T")
A = TypeVarTuple("A")
Decision = Coroutine[Any, Any, T]
"""It awaits slow calls only."""


@frozen
class SlowCall:
    """`function` is pure, and its arguments cannot be changed."""

    function: Callable[..., object]
    arguments: tuple[Hashable, ...]

    def __await__(self) -> Generator[SlowCall, Any, Any]:
        return (yield self)


async def done(function: Callable[[*A], T], *arguments: *A) -> T:
    """What `function` gives, or what it raises."""
    return await SlowCall(function, arguments)


class SlowCalls:
    """Of one request: what has been done for it."""

    def __init__(self) -> None:
        self._known: dict[SlowCall, tuple[object, Exception | None]] = {}

    def __contains__(self, call: SlowCall) -> bool:
        return call in self._known

    def do(self, call: SlowCall) -> None:
        """In a thread."""
        try:
            self._known[call] = call.function(*call.arguments), None
        except Exception as error:
            self._known[call] = None, error

    def resume(self, decision: Decision[object], call: SlowCall) -> SlowCall:
        """Gives a decision the result of `call`, which it awaits. Returns the call that it awaits next.

        Raises: StopIteration with what was decided, and what `decision` raises.
        """
        found, error = self._known[call]
        # Each time without the traceback of the time before.
        return decision.send(found) if error is None else decision.throw(error.with_traceback(None))


async def walk(
    decision: Decision[T], known: SlowCalls, have_done: Callable[[SlowCall], Awaitable[None]]
) -> T:
    """What is decided. `have_done` is awaited for each call that is not known yet; what it raises ends the
    decision. Raises: that, and what `decision` raises."""
    try:
        call: SlowCall = decision.send(None)
        while True:
            if call not in known:
                await have_done(call)
            call = known.resume(decision, call)
    except StopIteration as end:
        return end.value
    finally:
        decision.close()

"""How the clients for plain calls have something done on the event loop's thread, and wait for it.

Knows nothing of what is done there.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, ClassVar, ParamSpec, Self, TypeVar

from barnabas.client.cluster.lifetimes import Owned
from barnabas.loop_thread import LoopThread

P = ParamSpec("P")
T = TypeVar("T")


class OnLoopThread(Owned):
    """Base of these clients. A client sets `_loop` before anything else."""

    _what: ClassVar[str]
    """What errors call it."""
    _loop: LoopThread

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work, what=self._what)

    def _on_loop(self, call: Callable[P, T], *arguments: P.args, **settings: P.kwargs) -> T:
        async def run() -> T:
            return call(*arguments, **settings)

        return self._run(run())

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

"""How signals end a command: SIGINT (Ctrl-C), SIGTERM (service managers, `kill`) and SIGHUP (a closed
terminal). All three end it in the same way."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any

_CTRL_C = (signal.SIGINT,)
# Windows has no SIGHUP.
_OTHERS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_Handler = Callable[[int, Any], None]


@dataclass
class Asked:
    """The first signal that asked the command to end; None while there was none."""

    signal: int | None = None

    @property
    def exit_status(self) -> int:
        """As shells have it for a process that a signal ended."""
        return 128 + (self.signal or signal.SIGINT)


@contextlib.contextmanager
def as_by_ctrl_c() -> Generator[Asked]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt meanwhile, as Ctrl-C does."""
    asked = Asked()

    def come(number: int, frame: Any) -> None:
        asked.signal = asked.signal or number
        raise KeyboardInterrupt

    with _handled(_OTHERS, lambda _: come):
        yield asked


@contextlib.contextmanager
def noted() -> Generator[Asked]:
    """The first of these signals is only noted meanwhile, for what must not be broken off in its middle.
    The second does what the first would have done before."""
    asked = Asked()

    def noting(before: Any) -> _Handler:
        def come(number: int, frame: Any) -> None:
            if asked.signal is None:
                asked.signal = number
            elif callable(before):
                before(number, frame)
            else:
                raise KeyboardInterrupt

        return come

    with _handled((*_CTRL_C, *_OTHERS), noting):
        yield asked


@contextlib.contextmanager
def _handled(numbers: Iterable[int], make: Callable[[Any], _Handler]) -> Generator[None]:
    """`make` is given the handler that there was. A signal that is ignored stays so, as `nohup` wants it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with contextlib.ExitStack() as restored:
        for number in numbers:
            before = signal.getsignal(number)
            # None: it was not installed by Python.
            if before is not None and before != signal.SIG_IGN:
                restored.callback(signal.signal, number, before)
                signal.signal(number, make(before))
        yield

"""What connections have to tell the thread that polls: answers, and that they were opened or lost.

Connections put it in on the event loop; whoever polls takes it out, so that a program's callbacks are called
in its own thread. Knows no connection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from barnabas.latch import Latch

__all__ = ["Inbox"]

News = Callable[[], Any]
"""Called by the thread that polls: what it returns, if anything, is an answer."""

_LONGEST_WAIT_SECONDS = 24 * 3600.0


class Inbox:
    """All threads may use it. The order is kept, and each of the news is told once."""

    def __init__(self) -> None:
        self._news: deque[News] = deque()
        self._is_woken = Latch()
        """By news or `wake`, since the last wait began to end."""

    def put(self, news: News) -> None:
        self._news.append(news)
        self._is_woken.set()

    def wake(self) -> None:
        """Ends the wait that is under way, or the next one."""
        self._is_woken.set()

    def tell(self, timeout_seconds: float) -> list[Any]:
        """Waits for something to be told, tells all there is, and returns the answers among it."""
        if timeout_seconds > 0:
            self._is_woken.wait(min(timeout_seconds, _LONGEST_WAIT_SECONDS))
        # Before the news are looked at: what comes later ends the next wait.
        self._is_woken = Latch()
        answers: list[Any] = []
        while True:
            try:
                news = self._news.popleft()
            except IndexError:
                return answers
            answer = news()
            if answer is not None:
                answers.append(answer)

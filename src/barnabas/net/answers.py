"""What is under way, who wants an answer other than by a future, and what is needed to lend a connection and
to take it back. Owns no connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from barnabas.protocol.codec import Request, Response
from barnabas.protocol.encoder import Part
from barnabas.values import frozen, mutable

logger = logging.getLogger("barnabas.connection")

ResponseT = TypeVar("ResponseT", bound=Response)


class AnswerTo(Generic[ResponseT]):
    """Takes a future's place for whoever wants the answer in the step of the loop in which it comes: a future
    tells of it in a later one. `callback(response, error)`, one of them None, is called once."""

    __slots__ = ("_callback", "_is_done")

    def __init__(self, callback: Callable[[ResponseT | None, Exception | None], None]) -> None:
        self._callback = callback
        self._is_done = False

    def done(self) -> bool:
        return self._is_done

    def set_result(self, response: ResponseT) -> None:
        self._settle(response, None)

    def set_exception(self, error: Exception) -> None:
        self._settle(None, error)

    def _settle(self, response: ResponseT | None, error: Exception | None) -> None:
        self._is_done = True
        try:
            self._callback(response, error)
        except Exception:
            # Not the connection's fault, which may have more answers to give.
            logger.exception("an answer was not dealt with")


@mutable
class RequestUnderWay:
    """A request that waits for its answer, or for being sent: while the broker throttles us, and while the
    connection authenticates itself anew. Without a future no answer will come."""

    correlation_id: int
    request_type: type[Request[Any]]
    version: int
    timeout_ms: float
    parts: list[Part]
    future: asyncio.Future[Any] | AnswerTo[Any] | None
    """None where there will be no answer."""
    sent_at: float = 0.0
    timer: asyncio.TimerHandle | None = None
    size: int = 0
    """Its bytes, once it is sent, those of its length among them."""


@frozen
class SentElsewhere:
    """A request that someone sent that the connection was lent to, and that waits for its answer."""

    answer: AnswerTo[Any]
    request_type: type[Request[Any]]
    version: int
    correlation_id: int
    timeout_ms: float
    seconds_under_way: float
    size: int


@frozen
class Loan:
    """What someone needs who goes on with a connection: the socket, and which request is under way."""

    descriptor: int
    correlation_id: int

"""A connection's socket, lent to someone who goes on with it without the event loop.

Owns whether the socket is lent, and what happens to the requests under way when it comes back. Knows nothing
of who borrows it, or what for. docs/design/loans.md has the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError, KafkaConnectionError
from barnabas.net.answers import Loan, SentElsewhere
from barnabas.net.frames import FrameProtocol
from barnabas.net.requests import RequestsUnderWay
from barnabas.protocol.codec import Response

if TYPE_CHECKING:
    from barnabas._kernel import TakenBack


class SocketLending:
    """`on_broken` is called where the borrower found that the broker takes no byte any more, `on_idle` when
    it has dealt with the last answer. `is_encoded`: the connection uses TLS, or SASL, and is never lent."""

    def __init__(
        self,
        name: str,
        protocol: FrameProtocol,
        requests: RequestsUnderWay,
        on_broken: Callable[[BarnabasError], None],
        on_idle: Callable[[], None],
        *,
        is_encoded: bool,
    ) -> None:
        self._name = name
        self._protocol = protocol
        self._requests = requests
        self._on_broken = on_broken
        self._on_idle = on_idle
        self._is_encoded = is_encoded
        self._want_back: Callable[[], None] | None = None
        self._lends_reading = False

    @property
    def is_possible(self) -> bool:
        """Whether the socket can be lent at all: not while someone follows what goes through it."""
        return not self._is_encoded and not self._requests.monitor.is_followed

    def lend(self, want_back: Callable[[], None]) -> Loan | None:
        """Lends the socket to someone who reads the answer to the one request under way and goes
        on from there without the event loop, until `take_back`. `want_back` is called on the loop when the
        connection is needed, or has ended: it has to call `take_back` at once.

        None where the bytes on the socket are not those of the frames, or more than one answer is due.
        """
        under_way = self._requests.only
        if under_way is None or self._want_back is not None or not self.is_possible:
            return None
        descriptor = self._protocol.lend()
        if descriptor is None:
            return None
        self._want_back = want_back
        if under_way.timer is not None:
            under_way.timer.cancel()
        return Loan(descriptor, under_way.correlation_id)

    def take_back(self, taken: TakenBack, answer: Response) -> None:
        """Ends what `lend` began. `answer` is what stands for the one to the last request, where that came
        and was dealt with: then nothing is under way."""
        self._want_back = None
        requests = self._requests
        under_way = requests.first
        if under_way is None:
            return
        under_way.correlation_id = requests.correlation_id = taken.correlation_id
        requests.last_used = CLOCK.monotonic()
        if taken.is_broken:
            self._on_broken(KafkaConnectionError(f"{self._name} takes no byte any more"))
        elif taken.seconds_under_way is None:
            requests.drop_first()
            if under_way.future is not None and not under_way.future.done():
                under_way.future.set_result(answer)
            self._protocol.take_back(b"")
            self._on_idle()
        else:
            requests.resume(under_way, taken.seconds_under_way)
            self._protocol.take_back(taken.received, taken.frame)

    def lend_writing(self, want_back: Callable[[], None], *, reads_answers: bool = False) -> Loan | None:
        """Lends the socket to someone who writes requests, and nobody else does: the first with the
        correlation id that the loan names, the others with those that follow. With `reads_answers` the
        borrower reads their answers, too. `want_back` is called on the loop when the connection is needed,
        when an answer comes that the borrower does not read, or when the connection has ended: it has to call
        `take_back_writing` at once.

        None while anything is under way or has to wait, and where bytes are not sent as they are.
        """
        requests = self._requests
        if (
            requests.count
            or requests.throttled_seconds > 0
            or self._want_back is not None
            or not self.is_possible
        ):
            return None
        descriptor = self._protocol.lend() if reads_answers else self._protocol.lend_writing()
        if descriptor is None:
            return None
        self._want_back, self._lends_reading = want_back, reads_answers
        return Loan(descriptor, requests.next_correlation_id)

    def take_back_writing(
        self,
        correlation_id: int,
        sent: Iterable[SentElsewhere] = (),
        *,
        unsent: bytes = b"",
        received: bytes = b"",
    ) -> None:
        """Ends what `lend_writing` began. The last request has this id; those `sent` are under way, the last
        of them but for `unsent`, and `received` is what came of their answers: those that are whole are dealt
        with at once."""
        self._want_back, self._requests.correlation_id = None, correlation_id
        self._requests.add_sent_elsewhere(sent)
        if unsent and self._protocol.transport is not None:
            self._protocol.transport.write(unsent)
        lent_reading, self._lends_reading = self._lends_reading, False
        if lent_reading:
            self._protocol.take_back(received)

    def reclaim(self) -> None:
        """Takes the socket back from whoever has it."""
        if self._want_back is not None:
            self._want_back()

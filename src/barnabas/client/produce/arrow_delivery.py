"""What becomes of the rows of one send_arrow. Knows nothing of how they are sent."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from barnabas._kernel import Delivery
from barnabas.clock import CLOCK


class ArrowDelivery:
    """Thread safe once send_arrow has returned it; awaitable."""

    def __init__(self) -> None:
        self._deliveries: list[Delivery] = []
        self._row_count = 0

    def add(self, row_count: int, deliveries: list[Delivery]) -> None:
        self._row_count += row_count
        self._deliveries += deliveries

    def done(self) -> bool:
        return all(delivery.done() for delivery in self._deliveries)

    def result(self, timeout: float | None = None) -> int:
        """The number of rows delivered, which is all of them.

        Raises: the first error of any row; KafkaTimeoutError after `timeout` seconds.
        """
        deadline = None if timeout is None else CLOCK.monotonic() + timeout
        for delivery in self._deliveries:
            delivery.result(None if deadline is None else max(0.0, deadline - CLOCK.monotonic()))
        return self._row_count

    def __await__(self) -> Generator[Any, Any, int]:
        for delivery in self._deliveries:
            yield from delivery.__await__()
        return self._row_count

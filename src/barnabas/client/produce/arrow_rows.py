"""The rows of an Arrow table on their way into a producer's buffer. Knows nothing of what becomes of them."""

from __future__ import annotations

from typing import Any, Protocol

from barnabas._kernel import Accumulator
from barnabas.client.produce.arrow_delivery import ArrowDelivery
from barnabas.client.produce.partition_search import PartitionSearch
from barnabas.client.produce.send_hooks import SendHooks
from barnabas.clock import CLOCK
from barnabas.errors import MissingExtraError, MisuseError, NoSuchPartitionError
from barnabas.settings.table import ProducerConfig


class TakesRows(Protocol):
    """What rows need of a producer."""

    config: ProducerConfig
    accumulator: Accumulator
    hooks: SendHooks | None

    def check_usable(self) -> None: ...

    def check_may_send(self) -> None: ...

    def search_for_partition(self, topic: str) -> PartitionSearch: ...

    async def wait_for_room(self, deadline: float) -> None: ...


def as_table(data: Any) -> Any:
    """What has rows that can be counted. A data frame that offers its columns as a stream is read as a table.

    Raises: MisuseError, MissingExtraError without pyarrow.
    """
    if hasattr(data, "num_rows"):
        return data
    if not hasattr(data, "__arrow_c_stream__"):
        raise MisuseError(
            f"send_arrow takes an Arrow table, a record batch or a data frame, not {type(data).__name__}"
        )
    try:
        import pyarrow  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise MissingExtraError("send_arrow of a data frame", "arrow") from None
    return pyarrow.table(data)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


class ArrowRows:
    """The rows of one send_arrow on their way into the buffer."""

    def __init__(self, producer: TakesRows, topic: str, table: Any, timeout: float | None) -> None:
        producer.check_usable()
        table = as_table(table)
        has_function = producer.hooks is not None and producer.hooks.partitioner is not None
        if has_function and "partition" not in table.schema.names:
            raise MisuseError("send_arrow does not call a partitioner function: add a column `partition`")
        self.delivery = ArrowDelivery()
        self._producer = producer
        self._topic = topic
        self._table = table
        self._row_count = int(table.num_rows)
        self._taken = 0
        self._last = None if timeout is None else CLOCK.monotonic() + timeout
        self._block_seconds = producer.config.max_block_ms / 1000
        self._search = producer.search_for_partition(topic)
        self._missed: NoSuchPartitionError | None = None

    def append(self) -> bool:
        """Appends as many rows as can be appended just now; whether these were the last. On any thread."""
        append = self._producer.accumulator.append_arrow
        try:
            taken, deliveries = append(self._topic, self._table, row_offset=self._taken)
        except NoSuchPartitionError as error:
            if self._missed is None:
                self._search = self._producer.search_for_partition(self._topic)
            self._missed = error
            return False
        self._missed = None
        self.delivery.add(taken, deliveries)
        self._taken += taken
        return self._taken >= self._row_count

    async def wait(self) -> None:
        """Returns when it is worth another try. Raises: as `send_arrow`."""
        if self._missed is None:
            await self._producer.wait_for_room(self.deadline())
        else:
            self._producer.check_may_send()
            await self._search.ask_again(self._missed, self.deadline())

    def deadline(self) -> float:
        """Until when the next row may wait."""
        return CLOCK.monotonic() + self._block_seconds if self._last is None else self._last

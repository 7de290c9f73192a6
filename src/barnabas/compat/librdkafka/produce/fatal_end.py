"""The end of a transactional producer: the error after which it can do nothing more.

Owns when that is, what its messages are told then, and that one poll or flush raises the error, as in
librdkafka. Calls of transactions raise it again, each time.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import asyncio
from collections.abc import Callable

from barnabas.broker_errors import InvalidProducerEpochError, ProducerFencedError
from barnabas.client.cluster.coordinators import TRANSACTION_COORDINATOR
from barnabas.client.produce.producer import Producer
from barnabas.client.produce.transactions import FATAL_ERRORS, FailedBatch, Transactions
from barnabas.compat.librdkafka.events.client_events import ClientEvents
from barnabas.compat.librdkafka.produce.transaction_errors import fatal_error
from barnabas.compat.librdkafka.produce.wanted_topics import WantedTopics
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.errors import BarnabasError, PurgedError
from barnabas.events import Event, FatalError


class FatalEnd:
    """All but `call` is written on the event loop's thread."""

    def __init__(
        self,
        core: Producer,
        events: ClientEvents,
        topics: WantedTopics,
        shown: Callable[[KafkaError], KafkaError] | None,
    ) -> None:
        """`shown`: what the program reads in the place of an error."""
        self.error: KafkaError | None = None
        self._is_told = False
        self.call = ""
        """The transactional call that waits for the coordinator."""
        self._core = core
        self._events = events
        self._topics = topics
        self._shown = shown
        if core.transactions is not None:
            # Java's clients, and Barnabas's, may go on after an abort: it shows whether they were fenced.
            core.transactions.fatal_errors = (*FATAL_ERRORS, InvalidProducerEpochError)
            core.transactions.told = _told
            core.add_event_listener(self._listen)

    @property
    def is_untold(self) -> bool:
        """Whether the next poll or flush raises it."""
        return self.error is not None and not self._is_told

    def is_told_by(self, raised: Exception) -> bool:
        """Whether this is what such a poll or flush raises. It is not kept, since it keeps its frames."""
        return isinstance(raised, KafkaException) and bool(raised.args) and raised.args[0] is self.error

    def check(self) -> None:
        """Raises: KafkaException, once the producer has ended."""
        if self.error is not None:
            raise KafkaException(self.error)

    def _listen(self, event: Event) -> None:
        transactions = self._core.transactions
        if isinstance(event, FatalError) and transactions is not None:
            self._begin(transactions, event.error)

    def _begin(self, transactions: Transactions, cause: BarnabasError) -> None:
        client, identity = self._core.kafka_client, transactions.transactional_id
        coordinator = client.coordinators.known(TRANSACTION_COORDINATOR, identity)
        error = fatal_error(transactions, cause, self.call, coordinator)
        self.error = error if self._shown is None else self._shown(error)
        self._events.tell_of_end(self.error, self._raise)
        # Before the core fails all that is left with the error itself.
        asyncio.get_running_loop().call_soon(self._purge)

    def _raise(self) -> None:
        self._is_told = True
        self.check()

    def _purge(self) -> None:
        error = PurgedError("the message was not sent, as its producer can do nothing more")
        self._topics.fail(None, error)
        if not self._core.is_closed:
            self._core.purge(in_queue=True, in_flight=False)


def _told(error: BarnabasError, batch: FailedBatch) -> BarnabasError:
    """librdkafka asks the coordinator before it sends a partition's first messages: where that refuses a
    producer that is fenced, they were not sent."""
    if not isinstance(error, ProducerFencedError | InvalidProducerEpochError):
        return error
    if not batch.is_added:
        return PurgedError("the message was not taken into the transaction of a fenced producer")
    return InvalidProducerEpochError(error.context)

"""What an AdminClient keeps while it is open: its connections, its futures, and the thread that fills them.

Owns how an answer gets into futures, and what becomes of those that are left when the client closes. Must not
know what is asked.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from barnabas.client.admin.admin import Admin
from barnabas.compat.librdkafka.cluster.broker_requests import BrokerRequests
from barnabas.compat.librdkafka.cluster.reaching import reach_cluster
from barnabas.compat.librdkafka.config.configuration import Configuration
from barnabas.compat.librdkafka.config.first_token import with_first_token
from barnabas.compat.librdkafka.log.client_log import MAIN, ClientLog
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException, kafka_error_of
from barnabas.errors import BarnabasError, MisuseError
from barnabas.loop_thread import loop_thread

DESTROY = -197
TERMINATING = "Handle is terminating: Local: Broker handle destroyed for termination"

Operation = Callable[[BrokerRequests], Awaitable[Any]]
Outcome = Callable[[Any, KafkaException | None], None]


class AdminSession:
    """The open part of an AdminClient; what is under way keeps it, and not the AdminClient."""

    def __init__(
        self, configuration: Configuration, log: ClientLog, prepare: Callable[[Admin], object]
    ) -> None:
        settings = with_first_token(configuration)

        async def make() -> tuple[Admin, asyncio.Task[None]]:
            admin = Admin(configuration.bootstrap_servers, **settings)
            # librdkafka connects at once, and tells error_cb where that fails.
            prepare(admin)
            client = admin.kafka_client
            return admin, client.in_background(reach_cluster(client), "reaching for the cluster")

        try:
            self.admin, self._reaching = loop_thread().run(make(), what="admin client")
        except BarnabasError as error:
            raise configuration.creation_error(error) from error
        self._log = log
        self._lock = threading.Lock()
        self._is_closed = False
        self._tasks: dict[asyncio.Task[None], Outcome] = {}
        self._closing: asyncio.Task[None] | None = None
        # Futures are filled, and call back, on a thread that may wait: the event loop's must not.
        self._filling = ThreadPoolExecutor(max_workers=1, thread_name_prefix="barnabas-admin")

    def start(self, operation: Operation, timeout_ms: int | None, outcome: Outcome) -> None:
        """Begins `operation`; `outcome(result, None)` or `outcome(None, error)` is called when it ends."""

        name = getattr(operation, "func", operation).__name__.replace("_", "").upper()

        def tell(state: str, result: str = "Success") -> None:
            self._log.debug("admin", name, MAIN, f"{name} worker called in state {state}: {result}")

        async def work() -> None:
            result, error = None, None
            tell("initializing")
            try:
                result = await operation(self._requests(timeout_ms))
            except Exception as failure:
                error = _exception_of(failure)
            tell("waiting for response from broker", "Success" if error is None else error.args[0].str())
            task = asyncio.current_task()
            if task is not None and self._tasks.pop(task, None) is not None:
                self._fill(outcome, result, error)

        def begin() -> None:
            if self._is_closed:
                outcome(None, _terminating())
            else:
                self._tasks[asyncio.get_running_loop().create_task(work())] = outcome

        loop_thread().call(begin)

    def run(self, operation: Operation, timeout_seconds: float | None) -> Any:
        """What `operation` gives, which the caller waits for. Raises: KafkaException."""

        async def work() -> Any:
            try:
                return await operation(BrokerRequests(self.admin.kafka_client, timeout_seconds))
            except Exception as failure:
                raise _exception_of(failure) from None

        return loop_thread().run(work(), what="admin client")

    def set_credentials(self, username: str, password: str) -> None:
        """Logs in with these from now on, if the mechanism has credentials."""
        with suppress(MisuseError):
            self.admin.set_sasl_credentials(username, password)

    def close(self) -> None:
        """Ends what is under way. Does not wait; may be called twice, and on any thread."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        with suppress(RuntimeError):
            # The loop is gone when the interpreter is.
            loop_thread().call(self._end)

    def _end(self) -> None:
        self._reaching.cancel()
        tasks, self._tasks = self._tasks, {}
        for task, outcome in tasks.items():
            self._fill(outcome, None, _terminating())
            task.cancel()
        self._filling.shutdown(wait=False)
        self._closing = asyncio.get_running_loop().create_task(self.admin.close())

    def _requests(self, timeout_ms: int | None) -> BrokerRequests:
        client = self.admin.kafka_client
        return BrokerRequests(
            client, (client.config.request_timeout_ms if timeout_ms is None else timeout_ms) / 1000
        )

    def _fill(self, outcome: Outcome, result: Any, error: KafkaException | None) -> None:
        with suppress(RuntimeError):
            # Nobody waits for futures any more when the interpreter ends.
            self._filling.submit(outcome, result, error)


def _terminating() -> KafkaException:
    return KafkaException(KafkaError(DESTROY, TERMINATING))


def _exception_of(failure: Exception) -> KafkaException:
    """The exception without what its class tells only us."""
    return KafkaException(kafka_error_of(failure))

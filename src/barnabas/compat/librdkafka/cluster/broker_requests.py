"""One request to one broker with a deadline, as librdkafka makes those that applications ask it for.

Owns what is tried again until the deadline, and what is said when it passes. Knows no single request.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from barnabas.client.admin.requests.common import Answer
from barnabas.client.cluster.coordinators import GROUP_COORDINATOR
from barnabas.client.cluster.error_table import Consequence, errors_with
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.clock import CLOCK
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.errors import AuthenticationError, BarnabasError, NoCommonVersionError
from barnabas.protocol.codec import Request, Response
from barnabas.types import Node

_Response = TypeVar("_Response", bound=Response)
_Result = TypeVar("_Result")
_Key = TypeVar("_Key")

INITIALIZING = "initializing"
WAITING_FOR_BROKER = "waiting for broker"
WAITING_FOR_CONTROLLER = "waiting for controller"
WAITING_FOR_RESPONSE = "waiting for response from broker"
TIMED_OUT = -185
INVALID_ARGUMENT = -186
BAD_MESSAGE = -199
UNSUPPORTED_FEATURE = -165

UNSUPPORTED = {
    "CreateTopics": ("Topic Admin API (KIP-4)", "0.10.2.0"),
    "DeleteTopics": ("Topic Admin API (KIP-4)", "0.10.2.0"),
    "CreatePartitions": ("CreatePartitions (KIP-195)", "1.0.0"),
    "DeleteRecords": ("DeleteRecords Admin API (KIP-107)", "0.11.0"),
    "DescribeConfigs": ("DescribeConfigs (KIP-133)", "0.11.0"),
    "AlterConfigs": ("AlterConfigs (KIP-133)", "0.11.0"),
    "IncrementalAlterConfigs": ("IncrementalAlterConfigs (KIP-339)", "2.3.0"),
    "CreateAcls": ("ACLs Admin API (KIP-140)", "0.11.0.0"),
    "DescribeAcls": ("ACLs Admin API (KIP-140)", "0.11.0.0"),
    "DeleteAcls": ("ACLs Admin API (KIP-140)", "0.11.0.0"),
    "DeleteGroups": ("DeleteGroups Admin API (KIP-229)", "1.1.0"),
    "ElectLeaders": ("ElectLeaders Admin API (KIP-460)", "2.4.0"),
    "DescribeUserScramCredentials": ("DescribeUserScramCredentials API (KIP-554)", ""),
    "AlterUserScramCredentials": ("AlterUserScramCredentials API (KIP-554)", ""),
}
"""By name of a request, what librdkafka calls what it is for, and the first release that has it."""

_MOVED = errors_with(
    Consequence.FIND_CONTROLLER | Consequence.FIND_COORDINATOR | Consequence.AWAIT_COORDINATOR
)


class DeadlineError(KafkaException):
    """The deadline of a request passed. `phase` says what was waited for, in librdkafka's words."""

    def __init__(self, phase: str) -> None:
        text = f"Timed out {phase}" if phase == INITIALIZING else f"Failed while {phase}: Local: Timed out"
        self.error = KafkaError(TIMED_OUT, text)
        super().__init__(self.error)
        self.phase = phase


class _MovedError(BarnabasError):
    """A broker is not, or not yet, in charge of what it was asked."""

    retriable = True


class BrokerRequests:
    """The requests of one call of one client, all with the same deadline. `timeout_seconds`: None waits for
    ever. Belongs to the event loop's thread."""

    def __init__(self, client: KafkaClient, timeout_seconds: float | None) -> None:
        self.client = client
        self._deadline = math.inf if timeout_seconds is None else CLOCK.monotonic() + timeout_seconds

    async def ask(
        self,
        place: Callable[[], Awaitable[int]],
        request: Request[_Response],
        *,
        waiting_for: str = WAITING_FOR_BROKER,
        code: Callable[[_Response], int] = lambda _: 0,
        max_version: int | None = None,
    ) -> tuple[int, _Response]:
        """The answer of the broker that `place` finds, with its number. Whatever keeps it from coming is
        tried again, and so is a broker that answers with a `code` that sends us to another one.

        Raises: DeadlineError; KafkaException (the broker is too old); what `place` raises for good.
        """
        phase = waiting_for

        async def attempt() -> tuple[int, _Response]:
            nonlocal phase
            phase = waiting_for
            node_id = await place()
            phase = WAITING_FOR_RESPONSE
            try:
                response = await self.client.send(
                    node_id, request, timeout_ms=self._remaining_ms(), max_version=max_version
                )
            except NoCommonVersionError as error:
                raise _unsupported(type(request).NAME) from error
            if code(response) in _MOVED:
                raise _MovedError(f"another broker is in charge: {code(response)}")
            return node_id, response

        return await self._repeat(attempt, lambda: phase)

    async def _repeat(self, attempt: Callable[[], Awaitable[_Result]], phase: Callable[[], str]) -> _Result:
        """What `attempt` gives, made again until the deadline. `phase` says what it waits for."""
        if self._deadline <= CLOCK.monotonic():
            raise DeadlineError(INITIALIZING)
        failures = 0
        while (remaining := self._deadline - CLOCK.monotonic()) > 0:
            try:
                async with asyncio.timeout(None if math.isinf(remaining) else remaining):
                    return await attempt()
            except BarnabasError as error:
                # librdkafka tries to log in again, too: other credentials may come.
                if not error.retriable and not isinstance(error, AuthenticationError):
                    raise
                self.client.request_metadata_update()
            except TimeoutError:
                break
            failures += 1
            pause = self.client.backoff.delay_ms(failures) / 1000
            await asyncio.sleep(max(0.0, min(pause, self._deadline - CLOCK.monotonic())))
        raise DeadlineError(phase())

    async def ask_any(
        self, request: Request[_Response], *, max_version: int | None = None
    ) -> tuple[int, _Response]:
        """`ask` of whichever broker is least busy."""
        return await self.ask(self.client.any_node, request, max_version=max_version)

    async def ask_controller(
        self,
        request: Request[_Response],
        *,
        code: Callable[[_Response], int] = lambda _: 0,
        max_version: int | None = None,
    ) -> _Response:
        """`ask` of the controller, or of the broker that passes on what is for it."""
        _, response = await self.ask(
            self.client.controller,
            request,
            waiting_for=WAITING_FOR_CONTROLLER,
            code=code,
            max_version=max_version,
        )
        return response

    async def coordinator_version(self, group_id: str, request_type: type[Request[_Response]]) -> int:
        """The version in which the coordinator of a group gets a request, -1 for none. Raises: as `ask`."""

        async def attempt() -> int:
            node_id = await self.client.coordinators.find(GROUP_COORDINATOR, group_id)
            return await self.client.version_at(node_id, request_type)

        return await self._repeat(attempt, lambda: WAITING_FOR_RESPONSE)

    def operation_timeout_ms(self, wanted_ms: int | None) -> int:
        """How long a broker is to wait until its work shows; None: as long as this client for brokers."""
        return self.client.config.request_timeout_ms if wanted_ms is None else wanted_ms

    async def ask_broker(self, node_id: int, request: Request[_Response]) -> _Response:
        """`ask` of a broker by its number, which is waited for where there is none of it yet."""
        _, response = await self.ask(lambda: self.client.known_node(node_id), request)
        return response

    async def ask_coordinator(
        self,
        group_id: str,
        request: Request[_Response],
        code: Callable[[_Response], int],
        *,
        max_version: int | None = None,
    ) -> tuple[Node | None, _Response]:
        """`ask` of the coordinator of a group, or of its successor, with the broker that answered. Raises
        also: BrokerError (no broker says who coordinates the group)."""

        async def place() -> int:
            return await self.client.coordinators.find(GROUP_COORDINATOR, group_id)

        def moved(response: _Response) -> int:
            if code(response) in _MOVED:
                self.client.coordinators.forget(GROUP_COORDINATOR, group_id)
            return code(response)

        node_id, response = await self.ask(
            place, request, waiting_for=WAITING_FOR_RESPONSE, code=moved, max_version=max_version
        )
        return self.client.node(node_id), response

    def _remaining_ms(self) -> float | None:
        if math.isinf(self._deadline):
            return None
        return max(1.0, (self._deadline - CLOCK.monotonic()) * 1000)


def invalid_argument(text: str) -> KafkaException:
    """What librdkafka makes of a call that cannot work."""
    return KafkaException(KafkaError(INVALID_ARGUMENT, text))


def not_understood(request_name: str) -> KafkaException:
    """What librdkafka makes of an answer that does not fit the request."""
    text = f"{request_name} response protocol parse failure: {KafkaError(BAD_MESSAGE).str()}"
    worker = request_name.upper()
    return KafkaException(KafkaError(BAD_MESSAGE, f"{worker} worker failed to parse response: {text}"))


def broker_error(code: int, text: str | None = None) -> KafkaError | None:
    """What a code in an answer is, with the broker's own text if it has one. None for success."""
    return KafkaError(code, text or None) if code else None


def results(answers: Iterable[Answer[_Key, _Result]]) -> dict[_Key, _Result | KafkaError]:
    """By item what it gave, or its error."""
    return {answer.key: broker_error(answer.code, answer.message) or answer.result for answer in answers}


def _unsupported(request_name: str) -> KafkaException:
    if request_name not in UNSUPPORTED:
        return KafkaException(KafkaError(UNSUPPORTED_FEATURE))
    what, release = UNSUPPORTED[request_name]
    since = f", requires broker version >= {release}" if release else ""
    return KafkaException(KafkaError(UNSUPPORTED_FEATURE, f"{what} not supported by broker{since}"))

"""The connection of a KafkaAdminClient: which broker is asked, in which version, and what is tried again.

Owns the core's Admin, and that every error that leaves is one of the chosen generation's. Knows no single
request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from barnabas.broker_errors import error_for
from barnabas.client.cluster.error_table import MOVED_CONTROLLER, MOVED_COORDINATOR
from barnabas.client.cluster.event_listeners import EventListeners
from barnabas.compat.kafka_engine.admin.containers import container_of
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.network.bootstrap import reach
from barnabas.compat.kafka_engine.values.errors import CLASSES, for_code
from barnabas.compat.kafka_engine.values.failures import failure_of
from barnabas.compat.kafka_engine.wire.translation import fitting
from barnabas.errors import BarnabasError, ClosedError
from barnabas.events import Event
from barnabas.loop_thread import loop_thread
from barnabas.protocol.schema import Message, Request, Response
from barnabas.stats import BrokerStats
from barnabas.sync.admin import Admin

ResponseT = TypeVar("ResponseT", bound=Response)
T = TypeVar("T")

_WHAT = "KafkaAdminClient"
_ALL_VERSIONS = 32767


@dataclass(frozen=True)
class BrokerAnswer(Generic[ResponseT]):
    """What a broker answered, and in which version."""

    message: ResponseT
    version: int
    request: Message
    node_id: int

    def check(
        self,
        codes: Iterable[int],
        raises: bool = True,
        *,
        ignored: Collection[int] = (),
        shape: Callable[[Message, int], Any] = container_of,
        as_version: int = _ALL_VERSIONS,
    ) -> None:
        """Raises: the error of the first of `codes`, if it `raises` and that is none of `ignored`. It quotes
        request and answer in a `shape`, at most in `as_version`."""
        for code in codes:
            if code and raises and code not in ignored:
                version = min(self.version, as_version)
                request, response = shape(self.request, version), shape(self.message, version)
                raise for_code(code)(f"Request '{request}' failed with response '{response}'.")

    def check_whole(self) -> None:
        """Raises: the error of the answer as a whole, which is quoted."""
        whole: Any = self.message
        if whole.error_code:
            response = container_of(whole, self.version)
            raise for_code(whole.error_code)(f"{whole.NAME}Request failed with response '{response}'.")


class BrokerSession:
    """Belongs to one KafkaAdminClient; all threads may use it. `settings`: the core's."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._admin = Admin(**settings)
        self._client = self._admin.kafka_client
        self._request_timeout_ms = self._client.config.request_timeout_ms
        self.spoken: Mapping[int, tuple[int, int]] = {}
        """The versions that the broker speaks which was reached first, by API key."""

    @property
    def events(self) -> EventListeners[Event]:
        """What happens to the connections."""
        return self._client.events

    def brokers(self) -> Sequence[BrokerStats]:
        """Figures of the connections to each broker."""
        return self._client.stats().brokers

    def reach_cluster(self, bootstrap_servers: Any, timeout_ms: float) -> None:
        """`bootstrap_servers` as the program gave them. Raises: as `reach`."""
        try:
            self.spoken = reach(self._client, bootstrap_servers, timeout_ms)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._admin.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, which the caller waits for. Raises: only what programs know."""
        try:
            return loop_thread().run(work, what=_WHAT)
        except ClosedError:
            name, *texts = generation().closed_admin
            raise CLASSES.get(name, RuntimeError)(*texts) from None
        except BarnabasError as error:
            raise failure_of(error) from error

    # On the event loop's thread

    async def nodes(self) -> list[int]:
        """The ids of all brokers."""
        if not self._client.metadata.nodes:
            await self._client.refresh_metadata()
        return sorted(self._client.metadata.nodes)

    async def versions_of(self, node_id: int) -> Mapping[int, tuple[int, int]]:
        """What a broker speaks, by API key."""
        connection = await self._client.connect(await self._known(node_id))
        return connection.versions

    async def version(self, request_type: type[Request[Any]]) -> int:
        """The version in which brokers get a request. Raises: IncompatibleBrokerVersion."""
        node_id = await self._client.any_node()
        return _version(request_type, await self.versions_of(node_id), 0, _ALL_VERSIONS)

    async def ask(
        self,
        request: Request[ResponseT],
        node_id: int | None = None,
        *,
        min_version: int = 0,
        max_version: int = _ALL_VERSIONS,
    ) -> BrokerAnswer[ResponseT]:
        """The answer of one broker, or of whichever is least busy. What has no `max_version` any more is
        asked in the oldest version that there is.

        Raises: IncompatibleBrokerVersion; of the core: KafkaConnectionError, KafkaTimeoutError.
        """

        async def attempt() -> BrokerAnswer[ResponseT]:
            node = await self._client.any_node()
            return await self._send(node, request, min_version, max_version)

        if node_id is None:
            return await self._retry(attempt, type(request).NAME)
        return await self._send(await self._known(node_id), request, min_version, max_version)

    async def ask_controller(
        self,
        request: Request[ResponseT],
        codes: Callable[[ResponseT], Iterable[int]],
        *,
        min_version: int = 0,
        max_version: int = _ALL_VERSIONS,
    ) -> BrokerAnswer[ResponseT]:
        """`ask` of the controller, and of its successor where `codes` of the answer says that it is none."""

        async def attempt() -> BrokerAnswer[ResponseT]:
            node = await self._client.controller()
            answer = await self._send(node, request, min_version, max_version)
            for code in codes(answer.message):
                if code in MOVED_CONTROLLER:
                    raise error_for(code, type(request).NAME)
            return answer

        return await self._retry(attempt, type(request).NAME)

    async def ask_coordinators(
        self,
        keys: Iterable[str],
        make_request: Callable[[list[str]], Request[ResponseT]],
        codes: Callable[[ResponseT], Iterable[int]],
        *,
        key_type: int = 0,
        node_id: int | None = None,
        one_by_one: Callable[[int], bool] = lambda _version: False,
        min_version: int = 0,
        max_version: int = _ALL_VERSIONS,
    ) -> list[BrokerAnswer[ResponseT]]:
        """The answers of the coordinators of groups (`key_type` 0) or of transactions (1), each asked for its
        own `keys` at once, or for one after the other where `one_by_one` says so of the version. An answer
        one of whose `codes` says that another broker is the coordinator is asked for again. `node_id`: of all
        of them, where the caller knows it.
        """
        wanted = list(dict.fromkeys(keys))
        answers: list[BrokerAnswer[ResponseT]] = []

        async def ask(place: int, group: list[str]) -> None:
            connection = await self._client.connect(place)
            request_type = type(make_request(group))
            version = _version(request_type, connection.versions, min_version, max_version)
            for part in [[key] for key in group] if one_by_one(version) else [group]:
                answer = await self._send(place, make_request(part), min_version, max_version)
                if node_id is None:
                    self._check_coordinator(codes(answer.message), key_type, part)
                answers.append(answer)
                for key in part:
                    wanted.remove(key)

        async def attempt() -> None:
            places: dict[int, list[str]] = {}
            for key in wanted:
                places.setdefault(await self._client.coordinators.find(key_type, key), []).append(key)
            for place, group in places.items():
                await ask(place, group)

        if node_id is not None:
            await ask(await self._known(node_id), list(wanted))
        else:
            await self._retry(attempt, "asking coordinators")
        return answers

    async def retry(self, attempt: Callable[[], Awaitable[T]], what: str, timeout_ms: float) -> T:
        """The result of `attempt`, made again while it raises retriable errors of the core."""
        return await self._client.retry(attempt, what=what, timeout_ms=timeout_ms)

    async def _retry(self, attempt: Callable[[], Awaitable[T]], what: str) -> T:
        return await self._client.retry(attempt, what=what, timeout_ms=self._request_timeout_ms)

    async def _known(self, node_id: int) -> int:
        if self._client.node(node_id) is None:
            await self._client.refresh_metadata(timeout_ms=self._request_timeout_ms)
            if self._client.node(node_id) is None:
                raise CLASSES["UnknownBrokerIdError"](node_id)
        return node_id

    async def _send(
        self, node_id: int, request: Request[ResponseT], min_version: int, max_version: int
    ) -> BrokerAnswer[ResponseT]:
        connection = await self._client.connect(node_id)
        version = _version(type(request), connection.versions, min_version, max_version)
        response = await self._client.send(node_id, fitting(request, version), max_version=version)
        node = self._client.node(node_id)
        return BrokerAnswer(response, version, request, node_id if node is None else node.node_id)

    def _check_coordinator(self, codes: Iterable[int], key_type: int, keys: list[str]) -> None:
        for code in codes:
            if code in MOVED_COORDINATOR:
                for key in keys:
                    self._client.coordinators.forget(key_type, key)
                raise error_for(code, f"coordinator of {', '.join(keys)}")


def _version(
    request_type: type[Request[Any]],
    spoken: Mapping[int, tuple[int, int]],
    min_version: int,
    max_version: int,
) -> int:
    """The newest version that both sides speak; what is too old for brokers of today is asked in their
    oldest. Raises: IncompatibleBrokerVersion."""
    name = f"{request_type.NAME}Request"
    low, high = request_type.VERSIONS
    lowest = max(low, min_version)
    if request_type.API_KEY not in spoken:
        raise CLASSES["IncompatibleBrokerVersion"](
            f"Kafka broker does not support the '{name}' Kafka protocol."
        )
    broker_low, broker_high = spoken[request_type.API_KEY]
    version = min(max(max_version, broker_low), high, broker_high)
    if version < max(lowest, broker_low):
        raise CLASSES["IncompatibleBrokerVersion"](
            f"No version of the '{name}' Kafka protocol is supported by both the client [{lowest}-{high}] "
            f"and broker [{broker_low}-{broker_high}]."
        )
    return version

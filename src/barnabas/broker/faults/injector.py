"""Faults carried out: requests are met by the rules on their way to whoever answers them.

Owns what waits to be released, and the record of what was asked. Knows nothing of sockets.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn, cast

from barnabas.broker.faults.answers import ErrorAnswer, RequestPart, TopicName, overlay, parts_of
from barnabas.broker.faults.errors_told import first_error
from barnabas.broker.faults.language import FaultLanguage
from barnabas.broker.faults.rule_book import RuleBook, RuleInForce, SeenRequest, is_meant, matches
from barnabas.broker.faults.rules import FaultRule, FaultRuleError
from barnabas.broker.faults.sessions_seen import SessionsSeen
from barnabas.broker.faults.spoiling import MetadataMemory, corrupt_answer, corrupt_request
from barnabas.net.server import CutShort, DisconnectError, RequestContext
from barnabas.protocol.messages.request_header import RequestHeader
from barnabas.protocol.schema import Request, Response

logger = logging.getLogger(__name__)

MOST_RECORDED = 100_000
"""Requests that are kept to be looked at; older ones are forgotten."""

MOST_LOOKED_AT = 10_000
DISCONNECTED = "disconnected"

Ask = Callable[[Request[Any]], Awaitable[Response | None]]
Answered = Response | CutShort | None


@dataclass(frozen=True, slots=True)
class HookedRequest:
    """What a hook sees."""

    seen: SeenRequest
    header: RequestHeader
    request: Request[Any]


@dataclass(frozen=True, slots=True)
class NewestRequests:
    """The newest first. `matching`: how many of those `looked_at`, the last ones, are chosen. `total`: how
    many there were."""

    newest: list[SeenRequest]
    matching: int
    looked_at: int
    total: int


Hook = Callable[[HookedRequest], Answered | Awaitable[Answered]]
"""Answers a request itself, or gives None, and it takes its way. `DisconnectError` hangs up."""


class Passed:
    """In the place of an answer: a hook lets the request pass."""


class FaultHandle:
    """A fault in force, in the process of the broker."""

    def __init__(self, injector: FaultInjector, in_force: RuleInForce) -> None:
        self._injector = injector
        self._in_force = in_force

    @property
    def rule_id(self) -> str:
        return self._in_force.rule_id

    @property
    def hits(self) -> int:
        """How many requests it was applied to."""
        return self._in_force.hits

    @property
    def requests(self) -> list[SeenRequest]:
        """Those that it was applied to, of what is recorded."""
        numbers = set(self._in_force.hit_requests)
        return [each for each in self._injector.requests() if each.number in numbers]

    async def wait(self, hits: int = 1, timeout: float = 30.0) -> None:
        """Returns once it was applied to so many requests. Raises: TimeoutError."""
        await self._injector.wait_for_hits(self.rule_id, hits, timeout)

    def release(self) -> None:
        """Lets go what it holds, and holds nothing any more."""
        self._injector.release(self.rule_id)

    def remove(self) -> None:
        """Ends it; what it holds is let go."""
        self._injector.remove(self.rule_id)


class FaultInjector(FaultLanguage[FaultHandle]):
    """The faults of a broker or a proxy. To be used on its event loop.

        faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=3)
        barrier = faults.hold("Fetch", topic="flights", partition=3, after=1, times=1)
        await barrier.wait()
        barrier.release()

    `topic_name` finds a topic by its id.
    """

    def __init__(self, *, seed: int = 0, topic_name: TopicName = lambda _: None) -> None:
        self.topic_name = topic_name
        self._book = RuleBook(seed)
        self._recorded: deque[SeenRequest] = deque(maxlen=MOST_RECORDED)
        self._count = 0
        self._sessions = SessionsSeen()
        self._memories: dict[str, MetadataMemory] = {}
        self._hooks: dict[str, Hook] = {}
        self._released: dict[str, asyncio.Event] = {}
        self._changed = asyncio.Event()

    # Telling

    def add(self, rule: FaultRule) -> FaultHandle:
        """Raises: FaultRuleError."""
        if rule.effect == "hook":
            raise FaultRuleError("a hook needs its function: use hook()")
        return self._add(rule)

    def hook(self, function: Hook, *apis: str | int, **which: Any) -> FaultHandle:
        """Shows requests to a function or coroutine function, which may answer them."""
        rule = FaultRule.from_json({"effect": "hook", **({"apis": list(apis)} if apis else {}), **which})
        handle = self._add(rule)
        self._hooks[handle.rule_id] = function
        return handle

    def _add(self, rule: FaultRule) -> FaultHandle:
        in_force = self._book.add(rule)
        self._released[in_force.rule_id] = asyncio.Event()
        if rule.effect == "stale_metadata":
            self._memories[in_force.rule_id] = MetadataMemory()
        return FaultHandle(self, in_force)

    def remove(self, rule_id: str) -> None:
        """Raises: FaultRuleError."""
        self._book.remove(rule_id)
        self._forget(rule_id)

    def release(self, rule_id: str) -> None:
        """Raises: FaultRuleError."""
        self._book.find(rule_id)
        self._released[rule_id].set()

    def clear(self, seed: int | None = None) -> None:
        """No faults, no record, counts from the beginning; what is held is let go."""
        for rule_id in list(self._book.rules):
            self._forget(rule_id)
        self._book.clear(seed)
        self._recorded.clear()

    def _forget(self, rule_id: str) -> None:
        self._released.pop(rule_id).set()
        self._hooks.pop(rule_id, None)
        self._memories.pop(rule_id, None)

    # Looking

    def in_force(self, rule_id: str) -> RuleInForce:
        """Raises: FaultRuleError."""
        return self._book.find(rule_id)

    def all_in_force(self) -> list[RuleInForce]:
        return list(self._book.rules.values())

    def requests(self, api: str | int | None = None, **which: Any) -> list[SeenRequest]:
        """What was asked since the beginning, or since `clear`. `which`: as for faults."""
        chosen = FaultRule.from_json({"effect": "hook", **({} if api is None else {"apis": [api]}), **which})
        return [each for each in self._recorded if matches(chosen, each)]

    def newest(self, most: int, api: str | int | None = None, **which: Any) -> NewestRequests:
        """At most so many of the last requests, chosen as for `requests`."""
        chosen = FaultRule.from_json({"effect": "hook", **({} if api is None else {"apis": [api]}), **which})
        last = list(islice(reversed(self._recorded), MOST_LOOKED_AT))
        found = [each for each in last if matches(chosen, each)]
        return NewestRequests(found[: max(most, 0)], len(found), len(last), self._count)

    async def wait_for_hits(self, rule_id: str, hits: int, timeout: float) -> None:
        """Raises: FaultRuleError, TimeoutError."""
        in_force = self._book.find(rule_id)

        async def reached() -> None:
            while in_force.hits < hits:
                self._changed.clear()
                await self._changed.wait()

        try:
            await asyncio.wait_for(reached(), timeout)
        except TimeoutError:
            raise TimeoutError(
                f"fault {rule_id} has met {in_force.hits} requests within {timeout} s, not {hits}"
            ) from None

    # Meeting

    async def answer(
        self, node: int, context: RequestContext, header: RequestHeader, request: Request[Any], ask: Ask
    ) -> Answered:
        """The answer to a request that came to a node, which `ask` gives where no fault does.

        Raises: DisconnectError.
        """
        whole = self._sessions.whole(request, node)
        seen = self._see(node, context, header, whole)
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            answered = await self._answered(node, seen, header, request, whole, ask)
            seen.outcome.error = first_error(answered)
            return answered
        except BaseException:
            seen.outcome.error = DISCONNECTED
            raise
        finally:
            seen.outcome.duration_ms = (clock() - began) * 1000

    async def _answered(
        self,
        node: int,
        seen: SeenRequest,
        header: RequestHeader,
        request: Request[Any],
        whole: Request[Any],
        ask: Ask,
    ) -> Answered:
        met = self._book.meet(seen)
        if not met:
            response = await ask(request)
            self._noted(request, response, node)
            return response
        self._changed.set()
        way = _MetRequest(self, seen, header, request, whole)
        for each in met:
            answered = await way.before(each)
            if not isinstance(answered, Passed):
                return answered
        response = await way.asked(ask)
        self._noted(request, response, node)
        for each in met:
            response = await way.behind(each, response)
        return response

    def _noted(self, request: Request[Any], response: Response | None, node: int) -> None:
        self._sessions.answered(request, response, node)
        if response is not None:
            for memory in self._memories.values():
                memory.observe(response)

    def _see(
        self, node: int, context: RequestContext, header: RequestHeader, request: Request[Any]
    ) -> SeenRequest:
        partitions: dict[str, list[int]] = {}
        groups: list[str] = []
        transactional_id = None
        for part in parts_of(request, self.topic_name):
            if part.topic is not None:
                indexes = partitions.setdefault(part.topic, [])
                if part.partition is not None:
                    indexes.append(part.partition)
            if part.group is not None and part.group not in groups:
                groups.append(part.group)
            transactional_id = part.transactional_id or transactional_id
        principal = getattr(context, "principal", None)
        self._count += 1
        seen = SeenRequest(
            number=self._count,
            api=request.NAME,
            version=header.request_api_version,
            node=node,
            client_id=header.client_id or "",
            client=f"{context.client_host}:{context.client_port}",
            partitions={topic: tuple(indexes) for topic, indexes in partitions.items()},
            groups=tuple(groups),
            transactional_id=transactional_id,
            principal=None if principal is None else str(principal),
        )
        self._recorded.append(seen)
        return seen

    async def wait_until_released(self, rule_id: str) -> None:
        released = self._released.get(rule_id)
        if released is not None:
            await released.wait()

    async def ask_hook(self, rule_id: str, hooked: HookedRequest) -> Answered:
        hook = self._hooks.get(rule_id)
        answered = None if hook is None else hook(hooked)
        return await answered if inspect.isawaitable(answered) else answered

    def memory(self, rule_id: str) -> MetadataMemory | None:
        return self._memories.get(rule_id)


class _MetRequest:
    """One request on its way through the faults that it meets."""

    def __init__(
        self,
        injector: FaultInjector,
        seen: SeenRequest,
        header: RequestHeader,
        request: Request[Any],
        whole: Request[Any],
    ) -> None:
        self._injector = injector
        self._seen = seen
        self._header = header
        self._request = request
        self._whole = whole
        self._failed: list[tuple[Response, bool]] = []
        """Parts of the answer that are errors already, and whether only some topics or groups are meant."""

    async def before(self, met: RuleInForce) -> Answered | Passed:
        rule = met.rule
        if rule.effect == "hook":
            hooked = HookedRequest(self._seen, self._header, self._request)
            answered = await self._injector.ask_hook(met.rule_id, hooked)
            return Passed() if answered is None else answered
        if rule.effect == "corrupt" and self._request.NAME == "Produce":
            self._request = corrupt_request(self._request, self._accepts(rule), self._injector.topic_name)
        if rule.stage == "after":
            return Passed()
        if rule.effect == "error":
            return self._fail(rule)
        await self._hold_up(met)
        return Passed()

    async def _hold_up(self, met: RuleInForce) -> None:
        """What may become of a request at either stage but for errors."""
        if met.rule.effect == "hold":
            await self._injector.wait_until_released(met.rule_id)
        elif met.rule.effect == "delay":
            await asyncio.sleep(_delay_ms(met) / 1000)
        elif met.rule.effect == "disconnect":
            self._hang_up(met.rule_id)
        elif met.rule.effect == "black_hole":
            # Answers come in the order of requests: whoever waits here waits for all that come behind.
            await self._injector.wait_until_released(met.rule_id)
            self._hang_up(met.rule_id)

    def _hang_up(self, rule_id: str) -> NoReturn:
        raise DisconnectError(f"fault {rule_id} ends the connection at a {self._seen.api} request")

    def _fail(self, rule: FaultRule) -> Answered | Passed:
        if self._seen.api == "Produce" and getattr(self._request, "acks", 1) == 0:
            # As Kafka does where there is no answer to tell an error in.
            raise DisconnectError("a fault meets a Produce request that wants no answer")
        rest, failed = self._error_answer(rule).split(
            self._whole, self._seen.version, self._accepts(rule), self._injector.topic_name
        )
        if failed is None:
            raise DisconnectError(f"the answer to {self._seen.api} has no room for an error")
        if rest is None:
            return failed
        if self._whole is not self._request:
            # What the session is about is in `whole`, and what is asked must not say it again.
            rest = copy(self._request)
            cast("Any", rest).max_wait_ms = 0
        self._request = rest
        self._failed.append((failed, _is_about_topics(rule)))
        return Passed()

    async def asked(self, ask: Ask) -> Response | None:
        response = await ask(self._request)
        if response is not None:
            for failed, is_about_topics in self._failed:
                overlay(response, failed, self._whole, is_about_topics=is_about_topics)
        return response

    async def behind(self, met: RuleInForce, response: Answered) -> Answered:
        rule = met.rule
        if isinstance(response, CutShort) or response is None:
            if response is None and rule.effect in ("disconnect", "error") and rule.stage == "after":
                self._hang_up(met.rule_id)
            return response
        if rule.effect == "throttle" and hasattr(response, "throttle_time_ms"):
            cast("Any", response).throttle_time_ms = rule.throttle_ms
        elif rule.effect == "cut":
            return CutShort(response, rule.cut_after_bytes)
        elif rule.effect == "corrupt":
            corrupt_answer(response, self._accepts(rule), self._injector.topic_name)
        elif rule.effect == "stale_metadata":
            memory = self._injector.memory(met.rule_id)
            if memory is not None:
                memory.apply(response, self._accepts(rule))
        elif rule.stage == "after" and rule.effect == "error":
            return self._fail_behind(rule, response)
        elif rule.stage == "after":
            await self._hold_up(met)
        return response

    def _fail_behind(self, rule: FaultRule, response: Response) -> Response:
        rest, failed = self._error_answer(rule).split(
            self._whole, self._seen.version, self._accepts(rule), self._injector.topic_name
        )
        if failed is None:
            raise DisconnectError(f"the answer to {self._seen.api} has no room for an error")
        if rest is None:
            return failed
        overlay(response, failed, self._whole, is_about_topics=_is_about_topics(rule))
        return response

    @staticmethod
    def _error_answer(rule: FaultRule) -> ErrorAnswer:
        return ErrorAnswer(rule.error, rule.message, rule.at_top, _is_about_topics(rule))

    @staticmethod
    def _accepts(rule: FaultRule) -> Callable[[RequestPart], bool]:
        return lambda part: is_meant(rule, part.topic, part.partition, part.group, part.transactional_id)


def _is_about_topics(rule: FaultRule) -> bool:
    return rule.topic is not None


def _delay_ms(met: RuleInForce) -> float:
    longest = met.rule.up_to_ms
    return met.rule.delay_ms if longest is None else met.chance.uniform(met.rule.delay_ms, longest)

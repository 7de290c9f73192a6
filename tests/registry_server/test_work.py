"""What takes long is done beside the event loop, and decisions are made as if it had not been."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as st
from tests.registry_server.schemas import USER

from barnabas.registry_server import work
from barnabas.registry_server.journal.journal import NotLeaderError, Record
from barnabas.registry_server.journal.memory import MemoryJournal
from barnabas.registry_server.rest.app import RegistryApp
from barnabas.registry_server.service import MOST_TIMES, RegistryService
from barnabas.registry_server.state import RegistryState
from barnabas.registry_server.work import SlowCall, SlowCalls
from barnabas.registry_server.workers import THREADS, Workers

VERSIONS = "/subjects/s/versions"


def record(*fields: tuple[str, str]) -> str:
    return json.dumps(
        {"type": "record", "name": "U", "fields": [{"name": name, "type": kind} for name, kind in fields]}
    )


V1 = record(("a", "int"), ("b", "int"))
OF_B = record(("a", "int"))
"""It may follow V1."""
OF_A = record(("b", "int"))
"""So may this one, but not OF_B."""


class HeldWorkers(Workers):
    """Does steps with a text in them when it is let."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self.waiting = asyncio.Event()
        self.let = asyncio.Event()

    async def do(self, work: SlowCalls, call: SlowCall) -> None:
        if self._text in repr(call.arguments):
            self.waiting.set()
            await self.let.wait()
        await super().do(work, call)


@asynccontextmanager
async def serving(service: RegistryService) -> AsyncGenerator[httpx.AsyncClient]:
    await service.start()
    transport = httpx.ASGITransport(app=RegistryApp(service))
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://registry") as client:
            yield client
    finally:
        await service.close()


def comparisons(call: SlowCall) -> bool:
    return "_differences" in call.function.__name__


def test_a_cheap_question_is_answered_while_a_huge_schema_is_compared() -> None:
    names = [f"n{number}" for number in range(20_000)]
    huge = json.dumps({"type": "object", "properties": {name: {"type": "string"} for name in names}})

    async def run() -> None:
        async with serving(RegistryService(MemoryJournal())) as client:
            schema = {"schemaType": "JSON", "schema": huge}
            assert (await client.post(VERSIONS, json=schema)).status_code == 200
            changed = {"schemaType": "JSON", "schema": huge.replace("string", "number")}
            check = asyncio.create_task(client.post(f"/compatibility{VERSIONS}/latest", json=changed))
            answered = 0
            while not check.done():
                assert (await client.get("/subjects")).json() == ["s"]
                answered += 1
                await asyncio.sleep(0)
            assert (await check).json() == {"is_compatible": False}
            # The first one may have come before the check, and the last one after it.
            assert answered > 3

    asyncio.run(run())


def test_a_schema_that_was_compared_while_another_was_registered_is_held_against_that() -> None:
    async def run() -> None:
        workers = HeldWorkers(OF_A.replace(" ", ""))
        async with serving(RegistryService(MemoryJournal(), workers=workers)) as client:
            await client.post(VERSIONS, json={"schema": V1})
            late = asyncio.create_task(client.post(VERSIONS, json={"schema": OF_A}))
            await workers.waiting.wait()
            # Who waits for a thread keeps nobody from writing.
            assert (await client.post(VERSIONS, json={"schema": OF_B})).json()["version"] == 2
            assert not late.done()
            workers.let.set()
            refused = await late
            assert refused.status_code == 409
            assert "oldSchemaVersion: 2" in refused.json()["message"]
            assert (await client.get(VERSIONS)).json() == [1, 2]

    asyncio.run(run())


def test_the_same_schema_from_two_has_one_version() -> None:
    async def run() -> None:
        workers = HeldWorkers("a")
        async with serving(RegistryService(MemoryJournal(), workers=workers)) as client:
            both = [asyncio.create_task(client.post(VERSIONS, json={"schema": V1})) for _ in range(2)]
            await workers.waiting.wait()
            workers.let.set()
            found = [(await each).json() for each in both]
            assert [(each["id"], each["version"]) for each in found] == [(1, 1), (1, 1)]

    asyncio.run(run())


class InOrder(Workers):
    """Steps of several requests are done one after the other, in an order that is given: numbers, each of who
    comes next of those that wait."""

    def __init__(self, choices: list[int]) -> None:
        super().__init__()
        self._choices = choices
        self._waiting: list[asyncio.Event] = []

    async def do(self, work: SlowCalls, call: SlowCall) -> None:
        turn = asyncio.Event()
        self._waiting.append(turn)
        asyncio.get_running_loop().call_later(0, self._next)
        await turn.wait()
        await super().do(work, call)

    def _next(self) -> None:
        if self._waiting:
            number = self._choices.pop() if self._choices else 0
            self._waiting.pop(number % len(self._waiting)).set()


SCHEMAS = [V1, OF_A, OF_B, record(("c", "string")), record(("a", "long")), '"int"', USER, "nonsense"]


@given(
    asked=st.lists(st.tuples(st.sampled_from(["s", "t"]), st.sampled_from(SCHEMAS)), min_size=2, max_size=8),
    choices=st.lists(st.integers(0, 7), max_size=60),
)
def test_however_threads_take_turns_what_was_written_is_what_one_after_the_other_would_have(
    asked: list[tuple[str, str]], choices: list[int]
) -> None:
    async def run(workers: Workers, requests: list[tuple[str, str]], *, at_once: bool) -> list[Any]:
        journal = MemoryJournal()
        async with serving(RegistryService(journal, workers=workers)) as client:

            async def register(subject: str, schema: str) -> tuple[int, Any]:
                answer = await client.post(f"/subjects/{subject}/versions", json={"schema": schema})
                return answer.status_code, answer.json()

            if at_once:
                found = await asyncio.gather(*(register(*each) for each in requests))
            else:
                found = [await register(*each) for each in requests]
            kept = [key for key, _ in journal.records]
        return [kept, found]

    kept, found = asyncio.run(run(InOrder(list(choices)), asked, at_once=True))
    written: dict[tuple[str, int], tuple[str, str]] = {}
    for (subject, schema), (status, answer) in zip(asked, found, strict=True):
        if status == 200:
            written.setdefault((subject, answer["version"]), (subject, schema))
    keys = [json.loads(key) for key in kept]
    in_turn = [written[key["subject"], key["version"]] for key in keys]
    assert asyncio.run(run(Workers(), in_turn, at_once=False))[0] == kept
    # And what was refused may not follow what is there, nor be there.
    for (_, schema), (status, _) in zip(asked, found, strict=True):
        if schema == "nonsense":
            assert status == 422


def test_a_registry_that_does_not_lead_does_no_work_for_the_leader() -> None:
    class Follower(MemoryJournal):
        async def caught_up(self) -> None:
            raise NotLeaderError("no")

        def leader_url(self) -> str | None:
            return "http://leads"

    done: list[SlowCall] = []

    class Seen(Workers):
        async def do(self, work: SlowCalls, call: SlowCall) -> None:
            done.append(call)
            await super().do(work, call)

    async def run() -> None:
        leader = MemoryJournal()
        async with serving(RegistryService(leader)) as client:
            await client.post(VERSIONS, json={"schema": V1})
        service = RegistryService(Follower(leader.records), workers=Seen())
        async with serving(service) as client:
            await client.post(VERSIONS, json={"schema": OF_A})

    asyncio.run(run())
    assert done
    assert not any(map(comparisons, done))


def test_requests_beyond_those_that_may_wait_are_told_so() -> None:
    gate = threading.Event()

    def waits() -> None:
        gate.wait()

    async def run() -> list[int]:
        workers = Workers(threads=1, most_waiting=1)
        async with serving(RegistryService(MemoryJournal(), workers=workers)) as client:
            held = asyncio.create_task(workers.do(SlowCalls(), SlowCall(waits, ())))
            await asyncio.sleep(0)
            asked = [
                asyncio.create_task(client.post(f"/subjects/{number}/versions", json={"schema": V1}))
                for number in range(3)
            ]
            # Two are told at once, and the third one only when it has been its turn.
            told, waiting = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            while len(told) < 2:
                more, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                told |= more
            assert not held.done()
            gate.set()
            await held
            return [(await each).status_code for each in (*told, *waiting)]

    assert asyncio.run(run()) == [503, 503, 200]


def test_who_writes_does_not_wait_for_what_others_have_compared() -> None:
    gate = threading.Event()

    def waits() -> None:
        gate.wait()

    async def run() -> tuple[list[int], bool]:
        workers = Workers()
        async with serving(RegistryService(MemoryJournal(), workers=workers, writers=Workers())) as client:
            try:
                # As many checks as readers have threads, and more.
                held = [asyncio.create_task(workers.do(SlowCalls(), SlowCall(waits, ()))) for _ in range(10)]
                written = [await client.post(VERSIONS, json={"schema": text}) for text in (V1, OF_B, OF_B)]
                return [each.status_code for each in written], any(each.done() for each in held)
            finally:
                gate.set()
                await asyncio.gather(*held)

    assert asyncio.run(asyncio.wait_for(run(), 20)) == ([200, 200, 200], False)


def test_who_reads_and_who_writes_have_threads_of_their_own() -> None:
    begun, gate = threading.Semaphore(0), threading.Event()

    def waits() -> None:
        begun.release()
        gate.wait()

    def all_wait() -> None:
        for _ in range(THREADS):
            begun.acquire()

    async def run() -> int:
        service = RegistryService(MemoryJournal())
        held: list[asyncio.Task[Any]] = []

        async def compares(_state: Any) -> None:
            await work.done(waits)

        async with serving(service) as client:
            try:
                held = [asyncio.create_task(service.read(compares)) for _ in range(THREADS)]
                # Before that a thread might be free for the one that writes.
                await asyncio.to_thread(all_wait)
                return (await client.post(VERSIONS, json={"schema": V1})).status_code
            finally:
                gate.set()
                await asyncio.gather(*held)

    assert asyncio.run(asyncio.wait_for(run(), 20)) == 200


def test_what_a_thread_raises_is_told_as_if_it_had_been_raised_here() -> None:
    async def run() -> tuple[int, Any]:
        async with serving(RegistryService(MemoryJournal())) as client:
            found = await client.post(VERSIONS, json={"schema": "{"})
            return found.status_code, found.json()["error_code"]

    assert asyncio.run(run()) == (422, 42201)


class Begun:
    """A decision that has two texts read, and counts how often it is begun, and how often each was read."""

    def __init__(self) -> None:
        self.times = 0
        self.read: list[str] = []

    async def __call__(self, _state: RegistryState) -> list[str]:
        self.times += 1
        return [await work.done(self._upper, text) for text in ("a", "b")]

    def _upper(self, text: str) -> str:
        self.read.append(text)
        return text.upper()


def test_a_decision_goes_on_after_slow_calls_where_nothing_was_written() -> None:
    looks = Begun()
    service = RegistryService(MemoryJournal())

    async def run() -> list[str]:
        async with serving(service):
            return await service.read(looks)

    assert asyncio.run(run()) == ["A", "B"]
    assert looks.times == 1


def test_a_decision_begins_again_where_something_was_written_and_has_nothing_done_twice() -> None:
    looks = Begun()

    class Written(Workers):
        async def do(self, work: SlowCalls, call: SlowCall) -> None:
            await super().do(work, call)
            if call.arguments == ("b",):
                service.state.apply(b"{}", None, 0, 0)

    service = RegistryService(MemoryJournal(), workers=Written())

    async def run() -> list[str]:
        async with serving(service):
            return await service.read(looks)

    assert asyncio.run(run()) == ["A", "B"]
    assert (looks.times, looks.read) == (2, ["a", "b"])


def test_a_write_that_needs_a_slow_call_in_its_turn_catches_up_again_before_it_appends() -> None:
    """The decision needs another text each time that the state is another one."""
    order: list[str] = []

    class Seen(MemoryJournal):
        async def caught_up(self) -> None:
            order.append("caught up")
            if order.count("caught up") == 1:
                service.state.apply(b"{}", None, 0, 0)

    def reads(number: int) -> None:
        order.append(f"read {number}")

    async def decide(state: RegistryState) -> tuple[list[Record], None]:
        await work.done(reads, state.applied)
        order.append("decided")
        return [], None

    service = RegistryService(Seen())

    async def run() -> None:
        async with serving(service):
            await service.write(decide)

    asyncio.run(run())
    assert order == ["read 0", "decided", "caught up", "read 1", "caught up", "decided"]


def test_a_decision_on_what_changes_all_the_time_ends() -> None:
    """Each time that the work is done, the schema to compare with has become another one."""
    journal = MemoryJournal()

    class Changing(Workers):
        times = 0

        async def do(self, work: SlowCalls, call: SlowCall) -> None:
            await super().do(work, call)
            if comparisons(call):
                self.times += 1
                for key, value in journal.records:
                    changed = value.replace(b"U", f"U{self.times}".encode())
                    service.state.apply(key, None, 0, 0)
                    service.state.apply(key, changed, 0, 0)

    workers = Changing()
    service = RegistryService(journal, workers=workers)

    async def run() -> tuple[int, int]:
        async with serving(service) as client:
            await client.post(VERSIONS, json={"schema": V1})
            answer = await client.post(f"/compatibility{VERSIONS}/latest", json={"schema": OF_A})
            return answer.status_code, workers.times

    assert asyncio.run(run()) == (503, MOST_TIMES)

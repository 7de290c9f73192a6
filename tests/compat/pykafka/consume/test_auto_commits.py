"""The order of commits by the clock and by threads, forced by commits that end when the test says."""

import asyncio
from types import SimpleNamespace

from tests.virtual.loop import VirtualWorld
from tests.waiting import wait_for_async

from barnabas.compat.pykafka._consume import auto_commits
from barnabas.compat.pykafka._consume.auto_commits import AutoCommits
from barnabas.errors import KafkaTimeoutError


class Broker:
    """Takes commits, each of which ends when `answer` is called."""

    def __init__(self):
        self.begun = []
        self.ended = []
        self.cancelled = []
        self._answers = []
        self.config = SimpleNamespace(request_timeout_ms=1000)

    def in_background(self, work, what):
        return asyncio.get_running_loop().create_task(work)

    async def commit(self, client, identity, offsets, **_):
        self.begun.append(offsets)
        answer = asyncio.get_running_loop().create_future()
        self._answers.append(answer)
        try:
            await answer
        except asyncio.CancelledError:
            self.cancelled.append(offsets)
            raise
        self.ended.append(offsets)

    def answer(self, error=None):
        answer = self._answers.pop(0)
        answer.set_result(None) if error is None else answer.set_exception(error)


def played(scene):
    """Runs `scene(broker, commits, consumed, failures)` on virtual time."""

    async def run():
        broker, consumed, failures = Broker(), [0], []
        commits = AutoCommits(
            broker, 0.001, lambda: (None, consumed[0], {}), failures.append, commit=broker.commit
        )
        try:
            await asyncio.wait_for(scene(broker, commits, consumed, failures), 20)
        finally:
            commits.end()
            await asyncio.sleep(0)

    VirtualWorld(seed=0).run(run)


def test_a_thread_that_commits_waits_for_the_one_under_way_and_none_begins_before_it_is_done():
    async def scene(broker, commits, consumed, failures):
        await wait_for_async(lambda: broker.begun == [0])
        consumed[0] = 1
        held = asyncio.ensure_future(commits.hold())
        await asyncio.sleep(1)
        assert not held.done()
        broker.answer()
        await held
        assert broker.ended == [0]
        # The thread commits here what was consumed by now; nothing older comes behind it.
        await asyncio.sleep(1)
        assert broker.begun == [0]
        consumed[0] = 2
        commits.let_go()
        await wait_for_async(lambda: broker.begun == [0, 2])

    played(scene)


def test_two_threads_hold_commits_until_both_have_let_go():
    async def scene(broker, commits, consumed, failures):
        await commits.hold()
        await commits.hold()
        commits.let_go()
        await asyncio.sleep(1)
        assert broker.begun == []
        commits.let_go()
        await wait_for_async(lambda: broker.begun == [0])

    played(scene)


def test_one_commit_is_under_way_at_a_time_and_the_next_has_what_was_consumed_by_then():
    async def scene(broker, commits, consumed, failures):
        await wait_for_async(lambda: broker.begun == [0])
        consumed[0] = 5
        await asyncio.sleep(1)
        assert broker.begun == [0]
        broker.answer()
        await wait_for_async(lambda: broker.begun == [0, 5])

    played(scene)


def test_one_that_is_never_answered_is_cancelled_before_a_thread_goes_on(monkeypatch):
    monkeypatch.setattr(auto_commits, "PATIENCE_SECONDS", 0.01)

    async def scene(broker, commits, consumed, failures):
        await wait_for_async(lambda: broker.begun == [0])
        await commits.hold()
        await wait_for_async(lambda: broker.cancelled == [0])

    played(scene)


def test_what_goes_wrong_is_told_and_the_next_commit_is_made_all_the_same():
    async def scene(broker, commits, consumed, failures):
        await wait_for_async(lambda: broker.begun == [0])
        error = KafkaTimeoutError("nobody there")
        broker.answer(error)
        await wait_for_async(lambda: broker.begun == [0, 0])
        assert failures == [error]

    played(scene)


def test_the_end_leaves_no_commit():
    async def scene(broker, commits, consumed, failures):
        await wait_for_async(lambda: broker.begun == [0])
        commits.end()
        await wait_for_async(lambda: broker.cancelled == [0])
        await asyncio.sleep(1)
        assert broker.begun == [0]

    played(scene)


def test_the_last_commit_comes_behind_the_one_under_way_and_none_comes_after_it():
    async def scene(broker, commits, consumed, failures):
        await wait_for_async(lambda: broker.begun == [0])
        consumed[0] = 1
        last = asyncio.ensure_future(commits.make_last())
        await asyncio.sleep(1)
        assert broker.begun == [0]
        broker.answer()
        await wait_for_async(lambda: broker.begun == [0, 1])
        broker.answer()
        await last
        consumed[0] = 2
        await asyncio.sleep(1)
        assert broker.ended == [0, 1]
        assert broker.begun == [0, 1]

    played(scene)

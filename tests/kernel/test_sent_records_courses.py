"""Every course that those may take who share the records of a producer: the loop's thread, which decides
batches and ends the teller; the teller's thread; and a program's, which adds callbacks. Each step is forced
to come when it does."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from tests.kernel.sent_records import Bench
from tests.waiting import Patience

from barnabas._kernel import FutureRecordMetadata

LIMIT_SECONDS = 20.0
LOOP = ("decide first", "decide second", "end")
PROGRAM = ("add 0", "add 1", "add 2", "add 0")
"""Records 0 and 1 are in the first batch, 2 is in the second one."""
TELLER = ("tell", "tell")
OFFSETS = (10, 11, 30)


class Course:
    """One course, with threads of its own."""

    def __init__(self) -> None:
        self._bench = Bench()
        self._futures: list[FutureRecordMetadata] = self._bench.send(2)
        first = self._bench.drain()
        self._futures += self._bench.send(1)
        self._batches = [first, self._bench.drain()]
        self._may_call = threading.Semaphore(0)
        self._is_stopped = threading.Event()
        """The teller's thread is in a callback that may not go on yet."""
        self._teller = threading.Thread(target=self._bench.teller.run)
        self.called: list[tuple[int, int, int, bool]] = []
        """The record, which of its callbacks, the offset, and whether it was the teller's thread."""
        self.was_done: list[bool] = []
        """Of each callback that was added, whether its record was done."""
        self.got: dict[int, int] = {}
        self._getters = [threading.Thread(target=self._get, args=(record,)) for record in range(3)]
        for thread in (self._teller, *self._getters):
            thread.start()

    def take(self, steps: Sequence[str]) -> None:
        for step in steps:
            getattr(self, f"_{step.split()[0]}")(*step.split()[1:])
            self._until_quiet()
        self._may_call.release(len(PROGRAM))
        for thread in (self._teller, *self._getters):
            thread.join(LIMIT_SECONDS)
            assert not thread.is_alive()

    def _until_quiet(self) -> None:
        """Until the teller's thread has nothing to do, or may not."""
        patience = Patience(LIMIT_SECONDS)
        # A wait of no time would keep the interpreter from the teller's thread.
        while not self._is_stopped.is_set() and not self._bench.teller.wait(0.001):
            patience.check()

    def _get(self, record: int) -> None:
        self.got[record] = self._futures[record].get(LIMIT_SECONDS).offset

    def _decide(self, batch: str) -> None:
        if batch == "first":
            self._batches[0].complete(OFFSETS[0])
        else:
            self._batches[1].complete(OFFSETS[2])

    def _end(self) -> None:
        self._bench.teller.end()

    def _tell(self) -> None:
        if self._is_stopped.is_set():
            self._is_stopped.clear()
            self._may_call.release()

    def _add(self, record: str) -> None:
        place, future = len(self.was_done), self._futures[int(record)]
        self.was_done.append(future.is_done)
        future.add_callback(lambda metadata: self._call(int(record), place, metadata.offset))

    def _call(self, record: int, place: int, offset: int) -> None:
        is_teller = threading.current_thread() is self._teller
        self.called.append((record, place, offset, is_teller))
        if is_teller:
            self._is_stopped.set()
            assert self._may_call.acquire(timeout=LIMIT_SECONDS)


def courses(*sequences: tuple[str, ...]) -> Iterator[list[str]]:
    """All orders of the steps of several who each take theirs in order."""
    if not any(sequences):
        yield []
        return
    for number, sequence in enumerate(sequences):
        if sequence:
            rest = (*sequences[:number], sequence[1:], *sequences[number + 1 :])
            for course in courses(*rest):
                yield [sequence[0], *course]


def test_every_callback_is_called_once_and_in_order_whatever_comes_first() -> None:
    count = 0
    for steps in courses(LOOP, PROGRAM, TELLER):
        course = Course()
        course.take(steps)
        count += 1
        called = course.called
        assert sorted(place for _, place, _, _ in called) == [0, 1, 2, 3], steps
        assert all(offset == OFFSETS[record] for record, _, offset, _ in called), steps
        assert course.got == dict(enumerate(OFFSETS)), steps
        of_first_record = [place for record, place, _, _ in called if record == 0]
        assert of_first_record == sorted(of_first_record), steps
        by_teller = {place: is_teller for _, place, _, is_teller in called}
        # A record that is done has its callbacks called by whoever adds them.
        assert all(by_teller[place] != was_done for place, was_done in enumerate(course.was_done)), steps
    assert count == 1260

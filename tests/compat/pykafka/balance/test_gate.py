"""The gate between a program that consumes and rebalances: rebalances go first, and doubt shuts it."""

import threading

import pytest

from barnabas.compat.pykafka._balance.gate import RebalanceGate


class Threads:
    Event = threading.Event
    RLock = staticmethod(threading.RLock)


@pytest.fixture
def gate():
    gate = RebalanceGate(Threads())
    gate.set_occupied(True)
    return gate


def test_it_is_open_only_while_there_is_something_to_consume(gate):
    assert gate.is_open
    gate.set_occupied(False)
    assert not gate.is_open


def test_a_program_that_waits_is_told_to_let_go_and_a_rebalance_has_the_lock_alone(gate):
    holds, done = threading.Event(), threading.Event()

    def program():
        with gate.lock:
            holds.set()
            assert gate.is_wanted.wait(10)
        done.set()

    thread = threading.Thread(target=program)
    thread.start()
    assert holds.wait(10)
    with gate.rebalance():
        assert done.wait(10)
        assert not gate.is_open
    thread.join()
    assert gate.is_open
    assert not gate.is_wanted.is_set()


def test_the_program_does_not_come_back_between_two_rebalances(gate):
    first_in, second_counts, second_in = threading.Event(), threading.Event(), threading.Event()

    class CountLock:
        """Tells when the second rebalance has said that it wants in."""

        def __init__(self):
            self._lock = threading.RLock()
            self.entries = 0

        def __enter__(self):
            self._lock.acquire()

        def __exit__(self, *_):
            self.entries += 1
            if self.entries == 2:
                second_counts.set()
            self._lock.release()

    gate._count_lock = CountLock()
    seen = []

    def first():
        with gate.rebalance():
            first_in.set()
            assert second_counts.wait(10)
        seen.append(gate.is_open or second_in.is_set())

    def second():
        assert first_in.wait(10)
        with gate.rebalance():
            second_in.set()
            seen.append(gate.is_open)

    threads = [threading.Thread(target=target) for target in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert False in seen
    assert gate.is_open


def test_another_rebalance_is_hurried_until_it_ends(gate):
    is_in, may_end = threading.Event(), threading.Event()

    def rebalance():
        with gate.rebalance():
            is_in.set()
            assert may_end.wait(10)

    thread = threading.Thread(target=rebalance)
    thread.start()
    assert is_in.wait(10)
    hurried = []

    def hurry():
        hurried.append(True)
        if len(hurried) == 2:
            may_end.set()

    with gate.rebalance(hurry=hurry):
        assert len(hurried) >= 2
    thread.join()
    with gate.rebalance(hurry=pytest.fail):
        assert not gate.is_open


def test_a_rebalance_inside_another_is_of_the_same_thread(gate):
    with gate.rebalance(), gate.rebalance():
        assert not gate.is_open
    assert gate.is_open


def test_doubt_lasts_until_a_rebalance_that_began_after_it(gate):
    gate.doubt()
    assert gate.is_wanted.is_set()
    assert not gate.is_open
    seen = gate.doubts
    gate.doubt()
    gate.trust(seen)
    assert gate.is_in_doubt
    assert not gate.is_open
    gate.trust(gate.doubts)
    assert gate.is_open
    assert not gate.is_wanted.is_set()


def test_doubt_outlasts_a_rebalance_that_fails(gate):
    def rebalance():
        with gate.rebalance():
            gate.doubt()
            raise ConnectionError("lost")

    with pytest.raises(ConnectionError, match="lost"):
        rebalance()
    assert not gate.is_open

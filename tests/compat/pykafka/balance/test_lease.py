"""How long a consumer may trust a session that it hears nothing of."""

from barnabas.compat.pykafka._balance.lease import SessionLease


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def lease_of(clock, answers, *, timeout=8.0, takes=0.0):
    asked = []

    def ask():
        asked.append(clock.now)
        clock.now += takes
        return answers.pop(0)

    return SessionLease(timeout, ask, clock), asked


def test_zookeeper_is_asked_once_in_a_quarter_of_the_time_out():
    clock = Clock()
    lease, asked = lease_of(clock, [True, True])
    for _ in range(9):
        assert lease.is_sure()
        clock.now += 0.25
    assert len(asked) == 2


def test_a_process_that_was_away_asks_before_it_is_sure():
    clock = Clock()
    lease, asked = lease_of(clock, [True, False])
    assert lease.is_sure()
    clock.now += 60
    assert not lease.is_sure()
    assert asked == [100.0, 160.0]


def test_who_is_not_sure_asks_again_each_time():
    lease, asked = lease_of(Clock(), [False, False, True])
    assert [lease.is_sure() for _ in range(3)] == [False, False, True]
    assert len(asked) == 3


def test_an_answer_that_took_longer_than_what_it_promises_is_worth_nothing():
    lease, _ = lease_of(Clock(), [True], takes=4.5)
    assert not lease.is_sure()

"""When heartbeats are sent, with answers that come when the test says."""

import threading
from types import SimpleNamespace

import pytest

from barnabas.compat.pykafka._balance.heartbeats import Heartbeats
from barnabas.compat.pykafka.exceptions import SocketDisconnectedError
from barnabas.compat.pykafka.handlers import ResponseFuture, ThreadingHandler
from barnabas.loop_thread import loop_thread


class Member:
    """What heartbeats are sent for. `is_connected`: whether there is a connection for the next one."""

    def __init__(self):
        self.sent = []
        self.mended = []
        self.is_connected = True
        self.beats = Heartbeats(loop_thread(), 0.001, self.beat, lambda answer: answer.get(), self.mend)

    def beat(self):
        if not self.is_connected:
            return None
        self.sent.append(ResponseFuture(ThreadingHandler()))
        return self.sent[-1]

    def mend(self, response):
        self.mended.append(None if response is None else response.error_code)


@pytest.fixture
def member():
    member = Member()
    yield member
    member.beats.end()


def after_the_loop_has_run_for_a_while():
    """As long as many heartbeats would take."""
    done = threading.Event()
    loop = loop_thread()
    loop.call(lambda: loop.loop.call_later(0.03, done.set))
    assert done.wait(20)


def answer(member, code=0):
    member.sent[-1].set_response(SimpleNamespace(error_code=code))


@pytest.mark.integration
def test_the_next_one_is_sent_when_the_last_is_answered(member, eventually):
    member.beats.go_on()
    for count in (1, 2, 3):
        eventually(lambda count=count: len(member.sent) == count)
        after_the_loop_has_run_for_a_while()
        assert len(member.sent) == count
        answer(member)


@pytest.mark.integration
def test_none_is_sent_while_the_member_mends_what_an_answer_told_of(member, eventually):
    member.beats.go_on()
    eventually(lambda: len(member.sent) == 1)
    answer(member, 27)
    eventually(lambda: member.mended == [27])
    after_the_loop_has_run_for_a_while()
    assert len(member.sent) == 1
    member.beats.go_on()
    eventually(lambda: len(member.sent) == 2)


@pytest.mark.integration
def test_the_member_looks_for_itself_where_no_answer_came_or_none_could_be_asked_for(member, eventually):
    member.beats.go_on()
    eventually(lambda: len(member.sent) == 1)
    member.sent[-1].set_error(SocketDisconnectedError())
    eventually(lambda: member.mended == [None])
    member.is_connected = False
    member.beats.go_on()
    eventually(lambda: member.mended == [None, None])


@pytest.mark.integration
def test_an_answer_that_comes_after_the_end_means_nothing(member, eventually):
    member.beats.go_on()
    eventually(lambda: len(member.sent) == 1)
    member.beats.end()
    answer(member, 27)
    member.beats.go_on()
    after_the_loop_has_run_for_a_while()
    assert (len(member.sent), member.mended) == (1, [])


def test_an_answer_that_was_there_before_anybody_waited_counts(member):
    future = ResponseFuture(ThreadingHandler())
    future.set_response(b"")
    heard = []
    future.when_done(lambda: heard.append(1))
    assert heard == [1]

"""What connections put into an inbox is told once, in order, by the thread that polls."""

from __future__ import annotations

import threading
import time

import pytest
from tests.waiting import NEVER_SECONDS, Patience

from barnabas.compat.kafka_engine.network.inbox import Inbox


def test_news_are_told_in_the_order_in_which_they_came_and_only_once() -> None:
    inbox = Inbox()
    told: list[int] = []
    for number in range(3):
        inbox.put(lambda number=number: told.append(number))
    inbox.tell(0)
    inbox.tell(0)
    assert told == [0, 1, 2]


def test_what_news_return_is_an_answer_unless_it_is_nothing() -> None:
    inbox = Inbox()
    inbox.put(lambda: "first")
    inbox.put(lambda: None)
    inbox.put(lambda: "second")
    assert inbox.tell(0) == ["first", "second"]


def test_news_of_another_thread_end_the_wait() -> None:
    inbox = Inbox()
    is_waiting = threading.Event()

    def put() -> None:
        is_waiting.wait()
        inbox.put(lambda: "news")

    other = threading.Thread(target=put)
    other.start()
    is_waiting.set()
    assert inbox.tell(NEVER_SECONDS) == ["news"]
    other.join()


def test_waking_ends_the_next_wait_as_well_and_only_that() -> None:
    inbox = Inbox()
    inbox.wake()
    assert inbox.tell(NEVER_SECONDS) == []
    began = time.monotonic()
    assert inbox.tell(0.05) == []
    assert time.monotonic() - began >= 0.04


def test_news_that_put_news_have_them_told_too() -> None:
    inbox = Inbox()
    inbox.put(lambda: inbox.put(lambda: "later"))
    assert inbox.tell(0) == ["later"]


@pytest.mark.integration
def test_threads_that_poll_together_tell_each_of_the_news_once() -> None:
    inbox = Inbox()
    told: list[int] = []
    done = threading.Event()

    def poll() -> None:
        while not done.is_set():
            inbox.tell(0.001)

    pollers = [threading.Thread(target=poll) for _ in range(3)]
    for poller in pollers:
        poller.start()
    for number in range(2000):
        inbox.put(lambda number=number: told.append(number))
    patience = Patience()
    while len(told) < 2000:
        patience.pause()
    done.set()
    for poller in pollers:
        poller.join()
    assert sorted(told) == list(range(2000))

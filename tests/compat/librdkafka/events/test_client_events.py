"""The queue of callbacks: who is called, in which thread, in which order, and what an exception leaves."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

import pytest

import barnabas
from barnabas._kernel import EventQueue
from barnabas.compat.librdkafka.config.client_callbacks import ClientCallbacks
from barnabas.compat.librdkafka.events.client_events import ClientEvents, client_name
from barnabas.compat.librdkafka.values.errors import KafkaError
from barnabas.errors import BootstrapError


@contextmanager
def refused_address() -> Generator[str]:
    """Where nobody listens, and nobody else can begin to."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{holder.getsockname()[1]}"


def test_calls_are_made_in_the_thread_that_serves_and_in_order() -> None:
    queue = EventQueue()
    called: list[tuple[int, threading.Thread]] = []

    def put_all() -> None:
        for number in range(3):
            queue.put(lambda number=number: called.append((number, threading.current_thread())))

    thread = threading.Thread(target=put_all)
    thread.start()
    thread.join()
    assert len(queue) == 3
    assert queue.serve() == 3
    assert called == [(number, threading.current_thread()) for number in range(3)]
    assert queue.serve() == 0


def test_what_a_call_raises_comes_out_and_the_rest_is_left() -> None:
    queue = EventQueue()
    called: list[str] = []

    def fail() -> None:
        raise ZeroDivisionError("on purpose")

    queue.put(lambda: called.append("first"))
    queue.put(fail)
    queue.put(lambda: called.append("last"))
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        queue.serve()
    assert called == ["first"]
    assert queue.serve() == 1
    assert called == ["first", "last"]


def test_serving_everything_raises_the_last_exception_at_its_end() -> None:
    queue = EventQueue()
    called: list[str] = []

    def fail(text: str) -> None:
        raise ValueError(text)

    queue.put(lambda: fail("one"))
    queue.put(lambda: fail("two"))
    queue.put(lambda: called.append("after both"))
    with pytest.raises(ValueError, match="two"):
        queue.serve_all(1.0)
    assert called == ["after both"]


def test_what_is_added_while_serving_waits_for_the_next_time() -> None:
    queue = EventQueue()
    called: list[str] = []
    queue.put(lambda: queue.put(lambda: called.append("second")))
    assert queue.serve() == 1
    assert called == []
    assert queue.serve() == 1
    assert called == ["second"]


def test_serving_waits_for_the_first_event() -> None:
    queue = EventQueue()
    timer = threading.Timer(0.05, queue.put, [lambda: None])
    timer.start()
    assert queue.serve(-1) == 1
    timer.join()
    began = time.monotonic()
    assert queue.serve(0.05) == 0
    assert time.monotonic() - began >= 0.05


def test_an_addition_notifies_who_waits_elsewhere() -> None:
    queue = EventQueue()
    notified = threading.Event()
    queue.notify(notified.set)
    queue.put(lambda: None)
    assert notified.is_set()


def test_ctrl_c_ends_a_wait_for_events() -> None:
    queue = EventQueue()
    timer = threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        timer.start()
        queue.serve(-1)
    timer.join()


def test_clients_are_numbered_in_the_order_they_are_made() -> None:
    first = client_name("producer", "rdkafka")
    second = client_name("consumer", "mine")
    assert first.startswith("rdkafka#producer-")
    assert second.startswith("mine#consumer-")
    assert int(second.rpartition("-")[2]) == int(first.rpartition("-")[2]) + 1


@pytest.mark.integration
def test_brokers_that_refuse_connections_are_told_of_when_the_program_polls() -> None:
    errors: list[KafkaError] = []
    records: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record.getMessage())

    forwarded = logging.getLogger("tests.compat.events")
    forwarded.propagate = False
    forwarded.addHandler(Handler())
    with refused_address() as address:
        callbacks = ClientCallbacks(error_cb=errors.append, logger=forwarded)
        events = ClientEvents(callbacks, name="rdkafka#producer-7")
        with barnabas.Producer(address) as producer:
            events.attach(producer)
            with pytest.raises(BootstrapError):
                producer.partitions_for("any", timeout=0.3)
            assert errors == []
            events.serve(5)
            events.detach()
    text = f"{address}/bootstrap: Connect to ipv4#{address} failed: Connection refused"
    assert errors[0].code() == KafkaError._TRANSPORT
    assert errors[0].str() == f"{text} (after 0ms in state CONNECT)"
    assert KafkaError._ALL_BROKERS_DOWN in [error.code() for error in errors]
    assert records[0].startswith(f"FAIL [rdkafka#producer-7] [thrd:{address}/bootstrap]: {text}")

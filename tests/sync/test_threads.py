"""A Consumer that more than one thread uses."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from tests.waiting import NEVER_SECONDS, PATIENCE_SECONDS

from barnabas import Consumer, Producer
from barnabas.errors import MisuseError


@pytest.fixture
def topic(broker: Any, make_topic: Any) -> str:
    return make_topic(broker)


def test_two_threads_that_poll_get_each_record_once_or_one_clear_error(broker: Any, topic: str) -> None:
    count = 50_000
    with Producer(broker.bootstrap) as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number)
    offsets: list[int] = []
    errors: list[BaseException] = []
    with Consumer(broker.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        until = time.monotonic() + 60

        def work() -> None:
            while len(offsets) < count and time.monotonic() < until:
                try:
                    offsets.extend(record.offset for record in consumer.poll(0.1, 50))
                except BaseException as error:
                    errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(offsets) == list(range(count))
    assert errors
    assert {type(error) for error in errors} == {MisuseError}
    assert "another thread or coroutine is polling" in str(errors[0])


def test_close_in_another_thread_ends_a_poll(broker: Any, topic: str) -> None:
    consumer = Consumer(broker.bootstrap, topics=[topic])
    is_polling = threading.Event()
    returned: list[Any] = []

    def work() -> None:
        is_polling.set()
        returned.append(consumer.poll(NEVER_SECONDS))

    thread = threading.Thread(target=work)
    thread.start()
    is_polling.wait()

    def pause_until_refused() -> None:
        while thread.is_alive():
            consumer.pause()

    with pytest.raises(MisuseError, match="another thread or coroutine is polling"):
        pause_until_refused()
    consumer.close()
    thread.join(PATIENCE_SECONDS)
    assert returned == [[]]

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import uuid
from typing import Any

import pytest

from barnabas import Admin, NewTopic, Producer, RecordMetadata, TopicPartition
from barnabas.errors import (
    BootstrapError,
    BufferFullError,
    ClosedError,
    KafkaTimeoutError,
    MisuseError,
    RecordTooLargeError,
    UnknownSettingError,
)


@pytest.fixture
def topic_of_two(broker: Any, eventually: Any) -> str:
    name = f"test-{uuid.uuid4().hex[:12]}"
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 2, 1)])
        eventually(lambda: name in admin.list_topics())
    return name


def end_offsets(broker: Any, topic: str) -> list[int]:
    with Admin(broker.bootstrap) as admin:
        found = admin.list_offsets({TopicPartition(topic, n): "latest" for n in (0, 1)})
    return [found[TopicPartition(topic, n)].offset for n in (0, 1)]


@pytest.mark.integration
def test_a_record_is_sent_and_its_delivery_tells_where_it_is(broker: Any, topic_of_two: str) -> None:
    with Producer(broker.bootstrap) as producer:
        delivery = producer.send(topic_of_two, b"value", key=b"key", partition=1, timestamp=123)
        assert delivery.result(timeout=30) == RecordMetadata(topic_of_two, 1, 0, 123)
        assert len(producer.partitions_for(topic_of_two)) == 2


def test_a_record_can_be_sent_and_waited_for(broker: Any, topic_of_two: str) -> None:
    with Producer(broker.bootstrap) as producer:
        sent = producer.send_and_wait(
            topic_of_two, b"value", key=b"key", partition=1, timestamp=123, timeout=30
        )
        assert sent == RecordMetadata(topic_of_two, 1, 0, 123)
        with pytest.raises(RecordTooLargeError):
            producer.send_and_wait(topic_of_two, b"x" * 2_000_000)
    with (
        Producer(broker.bootstrap, linger_ms=60_000) as producer,
        pytest.raises(KafkaTimeoutError, match=f"{topic_of_two}-0 was not delivered within 0 s"),
    ):
        producer.send_and_wait(topic_of_two, b"value", partition=0, timeout=0)


def test_leaving_the_block_delivers_everything(broker: Any, topic_of_two: str) -> None:
    with Producer(broker.bootstrap, linger_ms=60_000) as producer:
        deliveries = [producer.send(topic_of_two, b"v", partition=n % 2) for n in range(10_000)]
    assert all(delivery.done() for delivery in deliveries)
    assert end_offsets(broker, topic_of_two) == [5_000, 5_000]
    assert producer.stats().records_delivered == 10_000


def test_many_threads_share_a_producer(broker: Any, topic_of_two: str) -> None:
    with Producer(broker.bootstrap, buffer_memory=100_000, batch_size=5_000) as producer:

        def work() -> None:
            for _ in range(2_000):
                producer.send(topic_of_two, b"x" * 50)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        producer.flush()
        assert sum(end_offsets(broker, topic_of_two)) == 8_000


def test_errors_reach_the_caller(broker: Any, topic_of_two: str) -> None:
    with Producer(broker.bootstrap, max_request_size=1_000) as producer:
        with pytest.raises(RecordTooLargeError):
            producer.send(topic_of_two, b"x" * 2_000)
        with pytest.raises(MisuseError, match=topic_of_two):
            producer.send(topic_of_two, b"x", partition=-5)
    with pytest.raises(ClosedError, match="the producer is closed"):
        producer.send(topic_of_two, b"x")
    producer.close()
    with pytest.raises(UnknownSettingError, match="linger_ms"):
        Producer(broker.bootstrap, linger_msec=5)  # type: ignore[call-arg]


def test_an_unreachable_cluster_is_an_error_within_max_block_ms() -> None:
    with (
        Producer("127.0.0.1:9", max_block_ms=2_000) as producer,
        pytest.raises(BootstrapError, match="Connection refused"),
    ):
        producer.send("topic", b"v")


def test_a_callback_may_send_but_not_wait(broker: Any, topic_of_two: str, eventually: Any) -> None:
    errors: list[BaseException] = []
    sent_again: list[Any] = []
    with Producer(broker.bootstrap, linger_ms=0) as producer:

        def on_delivery(error: Any, metadata: Any) -> None:
            sent_again.append(producer.send(topic_of_two, b"again"))
            try:
                producer.flush()
            except MisuseError as misuse:
                errors.append(misuse)

        producer.send(topic_of_two, b"first", on_delivery=on_delivery)
        eventually(lambda: errors)
        assert "callbacks run on the thread that does the work" in str(errors[0])
        assert sent_again[0].result(30).topic == topic_of_two


def test_arrow_rows_are_sent_and_counted(broker: Any, topic_of_two: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"value": pyarrow.array([b"v"] * 5_000, pyarrow.binary())})
    with Producer(broker.bootstrap) as producer:
        assert producer.send_arrow(topic_of_two, table).result(timeout=30) == 5_000
    assert sum(end_offsets(broker, topic_of_two)) == 5_000


def test_the_rows_of_a_data_frame_are_sent(broker: Any, topic_of_two: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"value": ["a", "b"], "partition": [0, 1]})
    with Producer(broker.bootstrap) as producer:
        assert producer.send_arrow(topic_of_two, frame).result(timeout=30) == 2
        with pytest.raises(MisuseError, match="an Arrow table, a record batch or a data frame, not list"):
            producer.send_arrow(topic_of_two, [b"a"])
    assert end_offsets(broker, topic_of_two) == [1, 1]


def test_a_full_buffer_is_an_error_after_max_block_ms(own_broker: Any, eventually: Any) -> None:
    with Admin(own_broker.bootstrap) as admin:
        admin.create_topics([NewTopic("topic")])
        eventually(lambda: "topic" in admin.list_topics())
    with Producer(own_broker.bootstrap, buffer_memory=20_000, max_block_ms=2_500) as producer:
        producer.send("topic", b"first").result(20)
        own_broker.pause()
        try:
            with pytest.raises(BufferFullError, match="buffer_memory=20000"):  # noqa: PT012
                while True:
                    producer.send("topic", b"x" * 1_000)
        finally:
            own_broker.resume()


def test_the_child_of_a_fork_is_told_to_make_its_own(broker: Any, topic_of_two: str) -> None:
    with Producer(broker.bootstrap) as producer:
        producer.send(topic_of_two, b"parent").result(30)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                producer.send(topic_of_two, b"child")
            except ClosedError as error:
                if "make a new producer after the fork" in str(error):
                    with Producer(broker.bootstrap) as own:
                        status = 0 if own.send(topic_of_two, b"child").result(30) else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        producer.send(topic_of_two, b"parent").result(30)
    assert sum(end_offsets(broker, topic_of_two)) == 3


def test_what_is_unsent_when_the_interpreter_ends_is_delivered(broker: Any, topic_of_two: str) -> None:
    code = (
        "import sys; from barnabas import Producer\n"
        "producer = Producer(sys.argv[1], linger_ms=60_000, compression='gzip')\n"
        "for n in range(1000): producer.send(sys.argv[2], b'v', partition=n % 2)\n"
    )
    command = [sys.executable, "-W", "error", "-c", code, broker.bootstrap, topic_of_two]
    subprocess.run(command, check=True, timeout=120)
    assert end_offsets(broker, topic_of_two) == [500, 500]


@pytest.mark.parametrize("wait", ["delivery.result()", "producer.flush()", "producer.send('other', b'v')"])
def test_ctrl_c_interrupts_every_wait(wait: str) -> None:
    code = (
        # A process that hangs ends by itself, and shows where it hangs.
        "import faulthandler; faulthandler.dump_traceback_later(45, exit=True)\n"
        "from barnabas import Producer\n"
        "from barnabas._kernel import Delivery\n"
        "producer = Producer('127.0.0.1:9', linger_ms=60_000)\n"
        "producer._core.accumulator.set_partition_count('topic', 1)\n"
        "delivery = producer.send('topic', b'v')\n"
        "try:\n"
        "    print('ready', flush=True)\n"
        f"    {wait}\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
        "    producer.close(timeout=0)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert process.wait(timeout=60) == 0

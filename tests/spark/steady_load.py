"""Numbers written to a topic at a steady rate, by librdkafka, which knows nothing of us."""

from __future__ import annotations

import threading

import confluent_kafka

PARTITIONS = 2
RECORDS_A_SECOND = 300


class Load:
    """Writes numbers to a topic until it is told to stop, whatever becomes of the brokers."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 0,
                "log_level": 0,
            }
        )
        self._is_over = threading.Event()
        self._count = 0
        self._errors: list[object] = []
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def stop(self) -> list[bytes]:
        """The values, all of which brokers have acknowledged."""
        self._is_over.set()
        self._thread.join()
        assert self._producer.flush(60) == 0
        assert self._errors == []
        return [b"%d" % number for number in range(self._count)]

    def _write(self) -> None:
        while not self._is_over.wait(0.1):
            for _ in range(RECORDS_A_SECOND // 10):
                self._producer.produce(
                    self._topic,
                    b"%d" % self._count,
                    partition=self._count % PARTITIONS,
                    on_delivery=lambda error, _: self._errors.append(error) if error else None,
                )
                self._count += 1
            self._producer.poll(0)

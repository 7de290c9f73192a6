"""A cluster for a test, and a call that is tried until it succeeds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from barnabas.compat.pykafka.test.kafka_instance import KafkaConnection, KafkaInstance

__all__ = ["get_cluster", "retry", "stop_cluster"]


def get_cluster() -> KafkaConnection | KafkaInstance:
    """The cluster that the environment variables BROKERS, ZOOKEEPER and KAFKA_BIN name, or a new one with one
    broker and its ZooKeeper."""
    names = ("KAFKA_BIN", "BROKERS", "ZOOKEEPER")
    found = [os.environ.get(name) for name in names]
    if all(found):
        bin_dir, brokers, zookeeper = found
        return KafkaConnection(bin_dir, brokers or "", zookeeper, os.environ.get("BROKERS_SSL"))
    return KafkaInstance(num_instances=1)


def stop_cluster(cluster: KafkaConnection | KafkaInstance) -> None:
    """Ends a cluster that `get_cluster` started, or deletes the topics of one that was there."""
    if isinstance(cluster, KafkaInstance):
        cluster.terminate()
    else:
        cluster.flush()


def retry(
    assertion_callable: Callable[[], Any],
    retry_time: float = 10,
    wait_between_tries: float = 0.1,
    exception_to_retry: type[BaseException] = AssertionError,
) -> Any:
    """What the call returns; its exception only after `retry_time` seconds."""
    begun = time.monotonic()
    while True:
        try:
            return assertion_callable()
        except exception_to_retry:
            if time.monotonic() - begun >= retry_time:
                raise
            time.sleep(wait_between_tries)

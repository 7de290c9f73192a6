"""Reaching the cluster before a constructor returns, and what a program sees where that fails."""

from __future__ import annotations

from typing import Any

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.compat.kafka_python.generations import generation
from barnabas.compat.kafka_python.network.bootstrap import bootstrap
from barnabas.compat.kafka_python.values.failures import failure_of, no_brokers
from barnabas.errors import AuthenticationError, BarnabasError
from barnabas.loop_thread import loop_thread


def reach(client: KafkaClient, bootstrap_servers: Any, timeout_ms: float) -> dict[int, tuple[int, int]]:
    """The versions that the broker speaks which was reached first, by API key. `bootstrap_servers` as the
    program gave them. Raises: NoBrokersAvailable, or what else the generation has for it."""
    try:
        return loop_thread().run(bootstrap(client, timeout_ms), what="client")
    except AuthenticationError as error:
        if generation().bootstrap_tells_of_refusals:
            raise failure_of(error) from error
        raise no_brokers(bootstrap_servers) from error
    except BarnabasError as error:
        raise no_brokers(bootstrap_servers) from error

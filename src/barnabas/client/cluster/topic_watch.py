"""Looking for the topics that a consumer has subscribed to, as long as it is.

Owns how often the cluster is asked for one that is missing, and what is said of it. Knows nothing of groups
or partitions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError, ClosedError
from barnabas.wording import time_limit

logger = logging.getLogger("barnabas.client")

# A topic that is being made is there by then.
WARN_AFTER_SECONDS = 2


async def watch_topics(
    client: KafkaClient, topics: Sequence[str], on_error: Callable[[BarnabasError], object]
) -> None:
    """Asks for those of these topics that the cluster does not show, at back-off's pace: one that is deleted
    and made again is found soon. Logs a warning, once, of those that are missing. Ends with the client.

    `on_error` gets a refusal, such as TopicAuthorizationFailedError, each time, and once, after
    default_api_timeout_ms, that topics do not turn up.
    """
    failures = 0
    told: type[BarnabasError] | None = None
    while True:
        try:
            await _find_topics(client, topics, warns=told is None)
        except ClosedError:
            return
        except BarnabasError as error:
            if not error.retriable or told is not type(error):
                on_error(error)
            told = type(error)
            failures += 1
            await asyncio.sleep(client.backoff.delay_ms(failures) / 1000)
            client.request_metadata_update()
            await client.next_metadata()
            continue
        failures = 0
        told = None
        while all(topic in client.metadata.topic_metadata for topic in topics):
            await client.next_metadata()


async def _find_topics(client: KafkaClient, topics: Sequence[str], *, warns: bool) -> None:
    """Raises: what `KafkaClient.wait_for_topics` raises after default_api_timeout_ms."""
    timeout_ms = client.config.default_api_timeout_ms
    limit = time_limit(timeout_ms, "default_api_timeout_ms", timeout_ms)
    deadline = CLOCK.monotonic() + timeout_ms / 1000
    while warns and (warn_at := CLOCK.monotonic() + WARN_AFTER_SECONDS) < deadline:
        try:
            await client.wait_for_topics(topics, warn_at)
            return
        except UnknownTopicOrPartitionError:
            warns = False
            missing = [topic for topic in topics if topic not in client.metadata.topic_metadata]
            logger.warning(
                "client %s waits for topics that the cluster does not have: %s; create them "
                "(Admin.create_topics), or check their names",
                client.config.client_id,
                ", ".join(repr(topic) for topic in missing),
            )
        except BarnabasError as error:
            # No broker has answered: nothing is known to be missing yet.
            if not error.retriable:
                raise
    await client.wait_for_topics(topics, deadline, limit=limit)

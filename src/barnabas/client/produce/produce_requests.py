"""Produce requests as a producer's settings have them, and what a broker must speak to take them.

Knows nothing of batches, nor of when a request leaves.
"""

from __future__ import annotations

from barnabas.net.connection import Connection
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.settings.table import ProducerConfig

# From the next one on, a request has topic ids.
HIGHEST_VERSION_WITH_NAMES = 12
LOWEST_VERSION_WITH_ZSTD = 7
# KIP-890: from the next one on, a batch itself makes its partition part of the transaction.
HIGHEST_VERSION_OF_TRANSACTION_VERSION_1 = 11


def produce_request(
    config: ProducerConfig,
    topics: list[ProduceRequest.TopicProduceData],
    *,
    transactional_id: str | None = None,
) -> ProduceRequest:
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=-1 if config.acks in ("all", "-1") else int(config.acks),
        timeout_ms=config.request_timeout_ms,
        topic_data=topics,
    )


def check_codec(config: ProducerConfig, connection: Connection, max_version: int | None) -> None:
    """Raises: UnsupportedCompressionTypeError. The broker itself would answer UNKNOWN_SERVER_ERROR."""
    if config.compression != "zstd":
        return
    if connection.version_of(ProduceRequest, max_version) < LOWEST_VERSION_WITH_ZSTD:
        from barnabas.broker_errors import UnsupportedCompressionTypeError

        raise UnsupportedCompressionTypeError(
            f"{connection.name} is older than Kafka 2.1, the first to take compression_type='zstd'"
        )

"""Getting the id of an idempotent producer without transactions (KIP-98). Must not know who uses it."""

from __future__ import annotations

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.error_codes import error_for
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest

TRANSACTION_TIMEOUT_MS = 2**31 - 1


async def get_producer_id(client: KafkaClient) -> tuple[int, int]:
    """A new producer id and its epoch, from any broker. Raises: as `KafkaClient.retry`, BrokerError."""

    async def ask() -> tuple[int, int]:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS)
        response = await client.send_to_any(request)
        if response.error_code:
            raise error_for(response.error_code, "asking for a producer id (enable_idempotence)")
        return response.producer_id, response.producer_epoch

    return await client.retry(ask, what="getting a producer id")

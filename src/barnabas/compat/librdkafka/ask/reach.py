"""Connects a client to its cluster without being asked, as librdkafka does.

So that a program hears of brokers that are away, or of wrong credentials, from its callbacks alone.
"""

from __future__ import annotations

import asyncio

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.errors import BarnabasError, CredentialsError
from barnabas.events import AuthenticationFailed
from barnabas.net.sasl.oauthbearer import OAuthBearer

NO_NODE = -1
NO_PORT = 0


async def reach_cluster(client: KafkaClient) -> None:
    """Tries until a broker answers. Ends when it is cancelled."""
    await _get_first_token(client)
    failures = 0
    while client.metadata.cluster_id is None:
        try:
            await client.refresh_metadata()
        except BarnabasError:
            failures += 1
            await asyncio.sleep(client.backoff.delay_ms(failures) / 1000)


async def _get_first_token(client: KafkaClient) -> None:
    """Asks for a token before there is a broker to show it to."""
    mechanism = client.security.mechanism
    if not isinstance(mechanism, OAuthBearer):
        return
    try:
        await mechanism.get_token()
    except BarnabasError as error:
        failed = error if isinstance(error, CredentialsError) else CredentialsError(str(error))
        client.events.emit(AuthenticationFailed(client.config.client_id, NO_NODE, "", NO_PORT, failed))

"""What a client does without being asked, as librdkafka does: it connects to its cluster, and keeps its token
for OAUTHBEARER fresh.

So that a program hears of brokers that are away, or of wrong credentials, from its callbacks alone. Owns what
is told of tokens that are not to be had.
"""

from __future__ import annotations

import asyncio
import logging

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.errors import BarnabasError, CredentialsError
from barnabas.events import AuthenticationFailed
from barnabas.net.sasl.oauthbearer import OAuthBearer

logger = logging.getLogger("barnabas.compat")

NO_NODE = -1
NO_HOST = ""
NO_PORT = 0
# How soon a token is asked for again, and how soon at the earliest it is replaced.
TOKEN_SECONDS = 1.0


async def reach_cluster(client: KafkaClient) -> None:
    """Tries until a broker answers. Ends then, or, where there are tokens, when it is cancelled."""
    mechanism = client.security.mechanism
    if not isinstance(mechanism, OAuthBearer):
        await _connect(client)
        return
    token = _KeptToken(client, mechanism)
    # There is nothing to show to a broker before.
    seconds = await token.renew()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_connect(client))
        while seconds is not None:
            await asyncio.sleep(max(seconds, TOKEN_SECONDS))
            seconds = await token.renew()


async def _connect(client: KafkaClient) -> None:
    failures = 0
    while client.metadata.cluster_id is None:
        try:
            await client.refresh_metadata()
        except BarnabasError:
            failures += 1
            await asyncio.sleep(client.backoff.delay_ms(failures) / 1000)


class _KeptToken:
    def __init__(self, client: KafkaClient, mechanism: OAuthBearer) -> None:
        self._client = client
        self._mechanism = mechanism
        self._told = ""

    async def renew(self) -> float | None:
        """Gets a new token, if one is due. Gives after how many seconds to come again, None for never."""
        try:
            await self._mechanism.renew()
        except BarnabasError as error:
            self._tell(error)
            return TOKEN_SECONDS
        self._told = ""
        return self._mechanism.fresh_seconds

    def _tell(self, error: BarnabasError) -> None:
        """Tells of a failure, unless the one before was the same."""
        text = str(error)
        if text == self._told:
            return
        self._told = text
        client_id = self._client.config.client_id
        logger.warning("client %s: no token for OAUTHBEARER: %s", client_id, text, exc_info=error.__cause__)
        failed = error if isinstance(error, CredentialsError) else CredentialsError(text)
        self._client.events.emit(AuthenticationFailed(client_id, NO_NODE, NO_HOST, NO_PORT, failed))

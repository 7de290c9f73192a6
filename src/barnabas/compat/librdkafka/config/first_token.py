"""The first token of OAUTHBEARER, which a program's `oauth_cb` gives while its client is made.

Owns that the callback is asked at once, in a thread of its own, and that a client without a token is not
made. Knows nothing of clients.
"""
# The constants of KafkaError begin with an underscore, as librdkafka's do, and are there for everyone.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable
from typing import Any

from barnabas.compat.librdkafka.config.configuration import Configuration
from barnabas.compat.librdkafka.config.tokens import TokenSource
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.credentials import OAuthBearerToken

logger = logging.getLogger("barnabas.compat")

SETTING = "sasl_oauthbearer_token_callback"
TIMEOUT_SECONDS = 10.0


def with_first_token(configuration: Configuration) -> dict[str, Any]:
    """The settings of a client, with a source of tokens that has the first one already, if an `oauth_cb` is
    configured. One that comes by an event loop is not waited for, as that may be the caller's.

    Raises: KafkaException (SASL_AUTHENTICATION_FAILED, or _NOT_CONFIGURED for a share consumer).
    """
    settings = configuration.settings
    if "oauth_cb" not in configuration.callbacks:
        return settings
    source: TokenSource | None = settings.get(SETTING)
    if source is None:
        if configuration.kind == "share_consumer":
            text = "No SASL mechanism using callbacks is configured"
            raise KafkaException(KafkaError(KafkaError._NOT_CONFIGURED, text))
        # librdkafka waits for the callback all the same.
        logger.error("%s: oauth_cb is called for OAUTHBEARER only", configuration.instance_name)
        raise _no_token()
    given: list[OAuthBearerToken | Awaitable[OAuthBearerToken]] = []

    def ask() -> None:
        try:
            given.append(source())
        except BaseException:
            logger.exception("%s: oauth_cb gave no token", configuration.instance_name)

    thread = threading.Thread(target=ask, name="barnabas-token", daemon=True)
    thread.start()
    thread.join(TIMEOUT_SECONDS)
    if not given:
        raise _no_token()

    def token() -> OAuthBearerToken | Awaitable[OAuthBearerToken]:
        return given.pop() if given else source()

    return {**settings, SETTING: token}


def _no_token() -> KafkaException:
    text = f"OAuth token not set within {TIMEOUT_SECONDS:.0f} seconds timeout"
    return KafkaException(KafkaError(KafkaError.SASL_AUTHENTICATION_FAILED, text))

"""The first token of OAUTHBEARER, which librdkafka's clients get while they are made.

Owns that an `oauth_cb` is asked at once, in a thread of its own, and that a client without a token is not
made. Knows nothing of clients.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.credentials import OAuthBearerToken

logger = logging.getLogger("barnabas.compat")

SETTING = "sasl_oauthbearer_token_callback"
TIMEOUT_SECONDS = 10.0


def with_first_token(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, with a source of tokens that has the first one already, if they have a source at all.

    Raises: KafkaException (SASL_AUTHENTICATION_FAILED).
    """
    source: Callable[[], OAuthBearerToken] | None = settings.get(SETTING)
    if source is None:
        return settings
    known: list[OAuthBearerToken] = []

    def ask() -> None:
        try:
            known.append(source())
        except Exception:
            logger.exception("oauth_cb gave no token")

    thread = threading.Thread(target=ask, name="barnabas-token", daemon=True)
    thread.start()
    thread.join(TIMEOUT_SECONDS)
    if not known:
        text = f"OAuth token not set within {TIMEOUT_SECONDS:.0f} seconds timeout"
        raise KafkaException(KafkaError(KafkaError.SASL_AUTHENTICATION_FAILED, text))

    def token() -> OAuthBearerToken:
        return known.pop() if known else source()

    return {**settings, SETTING: token}

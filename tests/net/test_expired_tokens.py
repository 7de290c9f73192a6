"""A token that expires on its way to the broker is no reason to give up: the next try has another one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.security.secure_kafka import unsecured_token

from barnabas.clock import CLOCK
from barnabas.error_codes import ErrorCode
from barnabas.errors import KafkaConnectionError, SaslAuthenticationError
from barnabas.net.sasl.authenticator import Authentication
from barnabas.net.sasl.oauthbearer import OAuthBearer
from barnabas.net.sasl_server.conversation import RefusedError
from barnabas.net.sasl_server.oauthbearer import OAuthBearerServer, unsecured_check
from barnabas.protocol.codec import Request
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeResponse

LIFETIME_SECONDS = 10.0

pytestmark = pytest.mark.usefixtures("clock_put_back")


class SlowBroker:
    """A connection to a broker that looks at a token so many seconds after the client has sent it."""

    name = "node 1 at broker:9092"

    def __init__(self, seconds: float, **options: str) -> None:
        self._seconds = seconds
        self._server = OAuthBearerServer(unsecured_check(options))

    def version_of(self, request_type: type[Request[Any]], max_version: int | None = None) -> int:
        return 1

    async def ask(self, request: Request[Any], version: int) -> Any:
        if not isinstance(request, SaslAuthenticateRequest):
            return SaslHandshakeResponse(mechanisms=["OAUTHBEARER"])
        CLOCK.move_on(self._seconds, round(self._seconds * 1000))
        try:
            answer = await self._server.answer(request.auth_bytes)
        except RefusedError as refused:
            return SaslAuthenticateResponse(
                error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=str(refused)
            )
        return SaslAuthenticateResponse(auth_bytes=answer or b"")

    async def exchange_frame(self, frame: bytes) -> bytes:
        raise NotImplementedError

    def send_frame(self, frame: bytes) -> None:
        raise NotImplementedError


def authenticate(broker: SlowBroker) -> None:
    tokens = OAuthBearer(lambda: unsecured_token("admin", LIFETIME_SECONDS), [], 0.8)

    async def main() -> None:
        authentication = Authentication(tokens, "broker")
        await authentication.prepare(broker.name, 60_000)
        await authentication.run(broker)

    asyncio.run(main())


def test_a_token_that_is_still_valid_when_the_broker_checks_it_is_accepted() -> None:
    authenticate(SlowBroker(LIFETIME_SECONDS - 1))


def test_a_token_that_expires_before_the_broker_checks_it_is_a_reason_to_connect_again() -> None:
    with pytest.raises(KafkaConnectionError, match="broker:9092 refuses a token that expired") as found:
        authenticate(SlowBroker(LIFETIME_SECONDS + 1))
    assert found.value.retriable
    assert isinstance(found.value.__cause__, SaslAuthenticationError)


def test_a_token_that_is_refused_while_it_is_valid_is_not_sent_again() -> None:
    with pytest.raises(SaslAuthenticationError, match="insufficient_scope"):
        authenticate(SlowBroker(0, unsecuredValidatorRequiredScope="write"))

"""SASL over a connection to a broker: SaslHandshake, then as many messages as the mechanism has.

Owns what the broker's answers mean. Knows no mechanism, and nothing of what connections are for.
"""

from __future__ import annotations

import asyncio
from typing import TypeVar

from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import (
    BarnabasError,
    BrokenProtocolError,
    KafkaConnectionError,
    KafkaTimeoutError,
    NoCommonVersionError,
    SaslAuthenticationError,
    SaslMechanismError,
)
from barnabas.net.carrier import Carrier
from barnabas.net.sasl.mechanism import Conversation, Mechanism
from barnabas.protocol.codec import Response
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest

ResponseT = TypeVar("ResponseT", bound=Response)

# From this version of SaslHandshake on, messages travel in SaslAuthenticate requests (KIP-152).
FRAMED_HANDSHAKE_VERSION = 1


class Authentication:
    """One authentication of a connection. Its first message is made before the broker is told of it, since
    that may take a while, as where a token has to be fetched."""

    def __init__(self, mechanism: Mechanism, host: str) -> None:
        self.identity = mechanism.identity
        self._mechanism = mechanism.name
        self._conversation: Conversation = mechanism.converse(host)
        self._message = b""

    async def prepare(self, name: str, timeout_ms: float) -> None:
        """Makes the first message, for the connection of this name.

        Raises: CredentialsError, KafkaConnectionError (whoever gives credentials is away), KafkaTimeoutError.
        """
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                self._message = await self._conversation.first()
        except BarnabasError:
            raise
        except TimeoutError:
            raise KafkaTimeoutError(
                f"{name}: no credentials for {self._mechanism} came within "
                f"request_timeout_ms={timeout_ms:.0f}"
            ) from None

    async def run(self, carrier: Carrier) -> int:
        """Gives how long the broker will keep the connection, in milliseconds; 0 is for ever.

        Raises: AuthenticationError, KafkaConnectionError (also where the token expired on its way),
        KafkaTimeoutError, BrokenProtocolError.
        """
        version = await self._shake_hands(carrier)
        try:
            return await self._converse(carrier, version)
        except SaslAuthenticationError as error:
            if self._conversation.has_expired():
                raise KafkaConnectionError(
                    f"{carrier.name} refuses a token that expired before it was checked"
                ) from error
            raise

    async def _converse(self, carrier: Carrier, version: int) -> int:
        message: bytes | None = self._message
        session_lifetime_ms = 0
        while message is not None:
            if version >= FRAMED_HANDSHAKE_VERSION:
                challenge, session_lifetime_ms = await self._exchange(carrier, message)
            elif self._conversation.expects_answer:
                challenge = await carrier.exchange_frame(message)
            else:
                carrier.send_frame(message)
                break
            try:
                message = await self._conversation.reply(challenge)
            except SaslAuthenticationError as error:
                raise SaslAuthenticationError(f"{carrier.name}: {error}") from error
        return session_lifetime_ms

    async def _shake_hands(self, carrier: Carrier) -> int:
        try:
            version = carrier.version_of(SaslHandshakeRequest)
        except NoCommonVersionError as error:
            raise SaslMechanismError(
                f"{carrier.name} knows nothing of SASL: check security_protocol"
            ) from error
        response = await carrier.ask(SaslHandshakeRequest(mechanism=self._mechanism), version)
        if response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            offered = ", ".join(response.mechanisms) or "none"
            raise SaslMechanismError(
                f"{carrier.name} does not offer sasl_mechanism={self._mechanism!r} but {offered}",
                response.mechanisms,
            )
        if response.error_code == ErrorCode.ILLEGAL_SASL_STATE:
            raise SaslMechanismError(
                f"{carrier.name} does not authenticate by SASL on this port: set security_protocol to "
                "PLAINTEXT or SSL, or use the broker's port for SASL"
            )
        if response.error_code:
            raise error_for(response.error_code, f"{carrier.name}: SaslHandshake")
        return version

    async def _exchange(self, carrier: Carrier, message: bytes) -> tuple[bytes, int]:
        version = carrier.version_of(SaslAuthenticateRequest)
        response = await carrier.ask(SaslAuthenticateRequest(auth_bytes=message), version)
        if response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED:
            user = "" if self.identity is None else f" {self.identity!r}"
            reason = response.error_message or "it gives no reason"
            raise SaslAuthenticationError(
                f"{carrier.name} refuses{user} by {self._mechanism}: {reason}; check the credentials",
                response.error_message,
            ) from error_for(response.error_code)
        if response.error_code:
            reason = response.error_message or "it gives no reason"
            raise error_for(
                response.error_code, f"{carrier.name}: authentication by {self._mechanism} ({reason})"
            )
        if response.session_lifetime_ms < 0:
            raise BrokenProtocolError(f"{carrier.name}: a session of {response.session_lifetime_ms} ms")
        return response.auth_bytes, response.session_lifetime_ms

"""SASL on a connection: SaslHandshake versions 0 and 1, SaslAuthenticate 0 to 2, and the tokens without
requests of KIP-43. A session may have to be proved anew (KIP-368).

Until a client has proved who it is, it may ask for ApiVersions and nothing else. Owns the order of messages
on one connection. Must not know what a mechanism's messages mean, nor sockets.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping
from enum import Enum, auto

from barnabas.broker.client_connection import ClientConnection
from barnabas.broker.principal import Principal
from barnabas.broker_errors import ErrorCode
from barnabas.clock import CLOCK, now_ms
from barnabas.net.sasl_server.conversation import (
    MakeConversation,
    NotProvedError,
    RefusedError,
    ServerConversation,
)
from barnabas.net.server import DisconnectError, TurnedAwayError
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from barnabas.protocol.server_frame import decode_request, encode_response

_KEY = struct.Struct(">h")
_LENGTH = struct.Struct(">i")

Frame = bytes | memoryview


class LoginState(Enum):
    """What may come next."""

    HANDSHAKE = auto()
    AUTHENTICATE = auto()
    """In requests."""
    TOKENS = auto()
    """Without requests, as after a handshake of version 0."""
    LET_IN = auto()


class SaslDoorkeeper:
    """Of one connection. `mechanisms`: those of its listener. Times in milliseconds; `max_session_ms` 0 is
    without limit."""

    def __init__(
        self,
        connection: ClientConnection,
        mechanisms: Mapping[str, MakeConversation],
        *,
        max_frame_bytes: int,
        max_session_ms: int,
        refusal_delay_ms: int,
    ) -> None:
        self._connection = connection
        self._mechanisms = mechanisms
        self._max_frame_bytes = max_frame_bytes
        self._max_session_ms = max_session_ms
        self._refusal_delay_ms = refusal_delay_ms
        self._state = LoginState.HANDSHAKE
        self._mechanism = ""
        self._conversation: ServerConversation | None = None
        self._is_let_in = False
        self._session_ends: float | None = None

    @property
    def max_frame_bytes(self) -> int | None:
        return None if self._is_let_in else self._max_frame_bytes

    def claims(self, frame: Frame) -> bool:
        """Raises: DisconnectError for a request that must not come now."""
        if self._state is LoginState.TOKENS:
            return True
        key = _KEY.unpack_from(frame)[0] if len(frame) >= _KEY.size else -1
        if key in (SaslHandshakeRequest.API_KEY, SaslAuthenticateRequest.API_KEY):
            return True
        if self._state is LoginState.LET_IN:
            if self._session_ends is not None and CLOCK.monotonic() >= self._session_ends:
                raise DisconnectError("its session has ended, and the client did not authenticate again")
            return False
        if key == ApiVersionsRequest.API_KEY:
            return False
        raise DisconnectError(f"a request with API key {key} came before it was known who asks")

    async def answer(self, frame: Frame) -> bytes:
        """Raises: TurnedAwayError, DisconnectError, BrokenProtocolError."""
        if self._state is LoginState.TOKENS:
            return await self._answer_token(bytes(frame))
        header, request = decode_request(frame)
        version, correlation_id = header.request_api_version, header.correlation_id
        if isinstance(request, SaslHandshakeRequest):
            handshake = self._shake_hands(request, version)
            answer = encode_response(handshake, request.API_KEY, version, correlation_id)
            if handshake.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
                raise TurnedAwayError(f"mechanism {request.mechanism} is not enabled", answer)
            return answer
        assert isinstance(request, SaslAuthenticateRequest)
        response, reason = await self._authenticate(request.auth_bytes)
        answer = encode_response(response, request.API_KEY, version, correlation_id)
        if response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED:
            await self._delay_refusal()
            raise TurnedAwayError(reason, answer)
        return answer

    def _shake_hands(self, request: SaslHandshakeRequest, version: int) -> SaslHandshakeResponse:
        may_come = self._state is LoginState.HANDSHAKE or (
            self._state is LoginState.LET_IN and self._session_ends is not None
        )
        if not may_come:
            return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
        enabled = list(self._mechanisms)
        make = self._mechanisms.get(request.mechanism)
        if make is None:
            return SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, enabled)
        if self._is_let_in and request.mechanism != self._mechanism:
            return SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE, enabled)
        self._mechanism = request.mechanism
        self._conversation = make()
        self._state = LoginState.TOKENS if version == 0 else LoginState.AUTHENTICATE
        return SaslHandshakeResponse(0, enabled)

    async def _authenticate(self, message: bytes) -> tuple[SaslAuthenticateResponse, str]:
        """The answer, and for our log why it is a refusal."""
        if self._state is not LoginState.AUTHENTICATE:
            told = (
                "SaslAuthenticate request received after successful authentication"
                if self._is_let_in
                else "SaslAuthenticate request received before a mechanism was chosen"
            )
            return SaslAuthenticateResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=told), told
        try:
            answer = await self._converse(message)
        except RefusedError as error:
            return _refusal(str(error)), str(error)
        except NotProvedError as error:
            again = "re-authentication" if self._is_let_in else "authentication"
            told = (
                f"Authentication failed during {again} due to invalid credentials with SASL mechanism "
                f"{self._mechanism}"
            )
            return _refusal(told), str(error)
        # The session is there once the last message has come.
        lifetime_ms = self._session_lifetime_ms() if self._conversation is None else 0
        return SaslAuthenticateResponse(auth_bytes=answer or b"", session_lifetime_ms=lifetime_ms), ""

    async def _answer_token(self, message: bytes) -> bytes:
        try:
            answer = await self._converse(message)
        except (RefusedError, NotProvedError) as error:
            await self._delay_refusal()
            raise DisconnectError(str(error)) from None
        return b"" if answer is None else _LENGTH.pack(len(answer)) + answer

    async def _converse(self, message: bytes) -> bytes | None:
        conversation = self._conversation
        assert conversation is not None
        answer = await conversation.answer(message)
        proof = conversation.proof
        if proof is None:
            return answer
        principal = Principal(proof.user, by_token=proof.by_token)
        known = self._connection.principal
        if self._is_let_in and principal != known:
            raise RefusedError(
                f"Cannot change principals during re-authentication from {known.type}.{known.name}: "
                f"{principal.type}.{principal.name}"
            )
        self._connection.principal = principal
        self._is_let_in = True
        self._state = LoginState.LET_IN
        self._conversation = None
        self._begin_session(proof.expires_at_ms)
        return answer

    def _begin_session(self, expires_at_ms: int | None) -> None:
        """It ends with the token, and after connections.max.reauth.ms where that is set (KIP-368)."""
        limits_ms: list[float] = [self._max_session_ms] if self._max_session_ms else []
        if expires_at_ms is not None:
            limits_ms.append(max(0.0, expires_at_ms - now_ms()))
        self._session_ends = CLOCK.monotonic() + min(limits_ms) / 1000 if limits_ms else None

    def _session_lifetime_ms(self) -> int:
        if self._session_ends is None:
            return 0
        return max(0, round((self._session_ends - CLOCK.monotonic()) * 1000))

    async def _delay_refusal(self) -> None:
        """Whoever guesses has to wait."""
        await asyncio.sleep(self._refusal_delay_ms / 1000)


def _refusal(told: str) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=told)

"""SASL GSSAPI (RFC 4752), that is Kerberos, through the `gssapi` package, which is an extra.

Owns the conversation, without a security layer: that is TLS's.
"""

from __future__ import annotations

import importlib
from typing import Any

from barnabas.config import CommonConfig
from barnabas.errors import CredentialsError, InvalidSettingError, MissingExtraError, SaslAuthenticationError
from barnabas.net.addresses import in_thread

# The bit for no layer, and no bytes that such a layer could take.
NO_LAYER = 1
CHOICE = bytes([NO_LAYER, 0, 0, 0])


class Gssapi:
    """The mechanism GSSAPI. Raises: MissingExtraError, InvalidSettingError."""

    name = "GSSAPI"

    def __init__(self, config: CommonConfig) -> None:
        if not config.sasl_kerberos_service_name:
            raise InvalidSettingError(
                "sasl_mechanism GSSAPI (the default) needs sasl_kerberos_service_name; with a user name and "
                "password, set sasl_mechanism to PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"
            )
        try:
            self._gssapi: Any = importlib.import_module("gssapi")
        except ImportError as error:
            raise MissingExtraError("sasl_mechanism GSSAPI", "gssapi") from error
        self._service = config.sasl_kerberos_service_name
        self._principal = config.sasl_kerberos_principal
        self._keytab = config.sasl_kerberos_keytab

    @property
    def identity(self) -> str | None:
        return self._principal

    def converse(self, host: str) -> GssapiConversation:
        return GssapiConversation(self._gssapi, f"{self._service}@{host}", self._principal, self._keytab)


class GssapiConversation:
    """Tokens to and fro until both sides know each other; then the broker offers its layers, and gets told
    that none is wanted. Asking for tickets blocks, and so happens on another thread."""

    def __init__(self, gssapi: Any, service: str, principal: str | None, keytab: str | None) -> None:
        self._gssapi = gssapi
        self._service = service
        self._principal = principal
        self._keytab = keytab
        self._context: Any = None
        self._has_chosen = False

    async def first(self) -> bytes:
        return await in_thread(self._begin)

    async def reply(self, challenge: bytes) -> bytes | None:
        if self._has_chosen:
            return None
        return await in_thread(lambda: self._answer(challenge))

    def _begin(self) -> bytes:
        gssapi = self._gssapi
        try:
            principal = None
            if self._principal is not None:
                principal = gssapi.Name(self._principal, gssapi.NameType.user)
            store = None if self._keytab is None else {"client_keytab": self._keytab}
            credentials = gssapi.Credentials(name=principal, usage="initiate", store=store)
            service = gssapi.Name(self._service, gssapi.NameType.hostbased_service)
            self._context = gssapi.SecurityContext(
                name=service, creds=credentials, usage="initiate", mech=gssapi.MechType.kerberos
            )
            return bytes(self._context.step() or b"")
        except gssapi.exceptions.GSSError as error:
            raise CredentialsError(
                f"no Kerberos ticket for {self._service}: {error}; check sasl_kerberos_keytab and "
                "sasl_kerberos_principal, or get one with kinit"
            ) from error

    def _answer(self, challenge: bytes) -> bytes:
        try:
            if not self._context.complete:
                return bytes(self._context.step(challenge) or b"")
            offer = bytes(self._context.unwrap(challenge).message)
            if len(offer) != len(CHOICE) or not offer[0] & NO_LAYER:
                raise SaslAuthenticationError(
                    "the broker insists on a security layer of GSSAPI's own, which is not there: use TLS"
                )
            self._has_chosen = True
            return bytes(self._context.wrap(CHOICE, False).message)
        except self._gssapi.exceptions.GSSError as error:
            raise SaslAuthenticationError(f"Kerberos does not agree with the broker: {error}") from error

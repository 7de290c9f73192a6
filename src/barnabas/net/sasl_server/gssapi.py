"""SASL GSSAPI (RFC 4752), that is Kerberos, on the server's side, through the `gssapi` package, an extra.

Owns the conversation, without a security layer: that is TLS's. Must not know what users may do.
"""

from __future__ import annotations

import importlib
from typing import Any

from barnabas.errors import InvalidSettingError, MissingExtraError
from barnabas.net.addresses import in_thread
from barnabas.net.sasl_server.conversation import NotProvedError, Proof, RefusedError
from barnabas.net.sasl_server.kerberos_names import KerberosShortNames

# The bit for no layer, and no bytes that such a layer could take.
NO_LAYER = 1
OFFER = bytes([NO_LAYER, 0, 0, 0])


class KerberosService:
    """The broker as Kerberos knows it, by the key in a keytab.

    `principal`: which of the keytab's, such as kafka/host@REALM; None takes any. Raises: MissingExtraError,
    InvalidSettingError.
    """

    def __init__(self, keytab: str, principal: str | None, rules: str) -> None:
        try:
            self.gssapi: Any = importlib.import_module("gssapi")
        except ImportError as error:
            raise MissingExtraError("the mechanism GSSAPI", "gssapi") from error
        gssapi = self.gssapi
        kerberos = gssapi.MechType.kerberos
        try:
            name = gssapi.Name(principal, gssapi.NameType.kerberos_principal) if principal else None
            self.credentials: Any = gssapi.Credentials(
                name=name, usage="accept", mechs=[kerberos], store={"keytab": keytab}
            )
            anyone = gssapi.Name("anyone", gssapi.NameType.user).canonicalize(kerberos)
        except gssapi.exceptions.GSSError as error:
            whose = principal or "any principal"
            raise InvalidSettingError(f"no key of {whose} by the keytab {keytab}: {error}") from None
        realm = (principal or str(anyone)).rpartition("@")[2]
        self.names = KerberosShortNames(rules, realm)

    def converse(self) -> GssapiServer:
        return GssapiServer(self)


class GssapiServer:
    """Tokens to and fro until both sides know each other; then no layer is offered, and has to be chosen."""

    def __init__(self, service: KerberosService) -> None:
        self._service = service
        self._context: Any = service.gssapi.SecurityContext(creds=service.credentials, usage="accept")
        self._has_offered = False
        self.proof: Proof | None = None

    async def answer(self, message: bytes) -> bytes | None:
        # Replays are looked up in a file.
        return await in_thread(lambda: self._answer(message))

    def _answer(self, message: bytes) -> bytes | None:
        try:
            if not self._context.complete:
                token = bytes(self._context.step(message) or b"")
                return token if token or not self._context.complete else self._offer()
            if not self._has_offered:
                return self._offer()
            self._read_choice(bytes(self._context.unwrap(message).message))
        except self._service.gssapi.exceptions.GSSError as error:
            raise NotProvedError(f"Kerberos does not agree with the client: {error}") from None
        return None

    def _offer(self) -> bytes:
        self._has_offered = True
        return bytes(self._context.wrap(OFFER, False).message)

    def _read_choice(self, choice: bytes) -> None:
        if len(choice) < len(OFFER) or choice[0] != NO_LAYER:
            raise RefusedError(
                "Client chose a security layer of GSSAPI's own, which was not offered: use TLS"
            )
        principal = str(self._context.initiator_name)
        authorization = choice[len(OFFER) :].decode("utf-8", "replace")
        if authorization not in ("", principal):
            raise RefusedError(
                f"Authentication failed: Client requested an authorization id ({authorization}) that is "
                f"different from its principal ({principal})"
            )
        self.proof = Proof(self._service.names.user(principal))

"""SASL GSSAPI (RFC 4752), that is Kerberos, through the `gssapi` package, which is an extra.

Owns the conversation, without a security layer: that is TLS's.
"""

from __future__ import annotations

import importlib
from typing import Any

from barnabas.errors import CredentialsError, InvalidSettingError, MissingExtraError, SaslAuthenticationError
from barnabas.net.addresses import in_thread
from barnabas.net.sasl.mechanism import Conversation
from barnabas.settings.table import CommonConfig

# The bit for no layer, and no bytes that such a layer could take.
NO_LAYER = 1
CHOICE = bytes([NO_LAYER, 0, 0, 0])

# Where GSSAPI (RFC 2744, 3.9.1) has no more to say than that there are no credentials, or that something
# failed, the mechanism below it knows why.
ROUTINE_ERRORS = 0xFF << 16
TOLD_BY_KERBEROS = (7 << 16, 13 << 16)


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
        self._host = config.sasl_kerberos_host
        self._principal = config.sasl_kerberos_principal
        self._keytab = config.sasl_kerberos_keytab

    @property
    def identity(self) -> str | None:
        return self._principal

    def converse(self, host: str) -> GssapiConversation:
        service = f"{self._service}@{self._host or host}"
        return GssapiConversation(self._gssapi, service, self._principal, self._keytab)


class GssapiConversation(Conversation):
    """Tokens to and fro until both sides know each other; then the broker offers its layers, and gets told
    that none is wanted. Asking for tickets blocks, and so happens on another thread."""

    def __init__(self, gssapi: Any, service: str, principal: str | None, keytab: str | None) -> None:
        self._gssapi = gssapi
        self._service = service
        self._principal = principal
        self._keytab = keytab
        self._context: Any = None

    async def first(self) -> bytes:
        return await in_thread(self._begin)

    async def reply(self, challenge: bytes) -> bytes | None:
        if not self.expects_answer:
            return None
        return await in_thread(lambda: self._answer(challenge))

    def _begin(self) -> bytes:
        credentials = self._credentials()
        gssapi = self._gssapi
        try:
            service = gssapi.Name(self._service, gssapi.NameType.hostbased_service)
            self._context = gssapi.SecurityContext(
                name=service, creds=credentials, usage="initiate", mech=gssapi.MechType.kerberos
            )
            return bytes(self._context.step() or b"")
        except gssapi.exceptions.GSSError as error:
            raise CredentialsError(
                f"no Kerberos ticket for the service {self._service}: {_reason(error)}; its name is "
                "sasl_kerberos_service_name and the broker's host"
            ) from error

    def _credentials(self) -> Any:
        gssapi = self._gssapi
        try:
            principal = None
            if self._principal is not None:
                principal = gssapi.Name(self._principal, gssapi.NameType.user)
            return gssapi.Credentials(name=principal, usage="initiate", store=self._store())
        except gssapi.exceptions.GSSError as error:
            whose = self._principal or "the default principal"
            if self._keytab is None:
                source, hint = "", "get one with kinit, or set sasl_kerberos_keytab"
            else:
                source = f" by the keytab {self._keytab}"
                hint = "it must be readable and hold that principal's key as it is now"
            reason = f"no Kerberos ticket for {whose}{source}: {_reason(error)}"
            raise CredentialsError(f"{reason}; {hint}") from error

    def _store(self) -> dict[str, str] | None:
        if self._keytab is None:
            return None
        # Tickets got by a keytab are kept in this process: in the default cache they would take the place of
        # those that kinit left there, or that another client needs.
        return {
            "client_keytab": self._keytab,
            "ccache": f"MEMORY:barnabas-{self._keytab}-{self._principal}",
        }

    def _answer(self, challenge: bytes) -> bytes:
        try:
            if not self._context.complete:
                return bytes(self._context.step(challenge) or b"")
            offer = bytes(self._context.unwrap(challenge).message)
            if len(offer) != len(CHOICE) or not offer[0] & NO_LAYER:
                raise SaslAuthenticationError(
                    "the broker insists on a security layer of GSSAPI's own, which is not there: use TLS"
                )
            self.expects_answer = False
            return bytes(self._context.wrap(CHOICE, False).message)
        except self._gssapi.exceptions.GSSError as error:
            raise SaslAuthenticationError(
                f"Kerberos does not agree with the broker: {_reason(error)}"
            ) from error


def _reason(error: Any) -> str:
    by_kerberos = bool(error.min_code) and error.maj_code & ROUTINE_ERRORS in TOLD_BY_KERBEROS
    return ", ".join(
        error.get_all_statuses(error.min_code if by_kerberos else error.maj_code, not by_kerberos)
    )

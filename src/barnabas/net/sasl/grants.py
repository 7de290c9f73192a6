"""By what right an endpoint issues a token for OAUTHBEARER, and how it is asked: as a client with a secret
(KIP-768), with a signed assertion (KIP-1139), or as a machine in a cloud that knows its machines.

Owns the request. Sending it, and what comes back, is `oidc`'s.
"""

from __future__ import annotations

from typing import Protocol

from barnabas.credentials import Secret
from barnabas.http.messages import HttpRequest
from barnabas.http.token_requests import client_credentials_request, form_request
from barnabas.net.sasl.assertion import Assertion
from barnabas.values import frozen

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
AZURE_METADATA_URL = "http://169.254.169.254/metadata/identity/oauth2/token"


class Grant(Protocol):
    @property
    def who(self) -> str:
        """Who asks, for errors."""
        ...

    @property
    def settings(self) -> str:
        """What to check where the endpoint refuses."""
        ...

    def request(self, url: str) -> HttpRequest:
        """Raises: CredentialsError. May wait for a file."""
        ...


@frozen
class ClientCredentials:
    client_id: str
    client_secret: Secret
    scope: str | None
    encodes: bool = True
    """Whether id and secret are encoded before they are joined, as RFC 6749 wants (2.3.1)."""

    settings = "sasl_oauthbearer_client_credentials_client_id and its secret"

    @property
    def who(self) -> str:
        return f"client {self.client_id!r}"

    def request(self, url: str) -> HttpRequest:
        return client_credentials_request(
            url, self.client_id, self.client_secret.reveal(), self.scope, encodes=self.encodes
        )


@frozen
class JwtBearer:
    """RFC 7523: the endpoint knows the key that the assertion is signed with."""

    assertion: Assertion
    scope: str | None

    who = "the assertion"
    settings = "the settings sasl_oauthbearer_assertion_..."

    def request(self, url: str) -> HttpRequest:
        return form_request(url, {"grant_type": JWT_BEARER, "assertion": self.assertion.text()}, self.scope)


@frozen
class AzureMetadata:
    """Azure's metadata service, which every machine there reaches. Whose token it is says the URL."""

    who = "this machine"
    settings = "the query of sasl_oauthbearer_token_endpoint_url and the machine's identity in Azure"

    def request(self, url: str) -> HttpRequest:
        return HttpRequest(url, {"Accept": "application/json", "Metadata": "true"})

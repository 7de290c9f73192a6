"""A client's view of a broker with SecureListeners: settings for each user, and requests as a super user."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tests.waiting import wait_for

from barnabas import AclBinding, AclOperation, AclResourceType, Admin
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from barnabas.settings.table import AdminConfig, load
from barnabas.testing import ApacheKafka, Certificates, EmbeddedBroker, SecureListeners

from .kerberos import Kerberos

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")


def password_of(user: str) -> str:
    return f"{user}-secret"


def unsecured_token(subject: str, lifetime_seconds: float = 3600) -> str:
    """What Kafka's own validator for development takes: a JSON Web Token that nobody signed."""
    now = time.time()
    # Whole seconds, as issuers write: brokers compare with milliseconds, and refuse a later `iat`.
    parts = [{"alg": "none"}, {"sub": subject, "iat": int(now), "exp": now + lifetime_seconds}]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, ""])


@contextlib.contextmanager
def secure_kafka(
    kerberos: Kerberos, *, kind: str = "apache", java_options: Sequence[str] = (), **config: str
) -> Iterator[SecureKafka]:
    """A broker that takes all MECHANISMS, with further settings."""
    settings = kerberos.broker_settings(MECHANISMS[:-1]) | config
    if kind == "embedded":
        with EmbeddedBroker(security=SecureListeners(), config=settings) as embedded:
            yield SecureKafka(embedded, kerberos)
        return
    options = [*kerberos.java_options, *java_options]
    with ApacheKafka(security=SecureListeners(), config=settings, java_options=options) as kafka:
        yield SecureKafka(kafka, kerberos)


class SecureKafka:
    """`server(listener)` is where to connect; `trust` names the authority of the broker's certificates."""

    def __init__(self, kafka: ApacheKafka | EmbeddedBroker, kerberos: Kerberos) -> None:
        self._kafka = kafka
        self._kerberos = kerberos
        self.server = kafka.bootstrap_for

    @property
    def certificates(self) -> Certificates:
        return self._kafka.certificates

    @property
    def trust(self) -> dict[str, Any]:
        return {"ssl_truststore_location": str(self.certificates.ca)}

    def as_user(self, user: str = "admin", mechanism: str = "SCRAM-SHA-256", **others: Any) -> dict[str, Any]:
        """Settings for the listener SASL_SSL."""
        settings = {"security_protocol": "SASL_SSL", "sasl_mechanism": mechanism, **self.trust}
        if mechanism == "OAUTHBEARER":
            settings["sasl_oauthbearer_token_callback"] = lambda: unsecured_token(user)
        elif mechanism == "GSSAPI":
            settings |= {
                "sasl_kerberos_service_name": "kafka",
                "sasl_kerberos_principal": user,
                "sasl_kerberos_keytab": str(self._kerberos.keytab(user)),
            }
        else:
            settings |= {"sasl_username": user, "sasl_password": password_of(user)}
        return settings | others

    def ask(self, request: Any, user: str = "admin") -> Any:
        """The controller's answer."""

        async def main() -> Any:
            given = {"bootstrap_servers": self.server("SASL_SSL"), **self.as_user(user)}
            client = KafkaClient(load(AdminConfig, given))
            try:
                return await client.send_to_controller(request)
            finally:
                await client.close()

        return asyncio.run(main())

    def allow(self, user: str, resource_type: AclResourceType, name: str, *operations: AclOperation) -> None:
        """Returns when the broker goes by it: the controller answers before brokers have heard."""
        bindings = {AclBinding(resource_type, name, f"User:{user}", operation) for operation in operations}
        with Admin(self.server("SASL_SSL"), **self.as_user()) as admin:
            admin.create_acls(bindings)
            wait_for(lambda: bindings <= set(admin.describe_acls()))

    def delegation_token(self, user: str) -> tuple[str, str]:
        """The id and the HMAC of a new token for a user (KIP-48)."""
        response = self.ask(CreateDelegationTokenRequest(max_lifetime_ms=60_000), user)
        assert response.error_code == 0
        return response.token_id, base64.b64encode(response.hmac).decode()

    def tokens_known(self) -> list[str]:
        """The ids of the delegation tokens that the broker knows."""
        response = self.ask(DescribeDelegationTokenRequest(owners=None))
        return [token.token_id for token in response.tokens]

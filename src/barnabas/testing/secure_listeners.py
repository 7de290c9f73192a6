"""TLS, SASL and access control for a broker of tests.

Owns the listeners, users and settings. Starts nothing, and makes no certificate.

    with ApacheKafka(security=SecureListeners()) as kafka:
        Consumer(
            kafka.bootstrap_for("SASL_SSL"),
            security_protocol="SASL_SSL", ssl_truststore_location=str(kafka.certificates.ca),
            sasl_mechanism="SCRAM-SHA-512", sasl_username="alice", sasl_password="alice-secret",
        )

| listener | what it is for |
|---|---|
| PLAINTEXT | everyone is User:ANONYMOUS, who may do nothing; `kafka.bootstrap` is this one |
| SSL | a client certificate is asked for, not required; its common name becomes the user: carol |
| SASL_PLAINTEXT, SASL_SSL | PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, and OAUTHBEARER with unsecured tokens |
| SSL_CLIENT_REQUIRED | as SSL, and without a client certificate there is no connection |
| SSL_EXPIRED | the broker shows a certificate that has expired |
| SSL_WRONG_HOST | the broker shows a certificate for other.example |

The super user admin may do everything, alice, bob and carol only what an ACL allows. A password is the name
and `-secret`. Re-authentication: `ApacheKafka(config={"connections.max.reauth.ms": "2000"}, ...)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.testing.certificates import Certificates
from barnabas.testing.kafka_settings import Listener
from barnabas.testing.process import KeptPorts

SUPER_USER = "admin"

_SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_MECHANISMS = ("PLAIN", *_SCRAM, "OAUTHBEARER")
_LOGIN_MODULES = "org.apache.kafka.common.security"
_PROTOCOLS = {
    "SSL": "SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
    "SSL_CLIENT_REQUIRED": "SSL",
    "SSL_EXPIRED": "SSL",
    "SSL_WRONG_HOST": "SSL",
}


def _users() -> dict[str, str]:
    return {name: f"{name}-secret" for name in (SUPER_USER, "alice", "bob")}


@dataclass(frozen=True)
class SecureListeners:
    """Listeners for TLS and SASL, users, and Kafka's StandardAuthorizer; the module says which.

    `users`: passwords by name; admin must be among them. Of Apache Kafka a release of the KRaft years is
    needed; an EmbeddedBroker takes them as well.
    """

    users: Mapping[str, str] = field(default_factory=_users, repr=False)

    controller_protocol = "SASL_PLAINTEXT"

    def __post_init__(self) -> None:
        if SUPER_USER not in self.users:
            raise ValueError(f"users has no {SUPER_USER!r}, as whom the broker talks to itself")

    def listeners(self, kept_ports: KeptPorts, nodes: int = 1) -> list[Listener]:
        """Those of the first node, on ports that `kept_ports` takes; further nodes have the ports behind."""
        ports = kept_ports.take(len(_PROTOCOLS), in_a_row=nodes)
        return [
            Listener(name, protocol, port)
            for (name, protocol), port in zip(_PROTOCOLS.items(), ports, strict=True)
        ]

    def settings(self, certificates: Certificates) -> dict[str, str]:
        """What the broker's `server.properties` needs besides the listeners themselves."""
        return {
            "inter.broker.listener.name": "SASL_PLAINTEXT",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{SUPER_USER}",
            "allow.everyone.if.no.acl.found": "false",
            "delegation.token.secret.key": "delegation-secret",
            **self._sasl_settings(),
            **_tls_settings(certificates),
        }

    def format_arguments(self) -> list[str]:
        """What Kafka's StorageTool needs to know the users of SCRAM from the first start on."""
        arguments: list[str] = []
        for mechanism in _SCRAM:
            for name, password in self.users.items():
                arguments += ["--add-scram", f"{mechanism}=[name={name},password={password}]"]
        return arguments

    def _sasl_settings(self) -> dict[str, str]:
        admin = f'username="{SUPER_USER}" password="{self.users[SUPER_USER]}"'
        users = " ".join(f'user_{name}="{password}"' for name, password in self.users.items())
        plain = f"{_LOGIN_MODULES}.plain.PlainLoginModule required {admin} {users};"
        scram = f"{_LOGIN_MODULES}.scram.ScramLoginModule required;"
        bearer = (
            f"{_LOGIN_MODULES}.oauthbearer.OAuthBearerLoginModule required "
            f'unsecuredLoginStringClaim_sub="{SUPER_USER}";'
        )
        settings = {
            "sasl.enabled.mechanisms": ",".join(_MECHANISMS),
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.controller.plain.sasl.jaas.config": plain,
        }
        for listener in ("sasl_plaintext", "sasl_ssl"):
            prefix = f"listener.name.{listener}"
            settings[f"{prefix}.plain.sasl.jaas.config"] = plain
            for mechanism in _SCRAM:
                settings[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = scram
            settings[f"{prefix}.oauthbearer.sasl.jaas.config"] = bearer
        return settings


def _tls_settings(certificates: Certificates) -> dict[str, str]:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.broker),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "ssl.principal.mapping.rules": "RULE:^.*CN=([^,]+).*$/$1/,DEFAULT",
        "listener.name.ssl.ssl.client.auth": "requested",
        "listener.name.ssl_client_required.ssl.client.auth": "required",
        "listener.name.ssl_expired.ssl.keystore.location": str(certificates.broker_expired),
        "listener.name.ssl_wrong_host.ssl.keystore.location": str(certificates.broker_wrong_host),
    }

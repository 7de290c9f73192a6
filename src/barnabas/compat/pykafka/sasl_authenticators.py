"""How a client proves who it is by SASL, as the releases after 2.8.0 have it: KafkaClient's
`sasl_authenticator`."""

from __future__ import annotations

from typing import Any

__all__ = ["BaseAuthenticator", "PlainAuthenticator", "ScramAuthenticator"]


class BaseAuthenticator:
    """A mechanism, with what it needs. `security_protocol`: SASL_PLAINTEXT or SASL_SSL; whether TLS is spoken
    is for `ssl_config` to say."""

    MAX_AUTH_VERSION = 1
    MAX_HANDSHAKE_VERSION = 1

    def __init__(self, mechanism: str, security_protocol: str | None = None) -> None:
        self.mechanism = mechanism
        self.security_protocol = security_protocol

    def core_settings(self) -> dict[str, Any]:
        """As settings of the core."""
        return {"sasl_mechanism": self.mechanism}


class _UserAuthenticator(BaseAuthenticator):
    def __init__(
        self, mechanism: str, user: Any, password: Any, security_protocol: str | None = None
    ) -> None:
        super().__init__(mechanism, security_protocol)
        self.user = _text(user)
        self.password = _text(password)

    def core_settings(self) -> dict[str, Any]:
        return super().core_settings() | {"sasl_username": self.user, "sasl_password": self.password}


class PlainAuthenticator(_UserAuthenticator):
    """PLAIN, by user and password."""

    def __init__(self, user: Any, password: Any, security_protocol: str | None = None) -> None:
        super().__init__("PLAIN", user, password, security_protocol)


class ScramAuthenticator(_UserAuthenticator):
    """SCRAM, by user and password. `mechanism`: SCRAM-SHA-256 or SCRAM-SHA-512."""

    MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")

    def __init__(
        self, mechanism: str, user: Any, password: Any, security_protocol: str | None = None
    ) -> None:
        if mechanism not in self.MECHANISMS:
            raise ValueError(f"mechanism must be in {', '.join(self.MECHANISMS)}, not {mechanism!r}")
        super().__init__(mechanism, user, password, security_protocol)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)

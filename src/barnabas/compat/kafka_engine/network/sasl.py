"""SASL mechanisms as objects that programs can drive themselves, on those of the core; and what gives tokens.

Clients do not use these: they give the settings to the core.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from barnabas.compat.kafka_engine.config.merging import Settings
from barnabas.compat.kafka_engine.config.security import security_settings
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.values.errors import CLASSES
from barnabas.compat.kafka_engine.values.failures import failure_of
from barnabas.errors import BarnabasError
from barnabas.loop_thread import loop_thread
from barnabas.net.security import Security
from barnabas.settings.table import CommonConfig, load

log = logging.getLogger("kafka.sasl")

_HOME = "barnabas.compat.kafka.sasl."


class AbstractTokenProvider(ABC):
    """What `sasl_oauth_token_provider` is: gives tokens that are valid now, and remembers them as long as
    they are."""

    __module__ = _HOME + "oauth"

    def __init__(self, **config: Any) -> None:  # noqa: B027 providers need not have one of their own
        """A program's provider may take whatever it likes."""

    @abstractmethod
    def token(self) -> str:
        """The token to log in with."""

    def extensions(self) -> dict[str, str]:
        """What else brokers are told beside the token, by name (KIP-342)."""
        return {}


class SaslMechanism(ABC):
    """One authentication: what `auth_bytes` gives is sent, and what comes back is given to `receive`, until
    it `is_done`."""

    __module__ = _HOME + "abc"

    @abstractmethod
    def __init__(self, **config: Any) -> None:
        """`config`: the settings of a client, and `host`, the broker's name."""

    @abstractmethod
    def auth_bytes(self) -> bytes:
        """What is to be sent next."""

    @abstractmethod
    def receive(self, auth_bytes: bytes) -> Any:
        """Takes what the broker sent."""

    @abstractmethod
    def is_done(self) -> bool:
        """Whether nothing more is to be sent."""

    @abstractmethod
    def is_authenticated(self) -> bool:
        """Whether the broker knows who is there."""

    def auth_details(self) -> str:
        """In words, as whom."""
        if not self.is_authenticated():
            raise RuntimeError("Not authenticated yet!")
        return "Authenticated via SASL"


class _OnCore(SaslMechanism):
    """A mechanism of the core's. `_needs`: settings that have to be there; `_called`: what complaints say."""

    _name: ClassVar[str] = ""
    _called: ClassVar[str] = ""
    _needs: ClassVar[tuple[str, ...]] = ()
    _protocol: ClassVar[str] = "SASL_PLAINTEXT"

    def __init__(self, **config: Any) -> None:
        for name in self._needs:
            if name not in config:
                raise _complaint(f"{name} required for {self._name or self._called} sasl")
        if config.get("security_protocol") == "SASL_PLAINTEXT" and self._needs:
            log.warning("Sending credentials in the clear during Sasl Authentication")
        self._settings = Settings(
            {"security_protocol": self._protocol, "sasl_mechanism": self._name, **config}
        )
        self._host = str(config.get("host") or "localhost")
        self._conversation: Any = None
        self._next: bytes | None = None
        self._is_done = False

    def auth_bytes(self) -> bytes:
        if self._conversation is None:
            mechanism = self._mechanism()
            self._conversation = mechanism.converse(self._host)
            return self._run(self._conversation.first)
        if self._next is None:
            raise ValueError("There is nothing more to be sent")
        return self._next

    def _mechanism(self) -> Any:
        # The protocol only says whether TLS is around it.
        settings = {"sasl_kerberos_service_name": "kafka", **self._settings}
        settings["security_protocol"] = "SASL_PLAINTEXT" if self._name != "AWS_MSK_IAM" else "SASL_SSL"
        try:
            core = security_settings({**_WITHOUT_TLS_FILES, **settings})
            core |= {"security_protocol": "SASL_PLAINTEXT", "bootstrap_servers": "localhost:9092"}
            core.pop("ssl_context", None)
            return Security(load(CommonConfig, core)).mechanism
        except BarnabasError as error:
            raise failure_of(error) from error

    def receive(self, auth_bytes: bytes) -> bool:
        self._next = self._run(lambda: self._conversation.reply(auth_bytes))
        self._is_done = self._next is None
        return self._is_done

    def _run(self, step: Callable[[], Any]) -> Any:
        try:
            return loop_thread().run(step(), what="SaslMechanism")
        except BarnabasError as error:
            raise failure_of(error) from error

    def is_done(self) -> bool:
        return self._is_done

    def is_authenticated(self) -> bool:
        return self._is_done

    def auth_details(self) -> str:
        super().auth_details()
        user = self._settings.get("sasl_plain_username")
        return f"Authenticated{f' as {user}' if user else ''} via SASL / {self._called}"


_WITHOUT_TLS_FILES = {
    "ssl_context": None,
    "ssl_check_hostname": True,
    "ssl_cafile": None,
    "ssl_certfile": None,
    "ssl_keyfile": None,
    "ssl_crlfile": None,
}


def _complaint(text: str) -> Exception:
    name = generation().sasl_complaint
    return AssertionError(text) if name == "AssertionError" else CLASSES[name](text)


class SaslMechanismPlain(_OnCore):
    __module__ = _HOME + "plain"
    _name, _called = "PLAIN", "Plain"
    _needs = ("sasl_plain_username", "sasl_plain_password")


class SaslMechanismScram(_OnCore):
    """SCRAM-SHA-256 or SCRAM-SHA-512, whichever `sasl_mechanism` says."""

    __module__ = _HOME + "scram"
    _called = "SCRAM"
    _needs = ("sasl_plain_username", "sasl_plain_password")

    def __init__(self, **config: Any) -> None:
        if config.get("sasl_mechanism", "") not in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            raise _complaint("Unrecognized SCRAM mechanism")
        super().__init__(**config)


class SaslMechanismOAuth(_OnCore):
    """OAUTHBEARER with tokens of an AbstractTokenProvider."""

    __module__ = _HOME + "oauth"
    _name, _called = "OAUTHBEARER", "OAuth"
    _needs = ("sasl_oauth_token_provider",)

    def __init__(self, **config: Any) -> None:
        super().__init__(**config)
        self.token_provider = config["sasl_oauth_token_provider"]
        if not isinstance(self.token_provider, AbstractTokenProvider):
            home = generation().sasl_home
            raise _complaint(f"sasl_oauth_token_provider must implement {home}.oauth.AbstractTokenProvider")


class SaslMechanismAwsMskIam(_OnCore):
    """AWS_MSK_IAM with the credentials that AWS's tools find."""

    __module__ = _HOME + "msk"
    _name, _called, _protocol = "AWS_MSK_IAM", "AWS_MSK_IAM", "SASL_SSL"

    def __init__(self, **config: Any) -> None:
        super().__init__(**config)
        if config.get("security_protocol", "") != "SASL_SSL":
            raise _complaint("AWS_MSK_IAM requires SASL_SSL")
        if "host" not in config:
            raise _complaint("AWS_MSK_IAM requires host configuration")


class SaslMechanismGSSAPI(_OnCore):
    """Kerberos."""

    # What may be agreed on for what follows (RFC 4752): nothing, that it is whole, that it is secret.
    SASL_QOP_AUTH, SASL_QOP_AUTH_INT, SASL_QOP_AUTH_CONF = 1, 2, 4

    __module__ = _HOME + "gssapi"
    _name, _called = "GSSAPI", "GSSAPI"

    def __init__(self, **config: Any) -> None:
        if "sasl_kerberos_name" not in config and "sasl_kerberos_service_name" not in config:
            raise ValueError(
                "sasl_kerberos_service_name or sasl_kerberos_name required for GSSAPI sasl configuration"
            )
        super().__init__(**config)


SASL_MECHANISMS: dict[str, Any] = {}
"""By the name that `sasl_mechanism` has."""


def register_sasl_mechanism(name: str, klass: Any, overwrite: bool = False) -> None:
    """Has a name stand for a class. Raises: ValueError where it stands for another."""
    if not overwrite and name in SASL_MECHANISMS:
        raise ValueError(f"Sasl mechanism {name} already defined!")
    SASL_MECHANISMS[name] = klass


def get_sasl_mechanism(name: str) -> Any:
    """Raises: KeyError."""
    return SASL_MECHANISMS[name]


for _mechanism in (SaslMechanismAwsMskIam, SaslMechanismGSSAPI, SaslMechanismOAuth, SaslMechanismPlain):
    register_sasl_mechanism(_mechanism._name, _mechanism)  # pyright: ignore[reportPrivateUsage]
for _name in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
    register_sasl_mechanism(_name, SaslMechanismScram)

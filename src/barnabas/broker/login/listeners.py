"""Where a node listens, what is spoken there and what clients are told of it, by Kafka's settings.

Owns the meaning of `listeners`, `advertised.listeners` and `listener.security.protocol.map`, and of TLS's
settings for a listener. Must not know sockets.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.broker.configs.broker_settings import LISTENERS, PROTOCOL_MAP
from barnabas.broker.configs.broker_values import BrokerSettings
from barnabas.broker.configs.listener_addresses import PROTOCOLS
from barnabas.broker.configs.setting_kinds import SettingSource
from barnabas.broker_errors import InvalidConfigError
from barnabas.errors import InvalidSettingError
from barnabas.net.server_tls import server_context

_LISTENER = re.compile(r"(?P<name>[\w-]+)://(?P<host>\[[^\]]*\]|[^:\[\]/]*):(?P<port>\d+)")
ADVERTISED = "advertised.listeners"
PLAINTEXT = "PLAINTEXT"
ALL_INTERFACES = ("0.0.0.0", "::")
_TLS_SETTINGS = (
    *("ssl.cipher.suites", "ssl.enabled.protocols", "ssl.key.password", "ssl.keystore.certificate.chain"),
    *("ssl.keystore.key", "ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.type"),
    *("ssl.protocol", "ssl.truststore.certificates", "ssl.truststore.location", "ssl.truststore.password"),
    "ssl.truststore.type",
)


@dataclass(frozen=True, slots=True)
class BrokerListener:
    """`port` 0 takes a free one; `advertised_port` 0 is whichever that is."""

    name: str
    protocol: str
    host: str
    port: int
    advertised_host: str
    advertised_port: int = 0

    @property
    def address(self) -> str:
        """As `listeners` has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"

    @property
    def has_tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def has_sasl(self) -> bool:
        return self.protocol.startswith("SASL_")


def configured_listeners(
    settings: BrokerSettings, host: str, port: int, place: int = 0
) -> list[BrokerListener]:
    """Those of a node's settings, else one without TLS and SASL on `host` and `port`. `place`: the node's,
    from 0 on; the ports of further ones follow those of the first, unless they were set of the node alone.

    Raises: InvalidConfigError.
    """
    given = settings.get(LISTENERS)
    advertised = _addresses(ADVERTISED, settings.get(ADVERTISED).value)
    for name, (told, _) in advertised.items():
        _check_reachable(name, told)
    if given.source is SettingSource.DEFAULT:
        told_host, told_port = advertised.pop(PLAINTEXT, (host, 0))
        _check_known(advertised)
        _check_reachable(PLAINTEXT, told_host)
        return [
            BrokerListener(PLAINTEXT, PLAINTEXT, host, port, told_host, told_port + place if told_port else 0)
        ]
    if given.source is SettingSource.DYNAMIC_BROKER:
        place = 0
    protocols = _protocols(settings)
    listeners: list[BrokerListener] = []
    for name, (address, number) in _addresses(LISTENERS, given.value).items():
        protocol = protocols.get(name, name)
        if protocol not in PROTOCOLS:
            raise InvalidConfigError(
                f"listeners: it is not known what {name} speaks; say so in listener.security.protocol.map, "
                f"as {name}:SASL_SSL"
            )
        told_host, told_port = advertised.pop(name, ("", 0))
        # All interfaces are no address that a client could connect to.
        reachable = address if address and address not in ALL_INTERFACES else host
        _check_reachable(name, told_host or reachable)
        ports = (each + place if each else 0 for each in (number, told_port))
        listeners.append(
            BrokerListener(name, protocol, address, next(ports), told_host or reachable, next(ports))
        )
    _check_known(advertised)
    return listeners


def _check_known(left: Mapping[str, object]) -> None:
    if left:
        raise InvalidConfigError(f"{ADVERTISED} names {min(left)}, which listeners does not")


def _check_reachable(name: str, host: str) -> None:
    if host in ALL_INTERFACES:
        raise InvalidConfigError(
            f"{ADVERTISED} cannot use the nonroutable meta-address {host}, by which clients would "
            "look for the broker on their own machine: name one that they can reach, as "
            f"{ADVERTISED}={name}://HOST:PORT, or --advertise HOST for `barnabas up`"
        )


def tls_context(settings: BrokerSettings, listener: BrokerListener) -> ssl.SSLContext | None:
    """None for a listener without TLS. Raises: InvalidConfigError."""
    if not listener.has_tls:
        return None
    given = {name: settings.of_listener(name, listener.name) for name in _TLS_SETTINGS}
    try:
        return server_context(
            {name.replace(".", "_"): value for name, value in given.items() if value},
            settings.of_listener("ssl.client.auth", listener.name),
        )
    except InvalidSettingError as error:
        raise InvalidConfigError(f"listener {listener.name}: {error}") from None


def _protocols(settings: BrokerSettings) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in filter(None, settings.get(PROTOCOL_MAP).value.split(",")):
        name, colon, protocol = pair.strip().partition(":")
        if not colon or protocol not in PROTOCOLS:
            raise InvalidConfigError(
                f"listener.security.protocol.map: {pair!r} is not NAME:PROTOCOL, a protocol being one of "
                f"{', '.join(PROTOCOLS)}"
            )
        found[name] = protocol
    return found


def _addresses(setting: str, text: str) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        matched = _LISTENER.fullmatch(entry)
        if matched is None:
            raise InvalidConfigError(f"{setting}: {entry!r} is not NAME://host:port")
        if matched["name"] in found:
            raise InvalidConfigError(f"{setting}: {matched['name']} is there twice")
        found[matched["name"]] = (matched["host"].strip("[]"), int(matched["port"]))
    return found

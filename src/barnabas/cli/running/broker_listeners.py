"""Listeners, users and certificates of `barnabas up`: the broker's settings for them, and what clients need.

Owns what the options mean together. Starts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.cli.options import UsageError, pairs
from barnabas.errors import InvalidSettingError

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
ADVERTISED = "advertised.listeners"
MECHANISMS = "sasl.enabled.mechanisms"
PASSWORD_MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
KEYSTORES = ("ssl.keystore.location", "ssl.keystore.key")
LOGIN_MODULES = {"PLAIN": "plain.PlainLoginModule"}
SCRAM_MODULE = "scram.ScramLoginModule"
HIGHEST_PORT = 65_535


@dataclass(frozen=True)
class BrokerListeners:
    """`config`: the broker's settings. `users`: passwords by name. `properties`: what clients need besides
    the address, by the listener's name; of the first user, where there are several."""

    config: Mapping[str, str] = field(default_factory=dict[str, str])
    users: Mapping[str, str] = field(default_factory=dict[str, str])
    properties: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])

    @property
    def own_client(self) -> dict[str, str]:
        """What a client of this process's own needs, which comes by the first listener."""
        for needed in self.properties.values():
            return {name.replace(".", "_"): value for name, value in needed.items()}
        return {}


def broker_listeners(
    given: Sequence[str] | None,
    users: Sequence[str] | None,
    config: Mapping[str, str],
    *,
    host: str,
    port: int,
    nodes: int,
    certificates: Path | None,
    advertise: str | None = None,
) -> BrokerListeners:
    """`given`: PROTOCOL or PROTOCOL:PORT of each. `advertise`: the host that clients connect to.
    `certificates`: the folder where they are made, or were.

    Raises: UsageError, InvalidSettingError, MissingProgramError.
    """
    passwords = pairs(users, "--user")
    if not given:
        if passwords or certificates is not None:
            raise UsageError(
                "--user and --make-certificates are for --listener SASL_SSL, SSL or SASL_PLAINTEXT"
            )
        return BrokerListeners({**config, **_advertised(config, advertise, {"PLAINTEXT": 0})})
    ports = _ports(given, port, nodes)
    has_tls = any(protocol.endswith("SSL") for protocol in ports)
    has_sasl = any(protocol.startswith("SASL") for protocol in ports)
    if "listeners" in config:
        raise UsageError("there are both --listener and --config listeners=...: say it once")
    settings = {
        "listeners": ",".join(
            f"{protocol}://{_bracketed(host)}:{number}" for protocol, number in ports.items()
        )
    }
    settings |= _advertised(config, advertise, ports)
    trusted: dict[str, str] = {}
    if has_tls and certificates is not None:
        # Here and not above, since no other command should wait for the import.
        from barnabas.testing.certificates import Certificates

        made = Certificates.in_folder(certificates.absolute())
        trusted = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(made.ca)}
        settings |= trusted | {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(made.broker)}
    elif certificates is not None:
        raise UsageError(f"--make-certificates: none of {', '.join(ports)} has TLS")
    elif has_tls and not any(name.endswith(KEYSTORES) for name in config):
        raise UsageError(
            "a listener with TLS shows a certificate: --make-certificates, or name yours by "
            "--config ssl.keystore.type=PEM --config ssl.keystore.location=FILE"
        )
    if has_sasl:
        settings[MECHANISMS] = ",".join(PASSWORD_MECHANISMS)
        if not passwords and not any("sasl.jaas.config" in name for name in config):
            raise UsageError("a listener with SASL lets users in: --user NAME=PASSWORD")
    elif passwords:
        raise UsageError(f"--user: none of {', '.join(ports)} has SASL")
    settings |= config
    mechanism = settings.get(MECHANISMS, "").split(",")[0]
    login = _login(mechanism, *next(iter(passwords.items()))) if passwords else {}
    return BrokerListeners(
        settings,
        passwords,
        {
            protocol: {
                "security.protocol": protocol,
                **(login if protocol.startswith("SASL") else {}),
                **(trusted if protocol.endswith("SSL") else {}),
            }
            for protocol in ports
        },
    )


def _advertised(config: Mapping[str, str], host: str | None, ports: Mapping[str, int]) -> dict[str, str]:
    """`ports`: where each protocol listens; 0 is whichever that is. Raises: UsageError."""
    if host is None:
        return {}
    for name in (ADVERTISED, "listeners"):
        if name in config:
            raise UsageError(
                f"--advertise tells nothing beside --config {name}=...: "
                f"name hosts in --config {ADVERTISED}=..."
            )
    return {ADVERTISED: ",".join(f"{name}://{_bracketed(host)}:{port}" for name, port in ports.items())}


def _ports(given: Sequence[str], port: int, nodes: int) -> dict[str, int]:
    """Of the first node, by protocol. Who names none gets those that follow. Raises: InvalidSettingError."""
    ports: dict[str, int] = {}
    for place, text in enumerate(given):
        protocol, colon, number = text.partition(":")
        if protocol not in PROTOCOLS:
            raise InvalidSettingError(f"--listener {text!r} is none of {', '.join(PROTOCOLS)}")
        if protocol in ports:
            raise InvalidSettingError(f"--listener {protocol} is there twice")
        if colon and not (number.isdecimal() and int(number) <= HIGHEST_PORT):
            raise InvalidSettingError(f"--listener {text!r}: {number!r} is no port")
        first = int(number) if colon else port + place * nodes if port else 0
        for other, taken in ports.items():
            if first and abs(first - taken) < nodes:
                raise InvalidSettingError(
                    f"--listener {text!r}: each of {nodes} nodes has a port from {first} on, but {other} is "
                    f"at {taken}"
                )
        ports[protocol] = first
    return ports


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _login(mechanism: str, name: str, password: str) -> dict[str, str]:
    module = LOGIN_MODULES.get(mechanism, SCRAM_MODULE)
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in (name, password))
    user, secret = (f'"{text}"' for text in quoted)
    return {
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"org.apache.kafka.common.security.{module} required "
        f"username={user} password={secret};",
    }

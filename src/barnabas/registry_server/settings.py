"""The settings of a registry that runs by itself, and Confluent's names for them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from barnabas.errors import InvalidSettingError, UnknownSettingError
from barnabas.registry.kms_hosts import hosts_of
from barnabas.registry_server.entities import LEVELS
from barnabas.registry_server.journal.group import GroupTimes
from barnabas.registry_server.journal.kafka import JournalSettings
from barnabas.registry_server.state import DEFAULT_LEVEL
from barnabas.settings.table import from_properties
from barnabas.values import frozen

log = logging.getLogger("barnabas.registry_server")

DEFAULT_PORT = 8081
DEFAULT_GROUP_ID = "schema-registry"
DEK_TOPIC = "_dek_registry_keys"
KAFKA = "kafkastore."


@frozen
class TlsSettings:
    """PEM files. `client_authentication`: whether who connects shows a certificate that `ca` has signed."""

    certificate: Path
    key: Path
    key_password: str | None = None
    ca: Path | None = None
    client_authentication: str = "NONE"


@frozen
class ServerSettings:
    """`host_name`: by which the other registries of the group reach this one; None for `host`."""

    client: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Of the Kafka clients: bootstrap_servers and all that a client needs."""
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    host_name: str | None = None
    tls: TlsSettings | None = None
    users: Path | None = None
    """The file of users for basic authentication; None lets everybody in."""
    group_id: str = DEFAULT_GROUP_ID
    is_eligible: bool = True
    journal: JournalSettings = field(default_factory=JournalSettings)
    dek_topic: str = DEK_TOPIC
    """Where keys for encrypting fields are kept."""
    kms_hosts: frozenset[str] = frozenset()
    """At which a KMS may be asked whose address who writes a key names."""
    times: GroupTimes = field(default_factory=GroupTimes)
    default_level: str = DEFAULT_LEVEL
    """Of compatibility, where none is set by the API."""
    modes_change: bool = True
    """Whether modes may be changed by the API."""
    largest_body_bytes: int = 10 << 20
    """Of a request."""


def settings_from(properties: Mapping[str, str]) -> ServerSettings:
    """From the names of Confluent's file. Names that begin with `kafkastore.` and are not its own are
    settings of the Kafka clients. Raises: InvalidSettingError, UnknownSettingError."""
    given = dict(properties)
    own: dict[str, Any] = {}
    journal: dict[str, Any] = {}
    times: dict[str, Any] = {}
    for target, names in ((own, _OWN), (journal, _JOURNAL), (times, _TIMES)):
        for name, (setting, read) in names.items():
            if name in given:
                target[setting] = _read(read, name, given.pop(name))
    tls = _tls(given)
    own |= _listener(given.pop("listeners", None), tls)
    if (method := given.pop("authentication.method", "NONE").upper()) not in ("NONE", "BASIC"):
        raise InvalidSettingError(f"authentication.method={method} is not NONE or BASIC")
    if method == "BASIC" and "users" not in own:
        raise InvalidSettingError("authentication.method=BASIC needs authentication.users.file")
    own_to_kafka = _WITHOUT_EFFECT | _INSTEAD.keys()
    client = {
        name.removeprefix(KAFKA): given.pop(name)
        for name in list(given)
        if name.startswith(KAFKA) and name not in own_to_kafka
    }
    for name in sorted(given.keys() & _WITHOUT_EFFECT):
        log.warning("%s=%s has no effect here", name, given.pop(name))
    for name in sorted(given):
        advice = next((said for begin, said in _INSTEAD.items() if name.startswith(begin)), None)
        if advice is not None:
            raise InvalidSettingError(f"a registry has no {name} here: {advice}")
    if given:
        raise UnknownSettingError(f"a registry has no setting {', '.join(sorted(given))}")
    return ServerSettings(
        client=_client(from_properties(client)),
        tls=tls,
        journal=JournalSettings(**journal),
        times=GroupTimes(**times),
        **own,
    )


def _listener(listeners: str | None, tls: TlsSettings | None) -> dict[str, Any]:
    if listeners is None:
        return {}
    if "," in listeners:
        raise InvalidSettingError(f"listeners={listeners} are several; a registry listens on one")
    try:
        url = urlsplit(listeners.strip())
        host, port = url.hostname, url.port
    except ValueError:
        host, port = None, None
        url = urlsplit("")
    if url.scheme not in ("http", "https") or port is None:
        raise InvalidSettingError(f"listeners={listeners} is not of the form http://host:8081")
    if (url.scheme == "https") != (tls is not None):
        raise InvalidSettingError(
            f"listeners={listeners}: https is what it is called with ssl.certificate.location, and else http"
        )
    return {"host": host or "0.0.0.0", "port": port}


def _tls(given: dict[str, str]) -> TlsSettings | None:
    certificate = given.pop("ssl.certificate.location", None)
    rest = {setting: given.pop(name) for name, setting in _TLS.items() if name in given}
    if certificate is None:
        if rest:
            raise InvalidSettingError("TLS needs ssl.certificate.location and ssl.key.location")
        return None
    return tls_settings(certificate, **rest)


def tls_settings(
    certificate: str | Path,
    key: str | Path | None = None,
    key_password: str | None = None,
    ca: str | Path | None = None,
    client_authentication: str = "NONE",
) -> TlsSettings:
    """`key`: None where it is in the file of the certificate. Raises: InvalidSettingError."""
    wanted = client_authentication.upper()
    if wanted not in ("NONE", "REQUESTED", "REQUIRED"):
        raise InvalidSettingError(f"ssl.client.authentication={wanted} is not NONE, REQUESTED or REQUIRED")
    if wanted != "NONE" and ca is None:
        raise InvalidSettingError("ssl.client.authentication needs ssl.ca.location: who signs for clients")
    return TlsSettings(
        Path(certificate),
        Path(certificate if key is None else key),
        key_password,
        None if ca is None else Path(ca),
        wanted,
    )


def _client(settings: dict[str, str]) -> dict[str, Any]:
    """Confluent's bootstrap servers may begin with a security protocol."""
    servers: list[str] = []
    for server in settings.get("bootstrap_servers", "").split(","):
        protocol, separator, address = server.strip().partition("://")
        if separator:
            settings.setdefault("security_protocol", protocol)
        servers.append(address if separator else server.strip())
    if any(servers):
        settings["bootstrap_servers"] = ",".join(servers)
    return dict(settings)


def _read(read: Callable[[str], Any], name: str, value: str) -> Any:
    try:
        return read(value.strip())
    except ValueError:
        raise InvalidSettingError(f"{name}={value} cannot be read") from None


def _number(value: str) -> int:
    found = int(value)
    if found < 1:
        raise ValueError(value)
    return found


def _level(value: str) -> str:
    if value.upper() not in LEVELS:
        raise ValueError(value)
    return value.upper()


def _boolean(value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise ValueError(value)
    return value.lower() == "true"


_OWN: dict[str, tuple[str, Callable[[str], Any]]] = {
    "host.name": ("host_name", str),
    "schema.registry.group.id": ("group_id", str),
    "master.eligibility": ("is_eligible", _boolean),
    "leader.eligibility": ("is_eligible", _boolean),
    "authentication.users.file": ("users", Path),
    "dek.registry.topic": ("dek_topic", str),
    "dek.registry.kms.hosts": ("kms_hosts", hosts_of),
    "avro.compatibility.level": ("default_level", _level),
    "schema.compatibility.level": ("default_level", _level),
    "mode.mutability": ("modes_change", _boolean),
    "size.limit.filter.max.request.body.size": ("largest_body_bytes", _number),
}
_JOURNAL: dict[str, tuple[str, Callable[[str], Any]]] = {
    "kafkastore.topic": ("topic", str),
    "kafkastore.topic.replication.factor": ("replication_factor", _number),
    "kafkastore.timeout.ms": ("timeout_ms", _number),
    "kafkastore.init.timeout.ms": ("init_timeout_ms", _number),
}
_TIMES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "kafkagroup.session.timeout.ms": ("session_timeout_ms", _number),
    "kafkagroup.heartbeat.interval.ms": ("heartbeat_interval_ms", _number),
    "kafkagroup.rebalance.timeout.ms": ("rebalance_timeout_ms", _number),
}
_TLS = {
    "ssl.key.location": "key",
    "ssl.key.password": "key_password",
    "ssl.ca.location": "ca",
    "ssl.client.authentication": "client_authentication",
}
SETTING_NAMES = (
    "listeners",
    "authentication.method",
    "ssl.certificate.location",
    *_OWN,
    *_JOURNAL,
    *_TIMES,
    *_TLS,
)
"""All that have an effect, but for those of Kafka's clients."""
_WITHOUT_EFFECT = frozenset(
    {
        "debug",
        "inter.instance.headers.whitelist",
        "inter.instance.protocol",
        "kafkastore.checkpoint.dir",
        "kafkastore.checkpoint.version",
        "kafkastore.group.id",
        "kafkastore.init.wait.for.reader",
        "kafkastore.write.max.retries",
        "leader.election.delay",
        "leader.election.sticky",
        "request.logger.name",
        "schema.cache.expiry.secs",
        "schema.cache.size",
        "schema.registry.inter.instance.protocol",
        "size.limit.filter.enabled",
        "thread.pool.max",
        "thread.pool.min",
    }
)
"""What Confluent's files have and what is so, or is nothing, here."""
_INSTEAD = {
    "access.control.": "put a proxy in front that answers browsers",
    "authentication.realm": "it is SchemaRegistry",
    "authentication.roles": "authentication.users.file names each user's role, read or write",
    "host.port": "others reach it at the port of listeners",
    "inter.instance.listener.name": "others reach it at listeners, by host.name",
    "kafkastore.connection.url": "name brokers, not ZooKeeper, by kafkastore.bootstrap.servers",
    "listener.": "it listens on one, which listeners names by http or https",
    "metadata.encoder.": "metadata are kept as they are given; keep secrets out of them",
    "port": "name the port in listeners",
    "resource.extension.class": "it takes no Java classes; users are in authentication.users.file",
    "response.http.headers.config": "put a proxy in front that adds headers",
    "schema.registry.resource.extension.class": "it takes no Java classes; users are in "
    "authentication.users.file",
    "ssl.keystore.": "give PEM files: openssl pkcs12 -in STORE -nodes -out registry.pem, then "
    "ssl.certificate.location=registry.pem",
    "ssl.truststore.": "give a PEM file: openssl pkcs12 -in STORE -nokeys -out ca.pem, then "
    "ssl.ca.location=ca.pem",
}
"""By how names begin: what to do in their place."""

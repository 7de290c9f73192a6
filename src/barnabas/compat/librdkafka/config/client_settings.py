"""What librdkafka's properties mean as settings of Barnabas' clients.

Properties that say how librdkafka itself works (its threads, sockets and queues) have no meaning here, and
those that the facade's clients see to themselves (callbacks, statistics, limits of their queues) are theirs.
Takes values for good: `property_rules` has judged them.
"""

from __future__ import annotations

import math
import ssl
from collections.abc import Callable
from typing import Any

from barnabas.compat.librdkafka.config import tokens
from barnabas.compat.librdkafka.config.property_rules import (
    ClientKind,
    PropertyValues,
    assignors,
    azure_query,
    fetch_max_bytes,
)
from barnabas.compat.librdkafka.config.unsecured_tokens import unsecured
from barnabas.errors import InvalidSettingError, MissingExtraError
from barnabas.net.sasl.grants import AZURE_METADATA_URL, JWT_BEARER
from barnabas.net.tls import Tls
from barnabas.settings.table import (
    AdminConfig,
    CommonConfig,
    ConsumerConfig,
    ProducerConfig,
    ShareConsumerConfig,
    load,
)

DEFAULT_PORT = 9092
# Where librdkafka has no brokers, it never finds any: neither does a client that looks there (RFC 2606).
NOWHERE = "no-bootstrap-servers.invalid:9092"
_FOREVER_MS = 2**31 - 1
# Requests under way to a broker where max.in.flight is left at librdkafka's million: librdkafka holds back
# itself while requests wait to be written, and more of them would only make batches smaller.
_MAX_IN_FLIGHT = 5
_RESETS = {
    **dict.fromkeys(("smallest", "earliest", "beginning"), "earliest"),
    **dict.fromkeys(("largest", "latest", "end"), "latest"),
    "error": "none",
}


def bootstrap_servers(values: PropertyValues) -> list[str]:
    """The brokers to begin with, each with a port. Those of another security.protocol are left out, as
    librdkafka does."""
    protocol = values["security.protocol"]
    servers: list[str] = []
    for entry in (values["bootstrap.servers"] or "").split(","):
        scheme, _, address = entry.strip().rpartition("://")
        if address and (not scheme or scheme.lower() == protocol):
            servers.append(_with_port(address))
    return [server if _is_address(server) else NOWHERE for server in servers] or [NOWHERE]


def _is_address(server: str) -> bool:
    """librdkafka takes what can be no address too, and never reaches it."""
    host, _, port = server.rpartition(":")
    return port.isdecimal() and int(port) < 2**16 and not any(character.isspace() for character in host)


def _with_port(address: str) -> str:
    host, _, port = address.rpartition(":")
    if address.endswith("]") or not host:
        return f"{address.rstrip(':')}:{DEFAULT_PORT}"
    if ":" in host and not host.startswith("["):
        # IPv6, which needs brackets where a port is to follow.
        return f"[{address}]:{DEFAULT_PORT}"
    return f"{host}:{port or DEFAULT_PORT}"


_CONFIGS: dict[ClientKind, type[CommonConfig]] = {
    "producer": ProducerConfig,
    "consumer": ConsumerConfig,
    "share_consumer": ShareConsumerConfig,
    "admin": AdminConfig,
}


def check(kind: ClientKind, servers: list[str], settings: dict[str, Any]) -> None:
    """Finds out now what the client would refuse when it is made. Raises: InvalidSettingError."""
    config = load(_CONFIGS[kind], {"bootstrap_servers": servers, **settings})
    if config.security_protocol in ("SSL", "SASL_SSL"):
        Tls(config)
    if config.security_protocol in ("SASL_PLAINTEXT", "SASL_SSL"):
        _check_mechanism(config)


def _check_mechanism(config: CommonConfig) -> None:
    # Most of what it imports is large, and few clients need it.
    from barnabas.net.sasl.configured import configured_mechanism

    try:
        configured_mechanism(config)
    except MissingExtraError as error:
        if config.sasl_mechanism != "GSSAPI":
            raise
        raise InvalidSettingError(
            f"No provider for SASL mechanism GSSAPI: {error}, or set sasl.mechanisms, which is GSSAPI where "
            "it is not set, to PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER"
        ) from error


def settings_of(
    kind: ClientKind, values: PropertyValues, oauth_cb: Callable[[str | None], Any] | None
) -> dict[str, Any]:
    """Keyword arguments for the client of Barnabas that does what the properties ask for.

    Raises: InvalidSettingError.
    """
    settings = _common(kind, values)
    settings.update(_security(values, oauth_cb))
    if kind == "producer":
        settings.update(_producer(values))
    elif kind == "consumer":
        settings.update(_consumer(values))
    elif kind == "share_consumer":
        settings.update(_share_consumer(values))
    return settings


def _common(kind: ClientKind, values: PropertyValues) -> dict[str, Any]:
    refresh_ms = values["topic.metadata.refresh.interval.ms"]
    setup_ms = values["socket.connection.setup.timeout.ms"]
    settings: dict[str, Any] = {
        "client_id": values["client.id"],
        "request_timeout_ms": values["socket.timeout.ms"],
        "default_api_timeout_ms": values["socket.timeout.ms"],
        "retry_backoff_ms": values["retry.backoff.ms"],
        "retry_backoff_max_ms": values["retry.backoff.max.ms"],
        "reconnect_backoff_ms": values["reconnect.backoff.ms"],
        "reconnect_backoff_max_ms": values["reconnect.backoff.max.ms"],
        "socket_connection_setup_timeout_ms": setup_ms,
        "socket_connection_setup_timeout_max_ms": setup_ms,
        "client_dns_lookup": values["client.dns.lookup"],
        "broker_address_family": values["broker.address.family"],
        "connections_max_idle_ms": values["connections.max.idle.ms"] or -1,
        "metadata_max_age_ms": refresh_ms if refresh_ms > 0 else _FOREVER_MS,
        "metadata_recovery_strategy": values["metadata.recovery.strategy"],
        "metadata_recovery_rebootstrap_trigger_ms": values["metadata.recovery.rebootstrap.trigger.ms"],
        "enable_metrics_push": values["enable.metrics.push"],
        "send_buffer_bytes": values["socket.send.buffer.bytes"] or -1,
        "receive_buffer_bytes": values["socket.receive.buffer.bytes"] or -1,
    }
    if kind == "share_consumer":
        # librdkafka has other defaults for these.
        for name, default in (
            ("connections.max.idle.ms", 540_000),
            ("reconnect.backoff.ms", 50),
            ("reconnect.backoff.max.ms", 1_000),
        ):
            if not values.is_given(name):
                settings[name.replace(".", "_")] = default
    return settings


def _producer(values: PropertyValues) -> dict[str, Any]:
    delivery_ms, linger_ms = _delivery_times(values)
    in_flight = values["max.in.flight"]
    if not values.is_given("max.in.flight"):
        in_flight = _MAX_IN_FLIGHT
    level = values["compression.level"]
    settings: dict[str, Any] = {
        "acks": {0: "0", 1: "1"}.get(values["acks"], "all"),
        "enable_idempotence": values.is_idempotent,
        "compression": values["compression.codec"],
        "compression_level": None if level < 0 else level,
        "batch_size": values["batch.size"],
        "linger_ms": linger_ms,
        "buffer_memory": values["queue.buffering.max.kbytes"] * 1024,
        "max_request_size": values["message.max.bytes"],
        "max_in_flight_requests_per_connection": in_flight,
        "delivery_timeout_ms": delivery_ms,
        "request_timeout_ms": max(1, min(values["socket.timeout.ms"], delivery_ms - math.ceil(linger_ms))),
        "retries": values["retries"],
        "transactional_id": values["transactional.id"] or None,
        "transaction_timeout_ms": values["transaction.timeout.ms"],
    }
    if values["partitioner"] == "random":
        settings.update(partitioner="murmur2_random", partitioner_ignore_keys=True)
    else:
        settings["partitioner"] = values["partitioner"]
    return settings


def _delivery_times(values: PropertyValues) -> tuple[int, float]:
    """How long a message may take, and how long it may wait for others. One that was not given makes way."""
    delivery_ms = values["message.timeout.ms"] or _FOREVER_MS
    if values["transactional.id"] and not values.is_given("message.timeout.ms"):
        delivery_ms = values["transaction.timeout.ms"]
    linger_ms = values["linger.ms"]
    if math.isnan(linger_ms):
        linger_ms = 0.0
    if values.is_given("linger.ms") and not values.is_given("message.timeout.ms"):
        delivery_ms = max(delivery_ms, math.ceil(linger_ms) + 1)
    return delivery_ms, min(linger_ms, max(0, delivery_ms - 1))


def _fetching(values: PropertyValues) -> dict[str, Any]:
    return {
        "fetch_min_bytes": values["fetch.min.bytes"],
        "fetch_max_bytes": max(1, fetch_max_bytes(values)),
        "fetch_max_wait_ms": values["fetch.wait.max.ms"],
        "max_poll_interval_ms": values["max.poll.interval.ms"],
        "check_crcs": values["check.crcs"],
        "allow_auto_create_topics": values["allow.auto.create.topics"],
        "client_rack": values["client.rack"] or None,
    }


def _consumer(values: PropertyValues) -> dict[str, Any]:
    settings = _fetching(values)
    interval_ms = values["auto.commit.interval.ms"]
    settings.update(
        group_id=values["group.id"],
        group_instance_id=values["group.instance.id"],
        auto_offset_reset=_RESETS[values["auto.offset.reset"]],
        enable_auto_commit=values["enable.auto.commit"] and interval_ms > 0,
        auto_commit_interval_ms=interval_ms,
        group_protocol=values["group.protocol"],
        queued_max_bytes=values["queued.max.messages.kbytes"] * 1024,
        isolation_level=values["isolation.level"],
        enable_partition_eof=values["enable.partition.eof"],
        exclude_internal_topics=False,
    )
    if values.is_given("fetch.message.max.bytes"):
        settings["max_partition_fetch_bytes"] = values["fetch.message.max.bytes"]
    if values["group.protocol"] == "consumer":
        settings["group_remote_assignor"] = values["group.remote.assignor"]
    else:
        session_ms = max(2, values["session.timeout.ms"])
        settings["session_timeout_ms"] = session_ms
        settings["heartbeat_interval_ms"] = min(values["heartbeat.interval.ms"], session_ms - 1)
        settings["partition_assignment_strategy"] = assignors(values["partition.assignment.strategy"])
    return settings


def _share_consumer(values: PropertyValues) -> dict[str, Any]:
    is_explicit = values["share.acknowledgement.mode"] == "explicit"
    return {
        **_fetching(values),
        "group_id": values["group.id"],
        "share_acknowledgement_mode": "explicit" if is_explicit else "implicit",
        "max_poll_records": values["max.poll.records"],
    }


def _security(values: PropertyValues, oauth_cb: Callable[[str | None], Any] | None) -> dict[str, Any]:
    protocol: str = values["security.protocol"]
    settings: dict[str, Any] = {}
    if protocol.endswith("ssl"):
        settings.update(_tls(values))
    if protocol.startswith("sasl"):
        settings.update(_sasl(values, oauth_cb))
    return {"security_protocol": protocol.upper(), **settings} if settings or protocol != "plaintext" else {}


def _tls(values: PropertyValues) -> dict[str, Any]:
    location = values["ssl.ca.location"]
    suites = values["ssl.cipher.suites"]
    is_checked = values["ssl.endpoint.identification.algorithm"] == "https"
    settings: dict[str, Any] = {
        "ssl_truststore_location": None if location == "probe" else location,
        "ssl_truststore_certificates": values["ssl.ca.pem"],
        "ssl_keystore_location": values["ssl.keystore.location"],
        "ssl_keystore_password": values["ssl.keystore.password"],
        "ssl_certificate_location": values["ssl.certificate.location"],
        "ssl_key_location": values["ssl.key.location"],
        "ssl_keystore_certificate_chain": values["ssl.certificate.pem"],
        "ssl_keystore_key": values["ssl.key.pem"],
        "ssl_key_password": values["ssl.key.password"],
        "ssl_endpoint_identification_algorithm": "https" if is_checked else "",
        "ssl_cipher_suites": suites.replace(":", ",") if suites else (),
    }
    settings = {name: value for name, value in settings.items() if value is not None}
    if values["enable.ssl.certificate.verification"] and not values["ssl.crl.location"]:
        return settings
    return {"ssl_context": _special_context(values, settings)}


def _special_context(values: PropertyValues, settings: dict[str, Any]) -> ssl.SSLContext:
    """A context that trusts anybody, or that looks certificates up among the revoked ones."""
    named = {"bootstrap_servers": NOWHERE, "security_protocol": "SSL", **settings}
    context = Tls(load(AdminConfig, named)).context
    if values["ssl.crl.location"]:
        context.load_verify_locations(cafile=values["ssl.crl.location"])
        context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
    if not values["enable.ssl.certificate.verification"]:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _sasl(values: PropertyValues, oauth_cb: Callable[[str | None], Any] | None) -> dict[str, Any]:
    mechanism = values["sasl.mechanisms"]
    if mechanism == "OAUTHBEARER":
        return {"sasl_mechanism": mechanism, **_oauthbearer(values, oauth_cb)}
    if mechanism == "GSSAPI":
        principal = values["sasl.kerberos.principal"]
        return {
            "sasl_mechanism": mechanism,
            "sasl_kerberos_service_name": values["sasl.kerberos.service.name"],
            "sasl_kerberos_principal": principal if values.is_given("sasl.kerberos.principal") else None,
            "sasl_kerberos_keytab": values["sasl.kerberos.keytab"],
        }
    return {
        "sasl_mechanism": mechanism,
        "sasl_username": values["sasl.username"],
        "sasl_password": values["sasl.password"],
    }


def _oauthbearer(values: PropertyValues, oauth_cb: Callable[[str | None], Any] | None) -> dict[str, Any]:
    config = values["sasl.oauthbearer.config"]
    if oauth_cb is not None:
        return {"sasl_oauthbearer_token_callback": tokens.from_callback(oauth_cb, config)}
    if values["sasl.oauthbearer.method"] == "oidc":
        return _endpoint(values)
    source = unsecured(config) if values["enable.sasl.oauthbearer.unsecure.jwt"] else tokens.nowhere
    return {"sasl_oauthbearer_token_callback": source}


def _endpoint(values: PropertyValues) -> dict[str, Any]:
    """Where tokens are issued, and by what right."""
    settings: dict[str, Any] = {
        "sasl_oauthbearer_token_endpoint_url": values["sasl.oauthbearer.token.endpoint.url"],
        "sasl_oauthbearer_scope": values["sasl.oauthbearer.scope"],
        "sasl_oauthbearer_extensions": values["sasl.oauthbearer.extensions"] or (),
        "https_ca_location": values["https.ca.location"],
    }
    if values["sasl.oauthbearer.metadata.authentication.type"] == "azure_imds":
        url: str = settings["sasl_oauthbearer_token_endpoint_url"] or AZURE_METADATA_URL
        if query := azure_query(values):
            url += ("&" if "?" in url else "?") + query
        return {
            **settings,
            "sasl_oauthbearer_token_endpoint_url": url,
            "sasl_oauthbearer_metadata_authentication_type": "azure_imds",
        }
    if values["sasl.oauthbearer.grant.type"] == JWT_BEARER:
        prefix = "sasl.oauthbearer.assertion."
        given = [name for name in values.given_names() if name.startswith(prefix)]
        assertion = {name.replace(".", "_"): values[name] for name in given}
        return {**settings, "sasl_oauthbearer_grant_type": JWT_BEARER, **assertion}
    return {
        **settings,
        "sasl_oauthbearer_header_urlencode": False,
        "sasl_oauthbearer_client_credentials_client_id": values["sasl.oauthbearer.client.id"],
        "sasl_oauthbearer_client_credentials_client_secret": values["sasl.oauthbearer.client.secret"],
    }

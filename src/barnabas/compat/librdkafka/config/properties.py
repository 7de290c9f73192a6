"""librdkafka's configuration properties, in one table, as release 2.16 has them.

What values a property takes is in the table; how a value is read is `property_values`, what properties say
together `property_rules`, and what they mean for a client of Barnabas `client_settings`.
"""

from __future__ import annotations

from typing import Literal

from barnabas.values import frozen

Kind = Literal[
    "text", "number", "decimal", "truth", "choice", "flags", "patterns", "dedicated", "internal", "refused"
]
Scope = Literal["P", "C", "*"]
"""Of producers, of consumers, or of both."""


@frozen
class Property:
    """One row. `low` and `high` bound numbers; `choices` are the words that choices and flags take. `note` is
    what librdkafka warns of when it is set. An alias has nothing but the name that it stands for. Hidden ones
    are missing in librdkafka's documentation."""

    name: str
    scope: Scope = "*"
    kind: Kind = "text"
    default: str | int | float | bool | None = None
    low: int = 0
    high: int = 0
    choices: tuple[str, ...] = ()
    note: str | None = None
    refusal: str | None = None
    alias_of: str | None = None
    is_hidden: bool = False


def _text(
    name: str, scope: Scope, default: str | None = None, note: str | None = None, *, is_hidden: bool = False
) -> Property:
    return Property(name, scope, "text", default, note=note, is_hidden=is_hidden)


def _number(
    name: str,
    scope: Scope,
    default: int,
    low: int,
    high: int,
    note: str | None = None,
    *,
    is_hidden: bool = False,
) -> Property:
    return Property(name, scope, "number", default, low, high, note=note, is_hidden=is_hidden)


def _decimal(name: str, scope: Scope, default: float, low: int, high: int) -> Property:
    return Property(name, scope, "decimal", default, low, high)


def _truth(
    name: str, scope: Scope, default: bool, note: str | None = None, *, is_hidden: bool = False
) -> Property:
    return Property(name, scope, "truth", default, note=note, is_hidden=is_hidden)


def _choice(name: str, scope: Scope, default: str, choices: str, note: str | None = None) -> Property:
    return Property(name, scope, "choice", default, choices=tuple(choices.split()), note=note)


def _flags(name: str, scope: Scope, default: str, choices: str) -> Property:
    return Property(name, scope, "flags", default, choices=tuple(choices.split()))


def _patterns(name: str, scope: Scope) -> Property:
    return Property(name, scope, "patterns")


def _dedicated(name: str, scope: Scope) -> Property:
    return Property(name, scope, "dedicated")


def _internal(name: str, scope: Scope) -> Property:
    return Property(name, scope, "internal")


def _refused(name: str, scope: Scope, default: str | None, refusal: str) -> Property:
    return Property(name, scope, "refused", default, refusal=refusal, is_hidden=default is None)


def _alias(name: str, alias_of: str) -> Property:
    return Property(name, alias_of=alias_of)


_FEATURES = (
    "gzip snappy ssl sasl regex lz4 sasl_gssapi sasl_plain sasl_scram plugins zstd sasl_oauthbearer http oidc"
)
_DEBUG_CONTEXTS = (
    "generic broker topic metadata feature queue msg protocol cgrp security fetch interceptor plugin "
    "consumer admin eos mock assignor conf telemetry all"
)
_GRANT_TYPES = "client_credentials urn:ietf:params:oauth:grant-type:jwt-bearer"
_DNS_LOOKUPS = "use_all_dns_ips resolve_canonical_bootstrap_servers_only"
_KINIT = (
    'kinit -R -t "%{sasl.kerberos.keytab}" -k %{sasl.kerberos.principal} || '
    'kinit -t "%{sasl.kerberos.keytab}" -k %{sasl.kerberos.principal}'
)
_WINDOWS_ONLY = (
    'Configuration property "ssl.ca.certificate.stores" not supported in this build: '
    "configuration only valid on Windows"
)
_NO_TRUSTSTORE = (
    "Java TrustStores are not supported, use `ssl.ca.location` and a certificate file instead. See "
    "https://github.com/confluentinc/librdkafka/wiki/Using-SSL-with-librdkafka for more information."
)
_NO_JAAS = (
    "Java JAAS configuration is not supported, see "
    "https://github.com/confluentinc/librdkafka/wiki/Using-SASL-with-librdkafka for more information."
)

_GLOBAL: tuple[Property, ...] = (
    _flags("builtin.features", "*", _FEATURES.replace(" ", ","), _FEATURES),
    _text("client.id", "*", "rdkafka"),
    _text("client.software.name", "*", "librdkafka", is_hidden=True),
    _text("client.software.version", "*", is_hidden=True),
    _text("metadata.broker.list", "*"),
    _alias("bootstrap.servers", "metadata.broker.list"),
    _number("message.max.bytes", "*", 1_000_000, 1000, 1_000_000_000),
    _number("message.copy.max.bytes", "*", 65_535, 0, 1_000_000_000),
    _number("receive.message.max.bytes", "*", 100_000_000, 1000, 2_147_483_647),
    _number("max.in.flight.requests.per.connection", "*", 1_000_000, 1, 1_000_000),
    _alias("max.in.flight", "max.in.flight.requests.per.connection"),
    _choice("metadata.recovery.strategy", "*", "rebootstrap", "none rebootstrap"),
    _number("metadata.recovery.rebootstrap.trigger.ms", "*", 300_000, 0, 2_147_483_647),
    _number("topic.metadata.refresh.interval.ms", "*", 300_000, -1, 3_600_000),
    _number("metadata.max.age.ms", "*", 900_000, 1, 86_400_000),
    _number("topic.metadata.refresh.fast.interval.ms", "*", 100, 1, 60_000),
    _number("topic.metadata.refresh.fast.cnt", "*", 10, 0, 1000, note="deprecated"),
    _truth("topic.metadata.refresh.sparse", "*", True),
    _number("topic.metadata.propagation.max.ms", "*", 30_000, 0, 3_600_000),
    _patterns("topic.blacklist", "*"),
    _flags("debug", "*", "", _DEBUG_CONTEXTS),
    _number("socket.timeout.ms", "*", 60_000, 10, 300_000),
    _number("metadata.request.timeout.ms", "*", 10, 10, 900_000, is_hidden=True),
    _number("socket.blocking.max.ms", "*", 1000, 1, 60_000, note="deprecated"),
    _number("socket.send.buffer.bytes", "*", 0, 0, 100_000_000),
    _number("socket.receive.buffer.bytes", "*", 0, 0, 100_000_000),
    _truth("socket.keepalive.enable", "*", False),
    _truth("socket.nagle.disable", "*", True),
    _number("socket.max.fails", "*", 1, 0, 1_000_000),
    _number("broker.address.ttl", "*", 1000, 0, 86_400_000),
    _choice("broker.address.family", "*", "any", "any v4 v6"),
    _number("socket.connection.setup.timeout.ms", "*", 30_000, 1000, 2_147_483_647),
    _number("connections.max.idle.ms", "*", 0, 0, 2_147_483_647),
    _truth("enable.sparse.connections", "*", True, is_hidden=True),
    _number("reconnect.backoff.jitter.ms", "*", 0, 0, 3_600_000, note="deprecated"),
    _number("reconnect.backoff.ms", "*", 100, 0, 3_600_000),
    _number("reconnect.backoff.max.ms", "*", 10_000, 0, 3_600_000),
    _number("statistics.interval.ms", "*", 0, 0, 86_400_000),
    _number("enabled_events", "*", 0, 0, 2_147_483_647),
    _dedicated("error_cb", "*"),
    _dedicated("throttle_cb", "*"),
    _dedicated("stats_cb", "*"),
    _dedicated("log_cb", "*"),
    _number("log_level", "*", 6, 0, 7),
    _truth("log.queue", "*", False),
    _truth("log.thread.name", "*", True),
    _truth("enable.random.seed", "*", True),
    _truth("log.connection.close", "*", True),
    _dedicated("background_event_cb", "*"),
    _dedicated("socket_cb", "*"),
    _dedicated("connect_cb", "*"),
    _dedicated("closesocket_cb", "*"),
    _dedicated("open_cb", "*"),
    _dedicated("resolve_cb", "*"),
    _dedicated("opaque", "*"),
    _dedicated("default_topic_conf", "*"),
    _number("internal.termination.signal", "*", 0, 0, 128),
    _truth("api.version.request", "*", True, note="deprecated"),
    _number("api.version.request.timeout.ms", "*", 10_000, 1, 300_000),
    _number("api.version.fallback.ms", "*", 0, 0, 604_800_000, note="deprecated"),
    _text("broker.version.fallback", "*", "0.10.0", note="deprecated"),
    _truth("allow.auto.create.topics", "*", False),
    _choice("security.protocol", "*", "plaintext", "plaintext ssl sasl_plaintext sasl_ssl"),
    _text("ssl.cipher.suites", "*"),
    _text("ssl.curves.list", "*"),
    _text("ssl.sigalgs.list", "*"),
    _text("ssl.key.location", "*"),
    _text("ssl.key.password", "*"),
    _text("ssl.key.pem", "*"),
    _internal("ssl_key", "*"),
    _text("ssl.certificate.location", "*"),
    _text("ssl.certificate.pem", "*"),
    _internal("ssl_certificate", "*"),
    _text("ssl.ca.location", "*"),
    _text("https.ca.location", "*"),
    _text("https.ca.pem", "*"),
    _text("ssl.ca.pem", "*"),
    _internal("ssl_ca", "*"),
    _refused("ssl.ca.certificate.stores", "*", "Root", _WINDOWS_ONLY),
    _text("ssl.crl.location", "*"),
    _text("ssl.keystore.location", "*"),
    _text("ssl.keystore.password", "*"),
    _text("ssl.providers", "*"),
    _text("ssl.engine.location", "*", note="deprecated"),
    _text("ssl.engine.id", "*", "dynamic"),
    _dedicated("ssl_engine_callback_data", "*"),
    _refused("ssl.truststore.location", "*", None, _NO_TRUSTSTORE),
    _truth("enable.ssl.certificate.verification", "*", True),
    _choice("ssl.endpoint.identification.algorithm", "*", "https", "none https"),
    _dedicated("ssl.certificate.verify_cb", "*"),
    _text("sasl.mechanisms", "*", "GSSAPI"),
    _alias("sasl.mechanism", "sasl.mechanisms"),
    _text("sasl.kerberos.service.name", "*", "kafka"),
    _text("sasl.kerberos.principal", "*", "kafkaclient"),
    _text("sasl.kerberos.kinit.cmd", "*", _KINIT),
    _text("sasl.kerberos.keytab", "*"),
    _number("sasl.kerberos.min.time.before.relogin", "*", 60_000, 0, 86_400_000),
    _text("sasl.username", "*"),
    _text("sasl.password", "*"),
    _refused("sasl.jaas.config", "*", None, _NO_JAAS),
    _truth("enable_sasl_queue", "*", False, is_hidden=True),
    _text("sasl.oauthbearer.config", "*"),
    _truth("enable.sasl.oauthbearer.unsecure.jwt", "*", False),
    _dedicated("oauthbearer_token_refresh_cb", "*"),
    _choice("sasl.oauthbearer.method", "*", "default", "default oidc"),
    _text("sasl.oauthbearer.client.id", "*"),
    _alias("sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.id"),
    _alias("sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.client.secret"),
    _text("sasl.oauthbearer.client.secret", "*"),
    _text("sasl.oauthbearer.scope", "*"),
    _text("sasl.oauthbearer.extensions", "*"),
    _text("sasl.oauthbearer.token.endpoint.url", "*"),
    _text("sasl.oauthbearer.sub.claim.name", "*", "sub"),
    _choice("sasl.oauthbearer.grant.type", "*", "client_credentials", _GRANT_TYPES),
    _choice("sasl.oauthbearer.assertion.algorithm", "*", "RS256", "RS256 ES256"),
    _text("sasl.oauthbearer.assertion.private.key.file", "*"),
    _text("sasl.oauthbearer.assertion.private.key.passphrase", "*"),
    _text("sasl.oauthbearer.assertion.private.key.pem", "*"),
    _text("sasl.oauthbearer.assertion.file", "*"),
    _text("sasl.oauthbearer.assertion.claim.aud", "*"),
    _number("sasl.oauthbearer.assertion.claim.exp.seconds", "*", 300, 1, 2_147_483_647),
    _text("sasl.oauthbearer.assertion.claim.iss", "*"),
    _truth("sasl.oauthbearer.assertion.claim.jti.include", "*", False),
    _number("sasl.oauthbearer.assertion.claim.nbf.seconds", "*", 60, 0, 2_147_483_647),
    _text("sasl.oauthbearer.assertion.claim.sub", "*"),
    _text("sasl.oauthbearer.assertion.jwt.template.file", "*"),
    _choice("sasl.oauthbearer.metadata.authentication.type", "*", "none", "none azure_imds aws_iam"),
    _text("plugin.library.paths", "*"),
    _internal("interceptors", "*"),
    _number("test.mock.num.brokers", "*", 0, 0, 10_000, is_hidden=True),
    _number("test.mock.broker.rtt", "*", 0, 0, 3_600_000, is_hidden=True),
    _text("group.id", "C"),
    _text("group.instance.id", "C"),
    _text("partition.assignment.strategy", "C", "range,roundrobin"),
    _number("session.timeout.ms", "C", 45_000, 1, 3_600_000),
    _number("heartbeat.interval.ms", "C", 3000, 1, 3_600_000),
    _text("group.protocol.type", "C", "consumer"),
    _choice("group.protocol", "C", "classic", "classic consumer"),
    _text("group.remote.assignor", "C"),
    _number("coordinator.query.interval.ms", "C", 600_000, 1, 3_600_000),
    _number("max.poll.interval.ms", "C", 300_000, 1, 86_400_000),
    _truth("enable.auto.commit", "C", True),
    _number("auto.commit.interval.ms", "C", 5000, 0, 86_400_000),
    _truth("enable.auto.offset.store", "C", True),
    _number("queued.min.messages", "C", 100_000, 1, 10_000_000),
    _number("queued.max.messages.kbytes", "C", 65_536, 1, 2_097_151),
    _number("fetch.wait.max.ms", "C", 500, 0, 300_000),
    _number("fetch.queue.backoff.ms", "C", 1000, 0, 300_000),
    _number("fetch.message.max.bytes", "C", 1_048_576, 1, 1_000_000_000),
    _alias("max.partition.fetch.bytes", "fetch.message.max.bytes"),
    _number("fetch.max.bytes", "C", 52_428_800, 0, 2_147_483_135),
    _number("fetch.min.bytes", "C", 1, 0, 2_147_483_647),
    _number("fetch.error.backoff.ms", "C", 500, 0, 300_000),
    _choice("offset.store.method", "C", "broker", "none file broker", note="deprecated"),
    _choice("isolation.level", "C", "read_committed", "read_uncommitted read_committed"),
    _dedicated("consume_cb", "C"),
    _dedicated("rebalance_cb", "C"),
    _dedicated("offset_commit_cb", "C"),
    _truth("enable.partition.eof", "C", False),
    _truth("check.crcs", "C", False),
    _text("client.rack", "*"),
    _number("max.poll.records", "C", 500, 1, 2_147_483_647),
    _text("share.acknowledgement.mode", "C", "implicit"),
    _text("transactional.id", "P"),
    _number("transaction.timeout.ms", "P", 60_000, 1000, 2_147_483_647),
    _truth("enable.idempotence", "P", False),
    _truth("enable.gapless.guarantee", "P", False, note="experimental"),
    _number("queue.buffering.max.messages", "P", 100_000, 0, 2_147_483_647),
    _number("queue.buffering.max.kbytes", "P", 1_048_576, 1, 2_147_483_647),
    _decimal("queue.buffering.max.ms", "P", 5, 0, 900_000),
    _alias("linger.ms", "queue.buffering.max.ms"),
    _number("message.send.max.retries", "P", 2_147_483_647, 0, 2_147_483_647),
    _alias("retries", "message.send.max.retries"),
    _number("retry.backoff.ms", "*", 100, 1, 300_000),
    _number("retry.backoff.max.ms", "*", 1000, 1, 300_000),
    _number("queue.buffering.backpressure.threshold", "P", 1, 1, 1_000_000),
    _choice("compression.codec", "P", "none", "none gzip snappy lz4 zstd"),
    _alias("compression.type", "compression.codec"),
    _number("batch.num.messages", "P", 10_000, 1, 1_000_000),
    _number("batch.size", "P", 1_000_000, 1, 2_147_483_647),
    _truth("delivery.report.only.error", "P", False),
    _dedicated("dr_cb", "P"),
    _dedicated("dr_msg_cb", "P"),
    _number("sticky.partitioning.linger.ms", "P", 10, 0, 900_000),
    _choice("client.dns.lookup", "*", "use_all_dns_ips", _DNS_LOOKUPS),
    _truth("enable.metrics.push", "*", True),
)

_TOPIC: tuple[Property, ...] = (
    _number("request.required.acks", "P", -1, -1, 1000),
    _alias("acks", "request.required.acks"),
    _number("request.timeout.ms", "P", 30_000, 1, 900_000),
    _number("message.timeout.ms", "P", 300_000, 0, 2_147_483_647),
    _alias("delivery.timeout.ms", "message.timeout.ms"),
    _choice("queuing.strategy", "P", "fifo", "fifo lifo", note="deprecated and experimental"),
    _truth("produce.offset.report", "P", False, note="deprecated"),
    _text("partitioner", "P", "consistent_random"),
    _dedicated("partitioner_cb", "P"),
    _dedicated("msg_order_cmp", "P"),
    _number("compression.level", "P", -1, -1, 12),
    _truth("auto.commit.enable", "C", True, note="deprecated"),
    _choice("auto.offset.reset", "C", "largest", "smallest earliest beginning largest latest end error"),
    _text("offset.store.path", "C", ".", note="deprecated"),
    _number("offset.store.sync.interval.ms", "C", -1, -1, 86_400_000, note="deprecated"),
    _number("consume.callback.max.messages", "C", 0, 0, 1_000_000),
)

OF_TOPICS = {p.name: p for p in _TOPIC}
"""Those that librdkafka has for topics, by name."""
_TOPIC_PREFIX = "topic."

PROPERTIES: dict[str, Property] = {**{p.name: p for p in _GLOBAL}, **OF_TOPICS}
"""All by name, in librdkafka's order. What it has for clients and for topics is the client's here."""


def find(name: str) -> Property | None:
    """The property of this name, or that an alias of this name stands for. `topic.` may stand before those of
    topics."""
    found = PROPERTIES.get(name) or OF_TOPICS.get(name.removeprefix(_TOPIC_PREFIX))
    return PROPERTIES[found.alias_of] if found is not None and found.alias_of is not None else found


def looked_up(name: str) -> str:
    """The name that librdkafka looks for last, and complains of: without the prefix of topics."""
    return name.removeprefix(_TOPIC_PREFIX)

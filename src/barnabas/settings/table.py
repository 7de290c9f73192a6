"""Every setting of every client, in one table: the fields of these dataclasses.

Names are Kafka's own in snake_case; types, units and defaults are Apache Kafka's Java client's unless the
comment beside a field says otherwise. `load` turns keyword arguments, or the strings of a properties file,
into one of these, and refuses what it does not know. Knows nothing of how a setting is used.
"""

from __future__ import annotations

import math
import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields, replace
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from barnabas.assignor import Assignor
from barnabas.credentials import AwsCredentialsCallback, Secret, TokenCallback
from barnabas.errors import InvalidSettingError, UnknownSettingError
from barnabas.interceptors import ConsumerInterceptor, ProducerInterceptor
from barnabas.types import Buffer
from barnabas.values import frozen

Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]
"""In the order of their numbers in a batch."""
Partitioner = Literal[
    "murmur2",
    "murmur2_random",
    "murmur2_consistent",
    "consistent",
    "consistent_random",
    "fnv1a",
    "fnv1a_random",
    "random",
]
PartitionerFunction = Callable[[str, Buffer | None, Buffer | None, int], int | None]
"""`partitioner(topic, key, value, partition_count)` gives one, or None for murmur2's choice."""
Acks = Literal["all", "0", "1", "-1"]
OffsetReset = Literal["earliest", "latest", "none"] | str
"""Also `by_duration:` and an ISO 8601 duration, such as `by_duration:PT1H30M` (KIP-1106)."""
IsolationLevel = Literal["read_uncommitted", "read_committed"]
SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"]
TlsVersion = Literal["TLSv1.2", "TLSv1.3"]
OAuthGrantType = Literal["client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"]
OAuthAssertionAlgorithm = Literal["RS256", "ES256"]
OAuthMetadataAuthenticationType = Literal["none", "azure_imds"]
StoreType = Literal["PEM", "JKS", "PKCS12"]
AssignorName = Literal["range", "roundrobin", "sticky", "cooperative-sticky"]
GroupProtocol = Literal["classic", "consumer", "auto"]
MaxPollIntervalAction = Literal["leave", "pause"]
ShareAcknowledgementMode = Literal["implicit", "explicit"]
ShareAcquireMode = Literal["batch_optimized", "record_limit"]
ClientDnsLookup = Literal["use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"]
MetadataRecoveryStrategy = Literal["rebootstrap", "none"]
BrokerAddressFamily = Literal["any", "v4", "v6"]


# The broker remembers this many batches of each producer to tell duplicates (KIP-98).
MAX_IN_FLIGHT_WITH_IDEMPOTENCE = 5
# What brokers take by default (message.max.bytes), but for a few bytes.
MAX_RECORD_BYTES = 1 << 20
# Two full batches: a broker takes one request of a connection at a time, and has to be woken for each.
MAX_REQUEST_BYTES = 2 << 20


def setting(
    default: Any,
    doc: str,
    *,
    low: float | None = None,
    high: float | None = None,
    check: Callable[[str, Any], Any] | None = None,
) -> Any:
    """A field of the table, with the range of its value and one sentence for people. `check(name, value)`
    gives the value in its usual form, or raises InvalidSettingError."""
    return field(default=default, metadata={"doc": doc, "low": low, "high": high, "check": check})


_BY_DURATION = "by_duration:"
_DURATION = (
    r"p(?=.)(?:(?P<days>\d+)d)?(?:t(?=.)(?:(?P<hours>\d+)h)?(?:(?P<minutes>\d+)m)?"
    r"(?:(?P<seconds>\d+(?:[.,]\d{1,9})?)s)?)?"
)


def reset_duration_ms(reset: OffsetReset) -> int | None:
    """How long ago the first record to read is, in milliseconds; None where `reset` names no duration."""
    # Few programs name a duration, and it takes as long to import as all of this module.
    from datetime import timedelta

    match = re.fullmatch(_DURATION, reset.removeprefix(_BY_DURATION))
    if match is None:
        return None
    parts = {name: float((text or "0").replace(",", ".")) for name, text in match.groupdict().items()}
    return int(timedelta(**parts) / timedelta(milliseconds=1))


def _offset_reset(name: str, value: str) -> str:
    reset = value.lower()
    if reset in ("earliest", "latest", "none"):
        return reset
    try:
        is_duration = reset.startswith(_BY_DURATION) and reset_duration_ms(reset) is not None
    except OverflowError:
        is_duration = False
    if not is_duration:
        raise InvalidSettingError(
            f"{name} must be one of earliest, latest, none, or by_duration: and an ISO 8601 duration that is "
            f"not negative (by_duration:PT1H30M), not {value!r}"
        )
    return reset


def _assignors(name: str, value: tuple[Any, ...]) -> tuple[Any, ...]:
    known = get_args(AssignorName)
    assignors = tuple(a.lower() if isinstance(a, str) else a for a in value)
    if not assignors:
        raise InvalidSettingError(f"{name} must name at least one assignor")
    for assignor in assignors:
        if not isinstance(assignor, Assignor) and assignor not in known:
            raise InvalidSettingError(
                f"{name} takes {', '.join(known)}, and objects of a subclass of barnabas.Assignor, "
                f"not {assignor!r}"
            )
    return assignors


def _interceptors(kind: type[Any]) -> Callable[[str, tuple[Any, ...]], tuple[Any, ...]]:
    def check(name: str, value: tuple[Any, ...]) -> tuple[Any, ...]:
        for interceptor in value:
            if not isinstance(interceptor, kind):
                raise InvalidSettingError(
                    f"{name} takes objects of a subclass of barnabas.{kind.__name__}, not {interceptor!r}"
                )
        return value

    return check


def _partitioner(name: str, value: Any) -> Any:
    if callable(value):
        return value
    known = get_args(Partitioner)
    if str(value).lower() not in known:
        raise InvalidSettingError(
            f"{name} must be one of {', '.join(known)}, or a function of topic, key, value and number of "
            f"partitions, not {value!r}"
        )
    return str(value).lower()


def _function(name: str, value: Any) -> Any:
    if value is not None and not callable(value):
        raise InvalidSettingError(
            f"{name} must be a function, such as those of barnabas.serializers, not {value!r}"
        )
    return value


def _deserializer(name: str, value: Any) -> Any:
    if getattr(value, "is_awaited", False):
        raise InvalidSettingError(
            f"{name} is called when a record's {name.partition('_')[0]} is asked for, and cannot be awaited: "
            f"take the deserializer of barnabas.registry, or leave {name} out and await "
            f"deserializer.{name.partition('_')[0]}_of(record)"
        )
    return _function(name, value)


_KEY_DESERIALIZER = (
    "What record.key is made with, when it is first asked for: a function of bytes, as those of "
    "barnabas.serializers, or a deserializer of barnabas.registry; None leaves bytes. poll_arrow does not "
    "call it."
)
_VALUE_DESERIALIZER = "What record.value is made with, as key_deserializer for record.key."


@frozen(kw_only=True)
class CommonConfig:
    """Settings that every client has."""

    bootstrap_servers: tuple[str, ...] = setting((), "Brokers to find the cluster by, host:port.")
    client_id: str = setting("barnabas", "Name of this client in the broker's logs, metrics and quotas.")
    request_timeout_ms: int = setting(30_000, "Longest wait for the answer to one request.", low=1)
    default_api_timeout_ms: int = setting(60_000, "Deadline of a call that is given none.", low=1)
    retry_backoff_ms: int = setting(100, "First pause before a retry (KIP-580).", low=0)
    retry_backoff_max_ms: int = setting(1_000, "Longest pause before a retry (KIP-580).", low=0)
    reconnect_backoff_ms: int = setting(50, "First pause before connecting again.", low=0)
    reconnect_backoff_max_ms: int = setting(1_000, "Longest pause before connecting again.", low=0)
    socket_connection_setup_timeout_ms: int = setting(
        10_000, "Wait for a connection; doubles with each failure in a row.", low=1
    )
    socket_connection_setup_timeout_max_ms: int = setting(30_000, "Longest wait for a connection.", low=1)
    client_dns_lookup: ClientDnsLookup = setting(
        "use_all_dns_ips", "Whether bootstrap_servers are replaced by the names of all their addresses."
    )
    broker_address_family: BrokerAddressFamily = setting(
        "any", "Addresses of brokers to use: all, IPv4's or IPv6's (librdkafka's)."
    )
    source_address: str | None = setting(
        None, "Local host, or host:port, that connections are made from (pykafka's)."
    )
    connections_max_idle_ms: int = setting(540_000, "Idle connections are closed after this.", low=-1)
    metadata_max_age_ms: int = setting(300_000, "Metadata is refreshed at least this often.", low=1)
    metadata_recovery_strategy: MetadataRecoveryStrategy = setting(
        "rebootstrap", "Whether bootstrap_servers are asked again when no known broker answers (KIP-899)."
    )
    metadata_recovery_rebootstrap_trigger_ms: int = setting(
        300_000, "Known brokers that give no metadata for this long are given up (KIP-1102).", low=0
    )
    security_protocol: SecurityProtocol = setting("PLAINTEXT", "How brokers are spoken to.")
    ssl_truststore_location: str | None = setting(
        None, "PEM file or folder of the authorities to trust; None is the system's. Also ssl_ca_location."
    )
    ssl_truststore_certificates: str | None = setting(None, "The same as a PEM text. Also ssl_ca_pem.")
    ssl_truststore_type: StoreType = setting("PEM", "PEM or PKCS12, which a file shows by itself.")
    ssl_truststore_password: Secret | None = setting(None, "Of a PKCS12 store (extra: crypto).")
    ssl_keystore_location: str | None = setting(
        None, "File with the client's key and certificates: PEM, or PKCS12 (extra: crypto)."
    )
    ssl_certificate_location: str | None = setting(None, "PEM file of certificates alone (librdkafka's).")
    ssl_key_location: str | None = setting(None, "PEM file of the key alone (librdkafka's).")
    ssl_keystore_certificate_chain: str | None = setting(None, "The client's certificates as a PEM text.")
    ssl_keystore_key: Secret | None = setting(None, "The client's private key as a PEM text.")
    ssl_keystore_type: StoreType = setting("PEM", "PEM or PKCS12, which a file shows by itself.")
    ssl_keystore_password: Secret | None = setting(None, "Of a PKCS12 store.")
    ssl_key_password: Secret | None = setting(None, "What the client's private key is encrypted with.")
    ssl_endpoint_identification_algorithm: Literal["https", ""] = setting(
        "https", "How host names are checked; an empty text does not check them."
    )
    ssl_protocol: TlsVersion = setting("TLSv1.3", "The newest version of TLS to offer.")
    ssl_enabled_protocols: tuple[TlsVersion, ...] = setting(("TLSv1.2", "TLSv1.3"), "Versions to offer.")
    ssl_cipher_suites: tuple[str, ...] = setting((), "Cipher suites to offer; none named means all.")
    ssl_context: ssl.SSLContext | None = setting(None, "A context to use as it is, in place of the above.")
    sasl_mechanism: SaslMechanism = setting("GSSAPI", "How the client proves who it is.")
    sasl_username: str | None = setting(None, "User of PLAIN and SCRAM (librdkafka's name).")
    sasl_password: Secret | None = setting(None, "Password of PLAIN and SCRAM (librdkafka's name).")
    sasl_jaas_config: Secret | None = setting(None, "One login module of Java's, with its options.")
    sasl_tokenauth: bool = setting(False, "User and password are a delegation token's id and HMAC (SCRAM).")
    sasl_kerberos_service_name: str | None = setting(None, "The brokers' Kerberos service: often kafka.")
    sasl_kerberos_principal: str | None = setting(None, "Whose ticket to show; None is the default one.")
    sasl_kerberos_host: str | None = setting(
        None, "Host that the brokers' service is named for; None is each broker's own (kafka-python's)."
    )
    sasl_kerberos_keytab: str | None = setting(None, "Keytab to get tickets with; None needs a kinit.")
    sasl_oauthbearer_token_callback: TokenCallback | None = setting(None, "Gives a token; may be async.")
    sasl_oauthbearer_token_endpoint_url: str | None = setting(None, "Where tokens are issued (OIDC).")
    sasl_oauthbearer_client_credentials_client_id: str | None = setting(None, "Client id at the endpoint.")
    sasl_oauthbearer_client_credentials_client_secret: Secret | None = setting(None, "Its secret there.")
    sasl_oauthbearer_header_urlencode: bool = setting(
        True, "Encode id and secret for the endpoint as RFC 6749 says; some take them only as they are."
    )
    sasl_oauthbearer_scope: str | None = setting(None, "Scope of the token to ask for.")
    sasl_oauthbearer_extensions: tuple[str, ...] = setting((), "SASL extensions, name=value (KIP-342).")
    sasl_oauthbearer_grant_type: OAuthGrantType = setting(
        "client_credentials", "By what an endpoint issues tokens: a secret, or an assertion (jwt-bearer)."
    )
    sasl_oauthbearer_assertion_file: str | None = setting(None, "File with a whole assertion (KIP-1139).")
    sasl_oauthbearer_assertion_private_key_file: str | None = setting(
        None, "PEM file of the key to sign assertions with (extra: crypto)."
    )
    sasl_oauthbearer_assertion_private_key_pem: Secret | None = setting(None, "The same as a PEM text.")
    sasl_oauthbearer_assertion_private_key_passphrase: Secret | None = setting(
        None, "What it is encrypted with."
    )
    sasl_oauthbearer_assertion_algorithm: OAuthAssertionAlgorithm = setting(
        "RS256", "How to sign assertions."
    )
    sasl_oauthbearer_assertion_claim_aud: str | None = setting(None, "Whom the assertion is for.")
    sasl_oauthbearer_assertion_claim_iss: str | None = setting(None, "Who says so.")
    sasl_oauthbearer_assertion_claim_sub: str | None = setting(None, "Of whom.")
    sasl_oauthbearer_assertion_claim_exp_seconds: int = setting(300, "How long an assertion is valid.", low=1)
    sasl_oauthbearer_assertion_claim_nbf_seconds: int = setting(
        60, "How long before it was made it is valid already, as clocks differ.", low=0
    )
    sasl_oauthbearer_assertion_claim_jti_include: bool = setting(False, "Give each assertion an id.")
    sasl_oauthbearer_assertion_template_file: str | None = setting(
        None, "JSON file with header and payload of assertions, to which the claims above are added."
    )
    sasl_oauthbearer_metadata_authentication_type: OAuthMetadataAuthenticationType = setting(
        "none", "Whose service of metadata issues tokens to this machine."
    )
    sasl_login_connect_timeout_ms: int = setting(10_000, "Longest wait for the endpoint, each time.", low=1)
    sasl_login_refresh_window_factor: float = setting(
        0.8, "Part of its life after which a token is replaced.", low=0.5, high=1.0
    )
    https_ca_location: str | None = setting(None, "PEM file of the endpoint's authorities (librdkafka's).")
    aws_region: str | None = setting(None, "Region to sign for; None reads it from the broker's host name.")
    aws_access_key_id: str | None = setting(None, "Key of AWS_MSK_IAM; None looks where AWS tools look.")
    aws_secret_access_key: Secret | None = setting(None, "The secret that belongs to it.")
    aws_session_token: Secret | None = setting(None, "The session it belongs to, where it is temporary.")
    aws_profile: str | None = setting(None, "Profile of the shared credentials file.")
    aws_credentials_callback: AwsCredentialsCallback | None = setting(None, "Gives keys; may be async.")
    enable_metrics_push: bool = setting(True, "Push figures to brokers that ask for them (KIP-714).")
    # Java's defaults, 131072 and 65536, switch off the system's own tuning, which does better.
    send_buffer_bytes: int = setting(-1, "SO_SNDBUF; -1 leaves it to the system.", low=-1)
    receive_buffer_bytes: int = setting(-1, "SO_RCVBUF; -1 leaves it to the system.", low=-1)
    proxy_url: Secret | None = setting(
        None, "Proxy on the way to brokers: socks5, socks5h or http://[user:password@]host:port."
    )


@frozen(kw_only=True)
class ProducerConfig(CommonConfig):
    """Settings of a Producer."""

    acks: Acks = setting("all", "Replicas that must have a record before it counts as delivered.")
    enable_idempotence: bool = setting(True, "No duplicates and no reordering by retries (KIP-98).")
    compression: Codec = setting("none", "Codec of record batches; also called compression_type.")
    compression_level: int | None = setting(
        None, "Level of the codec; None is its default, for zstd 3 or a faster one that is about as small."
    )
    batch_size: int = setting(
        1_048_576, "Bytes of a batch, before compression. Java's default is 16384.", low=0
    )
    batch_num_messages: int = setting(
        4_294_967_295, "Records of a batch at most (librdkafka's).", low=1, high=4_294_967_295
    )
    linger_ms: float = setting(5, "How long a record waits for others to join its batch.", low=0)
    buffer_memory: int = setting(33_554_432 * 2, "Bytes of records that may wait to be sent.", low=1)
    max_block_ms: int = setting(60_000, "How long send may wait for buffer space or metadata.", low=0)
    max_request_size: int | None = setting(
        None,
        "Bytes of the largest record and request. None: 1 MiB, Java's, of a record, and 2 MiB of a request.",
        low=1,
    )
    max_in_flight_requests_per_connection: int = setting(5, "Requests under way to a broker.", low=1)
    delivery_timeout_ms: int = setting(120_000, "From send to success or failure, retries included.", low=1)
    retries: int = setting(2_147_483_647, "Tries after the first, within delivery_timeout_ms.", low=0)
    partitioner: Any = setting(
        "murmur2",
        "How keys choose partitions; murmur2 is Java's. Or a function, see PartitionerFunction.",
        check=_partitioner,
    )
    partitioner_ignore_keys: bool = setting(False, "Spread records as if none had a key (KIP-794).")
    partitioner_adaptive_partitioning_enable: bool = setting(
        True, "Records without a key go more often to partitions with shorter queues (KIP-794)."
    )
    partitioner_sticky_linger_ms: float | None = setting(
        None,
        "How long records without a key stay with a partition; None: for batch_size bytes. librdkafka's.",
        low=0,
    )
    partitioner_availability_timeout_ms: int = setting(
        0,
        "Records without a key avoid partitions whose leader took nothing for this long, though there was "
        "something to take; 0 is off, and so it is without adaptive partitioning (KIP-794).",
        low=0,
    )
    allow_auto_create_topics: bool = setting(True, "Let the broker create a topic that is sent to.")
    key_serializer: Any = setting(
        None,
        "What makes bytes of keys: a function, as those of barnabas.serializers, or a serializer of "
        "barnabas.registry; None sends bytes. send_arrow does not call it.",
        check=_function,
    )
    value_serializer: Any = setting(
        None, "What makes bytes of values, as key_serializer of keys.", check=_function
    )
    interceptors: tuple[Any, ...] = setting(
        (),
        "Objects of barnabas.ProducerInterceptor, called in this order.",
        check=_interceptors(ProducerInterceptor),
    )
    metadata_max_idle_ms: int = setting(
        300_000, "Topics that nothing was sent to for this long are forgotten.", low=5_000
    )
    transactional_id: str | None = setting(
        None, "Name of this producer in transactions, the same after a restart; None for none (KIP-98)."
    )
    transaction_timeout_ms: int = setting(
        60_000, "The coordinator aborts a transaction that is open for longer than this.", low=1
    )

    @property
    def max_record_bytes(self) -> int:
        """The largest record that is taken, in bytes: max_request_size, or what brokers take by default."""
        return MAX_RECORD_BYTES if self.max_request_size is None else self.max_request_size

    @property
    def max_request_bytes(self) -> int:
        """The largest request, in bytes: max_request_size, or two full batches."""
        return MAX_REQUEST_BYTES if self.max_request_size is None else self.max_request_size


@frozen(kw_only=True)
class ConsumerConfig(CommonConfig):
    """Settings of a Consumer."""

    group_id: str | None = setting(None, "The consumer group; None for a consumer without one.")
    group_instance_id: str | None = setting(None, "Name of a static member (KIP-345).")
    auto_offset_reset: OffsetReset = setting(
        "latest",
        "Where to begin without a committed offset: earliest, latest, none, by_duration:PT1H (KIP-1106).",
        check=_offset_reset,
    )
    enable_auto_commit: bool = setting(True, "Commit what earlier polls returned every now and then.")
    auto_commit_interval_ms: int = setting(5_000, "How often to commit.", low=0)
    group_protocol: GroupProtocol = setting(
        "classic", "How the group is kept; auto takes consumer (KIP-848) where the brokers offer it."
    )
    group_remote_assignor: str | None = setting(
        None, "The broker's assignor to use with group_protocol=consumer; None leaves it to the broker."
    )
    partition_assignment_strategy: tuple[Any, ...] = setting(
        ("range", "cooperative-sticky"),
        "Assignors this member offers its group, best first: names, or objects of barnabas.Assignor.",
        check=_assignors,
    )
    session_timeout_ms: int = setting(45_000, "A member silent for this long is out of the group.", low=1)
    heartbeat_interval_ms: int = setting(3_000, "How often a member says that it is alive.", low=1)
    max_poll_interval_ms: int = setting(
        300_000, "Longest time between polls before max_poll_interval_action.", low=1
    )
    max_poll_interval_action: MaxPollIntervalAction = setting(
        "leave", "Then a member leaves its group, or stays in it and fetches nothing (not in Java)."
    )
    max_poll_records: int = setting(500, "Records of one poll that names no limit.", low=1)
    fetch_min_bytes: int = setting(1, "Bytes a broker waits for before it answers a fetch.", low=0)
    fetch_max_bytes: int = setting(
        52_428_800, "Bytes of one fetch response. A batch may unpack to twice as many, or 100 MiB.", low=1
    )
    fetch_max_wait_ms: int = setting(500, "How long a broker waits for fetch_min_bytes.", low=0)
    max_partition_fetch_bytes: int = setting(
        4_194_304,
        "Bytes of one partition in a fetch response. Java's default, 1048576, is less than a batch of "
        "this producer's, and cuts the second; fewer answers of more bytes also take less time.",
        low=1,
    )
    queued_max_bytes: int = setting(
        67_108_864,
        "Bytes fetched ahead of the caller (not in Java; as librdkafka's queued.max.messages.kbytes). With "
        "less, a broker and a caller that take turns on few cores wait for each other.",
        low=1,
    )
    isolation_level: IsolationLevel = setting(
        "read_uncommitted", "Whether open and aborted transactions show."
    )
    enable_partition_eof: bool = setting(
        False, "Note when the end of a partition is reached, for ends_reached() (not in Java)."
    )
    check_crcs: bool = setting(True, "Verify the checksum of every batch.")
    key_deserializer: Any = setting(None, _KEY_DESERIALIZER, check=_deserializer)
    value_deserializer: Any = setting(None, _VALUE_DESERIALIZER, check=_deserializer)
    interceptors: tuple[Any, ...] = setting(
        (),
        "Objects of barnabas.ConsumerInterceptor, called in this order.",
        check=_interceptors(ConsumerInterceptor),
    )
    allow_auto_create_topics: bool = setting(True, "Let the broker create a topic that is subscribed to.")
    exclude_internal_topics: bool = setting(True, "Have patterns pass over Kafka's own topics.")
    client_rack: str | None = setting(None, "Rack of this client, for the closest replica (KIP-392).")


@frozen(kw_only=True)
class ShareConsumerConfig(CommonConfig):
    """Settings of a ShareConsumer (KIP-932). Where a group begins, how long its locks last and how often a
    record is delivered are settings of the group, which the cluster keeps: share.auto.offset.reset,
    share.record.lock.duration.ms, share.isolation.level."""

    group_id: str = setting("", "The share group.")
    share_acknowledgement_mode: ShareAcknowledgementMode = setting(
        "implicit", "Whether the next poll accepts what the last one returned, or each record needs a word."
    )
    share_acquire_mode: ShareAcquireMode = setting(
        "batch_optimized", "Whether whole batches are lent, or max_poll_records at most (KIP-1206)."
    )
    max_poll_records: int = setting(
        500, "Records of one poll that names no limit; what was lent together comes together.", low=1
    )
    max_poll_interval_ms: int = setting(
        300_000, "Longest time between polls before a member leaves its group.", low=1
    )
    fetch_min_bytes: int = setting(1, "Bytes a broker waits for before it answers a fetch.", low=0)
    fetch_max_bytes: int = setting(
        52_428_800, "Bytes of one fetch response. A batch may unpack to twice as many, or 100 MiB.", low=1
    )
    fetch_max_wait_ms: int = setting(500, "How long a broker waits for fetch_min_bytes.", low=0)
    check_crcs: bool = setting(True, "Verify the checksum of every batch.")
    key_deserializer: Any = setting(None, _KEY_DESERIALIZER, check=_deserializer)
    value_deserializer: Any = setting(None, _VALUE_DESERIALIZER, check=_deserializer)
    allow_auto_create_topics: bool = setting(True, "Let the broker create a topic that is subscribed to.")
    client_rack: str | None = setting(None, "Rack of this client.")


@frozen(kw_only=True)
class AdminConfig(CommonConfig):
    """Settings of an Admin."""

    bootstrap_controllers: tuple[str, ...] = setting(
        (), "Controllers to ask in place of brokers, host:port; without bootstrap_servers (KIP-919)."
    )
    enable_metrics_push: bool = setting(False, "Push figures to brokers that ask for them (KIP-714).")


ConfigT = TypeVar("ConfigT", bound=CommonConfig)

ALIASES = {
    "compression_type": "compression",
    "bootstrap_server": "bootstrap_servers",
    "ssl_ca_location": "ssl_truststore_location",
    "ssl_ca_pem": "ssl_truststore_certificates",
    "ssl_certificate_pem": "ssl_keystore_certificate_chain",
    "ssl_key_pem": "ssl_keystore_key",
    "sasl_mechanisms": "sasl_mechanism",
    "sasl_oauthbearer_assertion_jwt_template_file": "sasl_oauthbearer_assertion_template_file",
    "sasl_oauthbearer_client_id": "sasl_oauthbearer_client_credentials_client_id",
    "sasl_oauthbearer_client_secret": "sasl_oauthbearer_client_credentials_client_secret",
}


def names(config_type: type[CommonConfig]) -> list[str]:
    """All settings of a client, in the table's order."""
    return [f.name for f in fields(config_type)]


def from_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """`fetch.max.wait.ms` -> `fetch_max_wait_ms`: a properties file's keys as keyword arguments."""
    return {key.replace(".", "_").replace("-", "_"): value for key, value in properties.items()}


def load(config_type: type[ConfigT], settings: Mapping[str, Any]) -> ConfigT:
    """Checks settings against the table. Values may be strings; lists may be comma-separated.

    Raises: UnknownSettingError (names the nearest setting that exists), InvalidSettingError.
    """
    values = checked_values(config_type, settings, ALIASES)
    config = config_type(**values)
    if isinstance(config, ProducerConfig):
        config = _follow_what_is_given(config, values)
    if isinstance(config, ConsumerConfig):
        config = _settle_group_protocol(config, values)
    if isinstance(config, ShareConsumerConfig) and not config.group_id:
        raise InvalidSettingError("group_id is missing: a ShareConsumer is a member of a share group")
    _check_servers(config)
    _check_together(config)
    _check_protocol_is_meant(values)
    return config


def checked_values(
    config_type: type[Any], settings: Mapping[str, Any], aliases: Mapping[str, str]
) -> dict[str, Any]:
    """What is given of the fields of `config_type`, which `setting` made, each in its own type.

    Raises: UnknownSettingError (names the nearest setting that exists), InvalidSettingError.
    """
    hints = _hints(config_type)
    table = {f.name: f for f in fields(config_type)}
    values: dict[str, Any] = {}
    for given, value in settings.items():
        name = aliases.get(given, given)
        if name not in table:
            known = [*table, *(alias for alias, of in aliases.items() if of in table)]
            raise _unknown(config_type, given, name, known)
        if name in values:
            raise InvalidSettingError(f"setting {name!r} is given twice, once as {given!r}")
        metadata = table[name].metadata
        values[name] = _converted(name, value, hints[name], metadata["low"], metadata["high"])
        if metadata["check"] is not None:
            values[name] = metadata["check"](name, values[name])
    return values


SERIALIZERS = frozenset({"key_serializer", "value_serializer", "key_deserializer", "value_deserializer"})
"""Settings that are functions of Python here, and names of classes in files of Java's clients."""
# Nearer than what merely has an ending like _size in common.
_NEAR = 0.57


def _unknown(config_type: type[Any], given: str, name: str, known: Sequence[str]) -> UnknownSettingError:
    owners = {
        ProducerConfig: "a producer's",
        ConsumerConfig: "a consumer's",
        ShareConsumerConfig: "a share consumer's",
        AdminConfig: "an admin's",
    }
    others: dict[str, str] = {}
    if config_type in owners:
        for owner, whose in owners.items():
            others |= dict.fromkeys({field.name for field in fields(owner)} - {*known, *others}, whose)
        if name in others:
            return UnknownSettingError(
                f"unknown setting {given!r}: it is {others[name]} setting, not {owners[config_type]}"
            )
    # Costs more to import than the whole table, and few programs get here.
    from difflib import get_close_matches

    nearest = get_close_matches(given, [*known, *others], n=1, cutoff=_NEAR)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    if nearest and nearest[0] in others:
        hint = f"; did you mean {nearest[0]!r}, which is {others[nearest[0]]} setting?"
    return UnknownSettingError(f"unknown setting {given!r}{hint}")


@cache
def _hints(config_type: type[Any]) -> dict[str, Any]:
    return get_type_hints(config_type)


def _converted(name: str, value: Any, hint: Any, low: float | None, high: float | None) -> Any:
    options = get_args(hint)
    if hint is Any:
        return value
    if get_origin(hint) is tuple:
        try:
            parts: Sequence[Any] = _split(value) if isinstance(value, str) else list(value)
        except TypeError:
            raise InvalidSettingError(f"{name} must be a list, not {value!r}") from None
        return tuple(_converted(name, part, options[0], low, high) for part in parts)
    if type(None) in options:
        if value is None:
            return None
        return _converted(name, value, options[0], low, high)
    if get_origin(hint) is Literal:
        for option in options:
            if str(value).lower() == option.lower():
                return option
        raise InvalidSettingError(f"{name} must be one of {', '.join(options)}, not {value!r}")
    if hint is Secret:
        return _secret(name, value)
    if hint is ssl.SSLContext or get_origin(hint) is Callable:
        is_fit = callable(value) if get_origin(hint) is Callable else isinstance(value, ssl.SSLContext)
        if not is_fit:
            kind = "a function" if get_origin(hint) is Callable else "an ssl.SSLContext"
            raise InvalidSettingError(f"{name} must be {kind}, not {value!r}")
        return value
    if hint is bool:
        return _boolean(name, value)
    if hint in (int, float):
        return _number(name, value, hint, low, high)
    if not isinstance(value, str):
        raise InvalidSettingError(f"{name} must be a string, not {value!r}")
    return value


def _secret(name: str, value: Any) -> Secret:
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str):
        # Whatever it is, it is not shown.
        raise InvalidSettingError(f"{name} must be a string")
    return Secret(value)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _boolean(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    raise InvalidSettingError(f"{name} must be true or false, not {value!r}")


def _number(name: str, value: Any, hint: Any, low: float | None, high: float | None) -> Any:
    try:
        if isinstance(value, bool) or (hint is int and int(value) != float(value)):
            raise ValueError
        number = hint(value)
    except (TypeError, ValueError, OverflowError):
        kind = "a whole number" if hint is int else "a number"
        raise InvalidSettingError(f"{name} must be {kind}, not {value!r}") from None
    if number != number or (low is not None and number < low) or (high is not None and number > high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        raise InvalidSettingError(f"{name} must be {bounds}, not {value!r}")
    return number


_SERVER = r"(?P<host>\[[^\]]+\]|[^:\s]+):(?P<port>\d{1,5})"


def parse_server(server: str, setting_name: str = "bootstrap_servers") -> tuple[str, int]:
    """`host:port` or `[ipv6]:port` in its parts; a scheme before it (`PLAINTEXT://`) is left out.

    Raises: InvalidSettingError.
    """
    match = re.fullmatch(_SERVER, server.rpartition("://")[2])
    if match is None or not 0 < int(match["port"]) < 65_536:
        raise InvalidSettingError(f"{setting_name}: {server!r} is not host:port")
    return match["host"].strip("[]"), int(match["port"])


def _check_servers(config: CommonConfig) -> None:
    controllers = config.bootstrap_controllers if isinstance(config, AdminConfig) else ()
    if controllers and config.bootstrap_servers:
        raise InvalidSettingError("bootstrap_servers and bootstrap_controllers are both given: give one")
    if not controllers and not config.bootstrap_servers:
        raise InvalidSettingError("bootstrap_servers is missing: give at least one host:port")
    for server in config.bootstrap_servers:
        parse_server(server)
    for server in controllers:
        parse_server(server, "bootstrap_controllers")


def _follow_what_is_given(config: ProducerConfig, given: Mapping[str, Any]) -> ProducerConfig:
    """As in Java, a default gives way where a setting that was given contradicts it."""
    contradicts_idempotence = (
        config.acks not in ("all", "-1")
        or config.retries == 0
        or config.max_in_flight_requests_per_connection > MAX_IN_FLIGHT_WITH_IDEMPOTENCE
    )
    if contradicts_idempotence and "enable_idempotence" not in given:
        config = replace(config, enable_idempotence=False)
    if "delivery_timeout_ms" not in given:
        shortest = math.ceil(config.linger_ms + config.request_timeout_ms)
        config = replace(config, delivery_timeout_ms=max(config.delivery_timeout_ms, shortest))
    return config


# What each protocol leaves to the broker or does not know; refused, as in Java, where it was given.
_CLASSIC_ONLY = ("partition_assignment_strategy", "session_timeout_ms", "heartbeat_interval_ms")
_CONSUMER_ONLY = ("group_remote_assignor",)


def _settle_group_protocol(config: ConsumerConfig, given: Mapping[str, Any]) -> ConsumerConfig:
    """`auto` is classic where a setting of the classic protocol was given."""
    if config.group_protocol == "auto":
        return replace(config, group_protocol="classic") if any(n in given for n in _CLASSIC_ONLY) else config
    refused = _CLASSIC_ONLY if config.group_protocol == "consumer" else _CONSUMER_ONLY
    for name in refused:
        if given.get(name) is not None:
            raise InvalidSettingError(f"{name} cannot be set with group_protocol={config.group_protocol!r}")
    return config


def _check_together(config: CommonConfig) -> None:
    if isinstance(config, ProducerConfig):
        if config.enable_idempotence and config.acks not in ("all", "-1"):
            raise InvalidSettingError(f"enable_idempotence needs acks='all', not {config.acks!r}")
        if config.enable_idempotence and config.retries == 0:
            raise InvalidSettingError("enable_idempotence needs retries of at least 1")
        if (
            config.enable_idempotence
            and config.max_in_flight_requests_per_connection > MAX_IN_FLIGHT_WITH_IDEMPOTENCE
        ):
            raise InvalidSettingError("enable_idempotence allows max_in_flight_requests_per_connection <= 5")
        if config.transactional_id is not None and not config.enable_idempotence:
            raise InvalidSettingError(
                "transactional_id needs enable_idempotence, and with it acks='all', retries of at least 1 "
                "and max_in_flight_requests_per_connection <= 5"
            )
        if config.transactional_id == "":
            raise InvalidSettingError("transactional_id must not be empty")
        if config.delivery_timeout_ms < config.linger_ms + config.request_timeout_ms:
            raise InvalidSettingError("delivery_timeout_ms must be at least linger_ms + request_timeout_ms")
    if isinstance(config, ConsumerConfig) and config.heartbeat_interval_ms >= config.session_timeout_ms:
        raise InvalidSettingError("heartbeat_interval_ms must be below session_timeout_ms")


def _check_protocol_is_meant(given: Mapping[str, Any]) -> None:
    """A password without a security_protocol would never be used, and be missed by nobody but the broker."""
    if "security_protocol" in given:
        return
    for prefix, protocols in (("sasl_", "SASL_SSL or SASL_PLAINTEXT"), ("ssl_", "SSL or SASL_SSL")):
        for name, value in given.items():
            if name.startswith(prefix) and value is not None:
                raise InvalidSettingError(f"{name} needs security_protocol: set it to {protocols}")

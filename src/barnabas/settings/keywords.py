"""The settings as keyword arguments, for type checkers and editors. `barnabas.settings.table` is the table
itself, with units, defaults and meanings; a test keeps the two in step.
"""

from __future__ import annotations

from collections.abc import Sequence
from ssl import SSLContext
from typing import Generic, Literal, TypedDict

from barnabas.assignor import Assignor
from barnabas.credentials import AwsCredentialsCallback, Secret, TokenCallback
from barnabas.interceptors import ConsumerInterceptor, ProducerInterceptor
from barnabas.serializers import Deserializer, Serializer
from barnabas.settings.table import (
    Acks,
    AssignorName,
    BrokerAddressFamily,
    ClientDnsLookup,
    Codec,
    GroupProtocol,
    IsolationLevel,
    MaxPollIntervalAction,
    MetadataRecoveryStrategy,
    OAuthAssertionAlgorithm,
    OAuthGrantType,
    OAuthMetadataAuthenticationType,
    OffsetReset,
    Partitioner,
    PartitionerFunction,
    SaslMechanism,
    SecurityProtocol,
    ShareAcknowledgementMode,
    ShareAcquireMode,
    StoreType,
    TlsVersion,
)
from barnabas.types import K, KeyIn, V, ValueIn


class CommonSettings(TypedDict, total=False):
    """What every client takes."""

    client_id: str
    request_timeout_ms: int
    default_api_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    socket_connection_setup_timeout_ms: int
    socket_connection_setup_timeout_max_ms: int
    client_dns_lookup: ClientDnsLookup
    broker_address_family: BrokerAddressFamily
    source_address: str | None
    connections_max_idle_ms: int
    metadata_max_age_ms: int
    metadata_recovery_strategy: MetadataRecoveryStrategy
    metadata_recovery_rebootstrap_trigger_ms: int
    security_protocol: SecurityProtocol
    ssl_truststore_location: str | None
    ssl_truststore_certificates: str | None
    ssl_truststore_type: StoreType
    ssl_truststore_password: str | Secret | None
    ssl_keystore_location: str | None
    ssl_certificate_location: str | None
    ssl_key_location: str | None
    ssl_keystore_certificate_chain: str | None
    ssl_keystore_key: str | Secret | None
    ssl_keystore_type: StoreType
    ssl_keystore_password: str | Secret | None
    ssl_key_password: str | Secret | None
    ssl_endpoint_identification_algorithm: Literal["https", ""]
    ssl_protocol: TlsVersion
    ssl_enabled_protocols: Sequence[TlsVersion] | str
    ssl_cipher_suites: Sequence[str] | str
    ssl_context: SSLContext | None
    sasl_mechanism: SaslMechanism
    sasl_username: str | None
    sasl_password: str | Secret | None
    sasl_jaas_config: str | Secret | None
    sasl_tokenauth: bool
    sasl_kerberos_service_name: str | None
    sasl_kerberos_principal: str | None
    sasl_kerberos_host: str | None
    sasl_kerberos_keytab: str | None
    sasl_oauthbearer_token_callback: TokenCallback | None
    sasl_oauthbearer_token_endpoint_url: str | None
    sasl_oauthbearer_client_credentials_client_id: str | None
    sasl_oauthbearer_client_credentials_client_secret: str | Secret | None
    sasl_oauthbearer_header_urlencode: bool
    sasl_oauthbearer_scope: str | None
    sasl_oauthbearer_extensions: Sequence[str] | str
    sasl_oauthbearer_grant_type: OAuthGrantType
    sasl_oauthbearer_assertion_file: str | None
    sasl_oauthbearer_assertion_private_key_file: str | None
    sasl_oauthbearer_assertion_private_key_pem: str | Secret | None
    sasl_oauthbearer_assertion_private_key_passphrase: str | Secret | None
    sasl_oauthbearer_assertion_algorithm: OAuthAssertionAlgorithm
    sasl_oauthbearer_assertion_claim_aud: str | None
    sasl_oauthbearer_assertion_claim_iss: str | None
    sasl_oauthbearer_assertion_claim_sub: str | None
    sasl_oauthbearer_assertion_claim_exp_seconds: int
    sasl_oauthbearer_assertion_claim_nbf_seconds: int
    sasl_oauthbearer_assertion_claim_jti_include: bool
    sasl_oauthbearer_assertion_template_file: str | None
    sasl_oauthbearer_metadata_authentication_type: OAuthMetadataAuthenticationType
    sasl_login_connect_timeout_ms: int
    sasl_login_refresh_window_factor: float
    https_ca_location: str | None
    aws_region: str | None
    aws_access_key_id: str | None
    aws_secret_access_key: str | Secret | None
    aws_session_token: str | Secret | None
    aws_profile: str | None
    aws_credentials_callback: AwsCredentialsCallback | None
    ssl_ca_location: str | None
    ssl_ca_pem: str | None
    ssl_certificate_pem: str | None
    ssl_key_pem: str | Secret | None
    sasl_mechanisms: SaslMechanism
    sasl_oauthbearer_assertion_jwt_template_file: str | None
    sasl_oauthbearer_client_id: str | None
    sasl_oauthbearer_client_secret: str | Secret | None
    enable_metrics_push: bool
    send_buffer_bytes: int
    receive_buffer_bytes: int
    proxy_url: str | Secret | None


class ProducerSettings(CommonSettings, Generic[KeyIn, ValueIn], total=False):
    """What a Producer takes."""

    acks: Acks | int
    enable_idempotence: bool
    compression: Codec
    compression_level: int | None
    batch_size: int
    batch_num_messages: int
    linger_ms: float
    buffer_memory: int
    max_block_ms: int
    max_request_size: int | None
    max_in_flight_requests_per_connection: int
    delivery_timeout_ms: int
    retries: int
    partitioner: Partitioner | PartitionerFunction
    partitioner_ignore_keys: bool
    partitioner_adaptive_partitioning_enable: bool
    partitioner_sticky_linger_ms: float | None
    partitioner_availability_timeout_ms: int
    allow_auto_create_topics: bool
    key_serializer: Serializer[KeyIn] | None
    value_serializer: Serializer[ValueIn] | None
    interceptors: Sequence[ProducerInterceptor]
    metadata_max_idle_ms: int
    transactional_id: str | None
    transaction_timeout_ms: int
    compression_type: Codec


class ConsumerSettings(CommonSettings, Generic[K, V], total=False):
    """What a Consumer takes."""

    group_instance_id: str | None
    auto_offset_reset: OffsetReset
    enable_auto_commit: bool
    auto_commit_interval_ms: int
    group_protocol: GroupProtocol
    group_remote_assignor: str | None
    partition_assignment_strategy: Sequence[AssignorName | Assignor] | str
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    max_poll_interval_action: MaxPollIntervalAction
    max_poll_records: int
    fetch_min_bytes: int
    fetch_max_bytes: int
    fetch_max_wait_ms: int
    max_partition_fetch_bytes: int
    queued_max_bytes: int
    isolation_level: IsolationLevel
    enable_partition_eof: bool
    check_crcs: bool
    key_deserializer: Deserializer[K] | None
    value_deserializer: Deserializer[V] | None
    interceptors: Sequence[ConsumerInterceptor]
    allow_auto_create_topics: bool
    exclude_internal_topics: bool
    client_rack: str | None


class ShareConsumerSettings(CommonSettings, Generic[K, V], total=False):
    """What a ShareConsumer takes."""

    share_acknowledgement_mode: ShareAcknowledgementMode
    share_acquire_mode: ShareAcquireMode
    max_poll_records: int
    max_poll_interval_ms: int
    fetch_min_bytes: int
    fetch_max_bytes: int
    fetch_max_wait_ms: int
    check_crcs: bool
    key_deserializer: Deserializer[K] | None
    value_deserializer: Deserializer[V] | None
    allow_auto_create_topics: bool
    client_rack: str | None


class AdminSettings(CommonSettings, total=False):
    """What an Admin takes."""

    bootstrap_controllers: Sequence[str] | str

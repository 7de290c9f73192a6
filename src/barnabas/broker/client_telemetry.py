"""What clients are asked to tell of themselves, and what of it one node takes (KIP-714): Kafka's rules.

Owns who has asked, by client instance id, what each is to push, and when it may ask and push again. Must not
know requests, nor where subscriptions are kept.
"""

from __future__ import annotations

import base64
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from barnabas import _kernel
from barnabas.broker.client_connection import ClientConnection
from barnabas.broker.configs.client_metrics import (
    CLIENT_ID,
    CLIENT_INSTANCE_ID,
    CLIENT_METRICS_SETTINGS,
    CLIENT_SOFTWARE_NAME,
    CLIENT_SOFTWARE_VERSION,
    CLIENT_SOURCE_ADDRESS,
    CLIENT_SOURCE_PORT,
    INTERVAL,
    MATCH,
    METRICS,
    PRINTABLE,
    patterns_of,
    words_of,
)
from barnabas.broker.configs.named_settings import NamedSettings
from barnabas.broker_errors import (
    InvalidRecordError,
    InvalidRequestError,
    TelemetryTooLargeError,
    ThrottlingQuotaExceededError,
    UnknownSubscriptionIdError,
    UnsupportedCompressionTypeError,
)
from barnabas.errors import BarnabasError

ALL_METRICS = "*"
# In Kafka's order, which is the one of preference.
CODECS = {4: "zstd", 3: "lz4", 1: "gzip", 2: "snappy"}
UNCOMPRESSED = 0
# Kafka's Uuid.RESERVED.
RESERVED_IDS = frozenset({uuid.UUID(int=0), uuid.UUID(int=1)})
LONGEST_INTERVAL_MS = int(CLIENT_METRICS_SETTINGS[INTERVAL].default or 0)
# What Kafka takes where a client does not say what it is.
UNKNOWN_SOFTWARE = "unknown"
MOST_UNPACKED_BYTES = 8 << 20
MOST_INSTANCES = 16_384
FORGOTTEN_AFTER_MS, FORGOTTEN_AFTER_INTERVALS = 60_000, 3


@dataclass(slots=True)
class ClientInstance:
    """One client, as it is known to a node. `attributes`: what subscriptions are matched with."""

    instance_id: uuid.UUID
    attributes: Mapping[str, str]
    subscriptions_version: int
    subscription_id: int
    metrics: frozenset[str]
    push_interval_ms: int
    used_at_ms: int
    got_at_ms: int = 0
    pushed_at_ms: int = 0
    is_terminating: bool = False

    def is_forgotten(self, now_ms: int) -> bool:
        kept_ms = max(FORGOTTEN_AFTER_MS, FORGOTTEN_AFTER_INTERVALS * self.push_interval_ms)
        return now_ms - self.used_at_ms >= kept_ms

    def note_get(self, now_ms: int) -> None:
        """Raises: ThrottlingQuotaExceededError."""
        if now_ms - max(self.got_at_ms, self.pushed_at_ms) < self.push_interval_ms:
            raise ThrottlingQuotaExceededError(f"client {self.instance_id} asks before its next push is due")
        self.got_at_ms = now_ms

    def note_push(self, now_ms: int, *, terminating: bool) -> None:
        """The first push after a subscription was got may come at any time, as clients spread theirs.

        Raises: ThrottlingQuotaExceededError.
        """
        is_due = self.got_at_ms > self.pushed_at_ms or now_ms - self.pushed_at_ms >= self.push_interval_ms
        if is_due:
            self.pushed_at_ms = now_ms
        elif not terminating:
            raise ThrottlingQuotaExceededError(
                f"client {self.instance_id} pushes before its next push is due"
            )


class ClientTelemetry:
    """Of one node. `subscriptions`: the settings of each by its name."""

    def __init__(self, subscriptions: NamedSettings) -> None:
        self._subscriptions = subscriptions
        self._instances: OrderedDict[uuid.UUID, ClientInstance] = OrderedDict()

    def subscribe(
        self, connection: ClientConnection, client_id: str, instance_id: uuid.UUID, *, now_ms: int
    ) -> ClientInstance:
        """What this client is to push; it gets an id where it has none.

        Raises: ThrottlingQuotaExceededError.
        """
        instance = self._instance(
            connection, client_id, instance_id if instance_id.int else uuid.uuid4(), now_ms
        )
        instance.note_get(now_ms)
        return instance

    def push(
        self,
        connection: ClientConnection,
        client_id: str,
        instance_id: uuid.UUID,
        *,
        subscription_id: int,
        compression_type: int,
        metrics: bytes | memoryview,
        terminating: bool,
        max_bytes: int,
        now_ms: int,
    ) -> None:
        """Raises: InvalidRequestError, ThrottlingQuotaExceededError, UnknownSubscriptionIdError,
        UnsupportedCompressionTypeError, TelemetryTooLargeError, InvalidRecordError."""
        if instance_id in RESERVED_IDS:
            raise InvalidRequestError(f"{instance_id} is no client instance id")
        instance = self._instance(connection, client_id, instance_id, now_ms)
        was_terminating, instance.is_terminating = instance.is_terminating, terminating
        if was_terminating:
            raise InvalidRequestError(f"client {instance_id} has pushed for the last time before")
        instance.note_push(now_ms, terminating=terminating)
        if subscription_id != instance.subscription_id:
            raise UnknownSubscriptionIdError(f"client {instance_id} has another subscription")
        if compression_type != UNCOMPRESSED and compression_type not in CODECS:
            raise UnsupportedCompressionTypeError(f"there is no compression type {compression_type}")
        if len(metrics) > max_bytes:
            raise TelemetryTooLargeError(f"{len(metrics)} bytes are more than {max_bytes}")
        if metrics and compression_type != UNCOMPRESSED:
            try:
                _kernel.decompress(CODECS[compression_type], metrics, MOST_UNPACKED_BYTES)
            except BarnabasError as error:
                raise InvalidRecordError(f"the metrics cannot be decompressed: {error}") from error

    def _instance(
        self, connection: ClientConnection, client_id: str, instance_id: uuid.UUID, now_ms: int
    ) -> ClientInstance:
        """It is forgotten when the connection ends that it was made for."""
        found = self._instances.pop(instance_id, None)
        if found is None or found.is_forgotten(now_ms):
            known = self._subscribed(instance_id, attributes_of(connection, client_id, instance_id))
        elif found.subscriptions_version != self._subscriptions.version:
            known = self._subscribed(instance_id, found.attributes)
        else:
            known = found
        if known is not found:
            connection.on_end["its telemetry"] = partial(self._forget, instance_id)
        known.used_at_ms = now_ms
        self._instances[instance_id] = known
        if len(self._instances) > MOST_INSTANCES:
            self._instances.popitem(last=False)
        return known

    def _forget(self, instance_id: uuid.UUID) -> None:
        self._instances.pop(instance_id, None)

    def _subscribed(self, instance_id: uuid.UUID, attributes: Mapping[str, str]) -> ClientInstance:
        metrics: set[str] = set()
        interval_ms = LONGEST_INTERVAL_MS
        characters = PRINTABLE.union(*attributes.values())
        for name in self._subscriptions:
            settings = self._subscriptions.of(name)
            patterns = patterns_of(settings.get(MATCH, ""), characters)
            if all(
                attribute in attributes and pattern.matches(attributes[attribute])
                for attribute, pattern in patterns.items()
            ):
                metrics.update(words_of(settings.get(METRICS, "")))
                interval_ms = min(interval_ms, int(settings.get(INTERVAL, LONGEST_INTERVAL_MS)))
        if ALL_METRICS in metrics:
            metrics = {ALL_METRICS}
        return ClientInstance(
            instance_id,
            attributes,
            self._subscriptions.version,
            subscription_id(instance_id, metrics, interval_ms),
            frozenset(metrics),
            interval_ms,
            used_at_ms=0,
        )


def attributes_of(connection: ClientConnection, client_id: str, instance_id: uuid.UUID) -> Mapping[str, str]:
    return {
        CLIENT_INSTANCE_ID: java_text(instance_id),
        CLIENT_ID: client_id,
        CLIENT_SOFTWARE_NAME: connection.software_name or UNKNOWN_SOFTWARE,
        CLIENT_SOFTWARE_VERSION: connection.software_version or UNKNOWN_SOFTWARE,
        CLIENT_SOURCE_ADDRESS: connection.client_host,
        CLIENT_SOURCE_PORT: str(connection.client_port),
    }


def java_text(instance_id: uuid.UUID) -> str:
    """As Kafka writes an id."""
    return base64.urlsafe_b64encode(instance_id.bytes).decode().rstrip("=")


def subscription_id(instance_id: uuid.UUID, metrics: set[str], interval_ms: int) -> int:
    """The same at all nodes for the same subscription of a client, and another for another."""
    told = f"{sorted(metrics)}{interval_ms}{instance_id}".encode()
    return int.from_bytes(_kernel.crc32c(told).to_bytes(4, "big"), "big", signed=True)

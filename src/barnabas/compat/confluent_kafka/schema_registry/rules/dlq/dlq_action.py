# pyright: basic
"""A record that a rule failed for goes to a dead letter topic, and the call fails nevertheless."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Self

from barnabas.compat.confluent_kafka.cimpl import Producer
from barnabas.compat.confluent_kafka.schema_registry.common import serde
from barnabas.compat.confluent_kafka.schema_registry.rule_registry import RuleRegistry
from barnabas.compat.confluent_kafka.serialization import SerializationError
from barnabas.registry.rules import dlq
from barnabas.registry.rules.context import RuleContext

__all__ = ["DlqAction", "FieldRedactionExecutor"]

# By the original's name: programs configure logging by it.
log = logging.getLogger("confluent_kafka.schema_registry.rules.dlq.dlq_action")


class FieldRedactionExecutor(dlq.FieldRedactionExecutor):
    """Puts `<REDACTED>` in the place of texts and bytes."""

    TYPE = "REDACT"
    REDACTED_STRING = "<REDACTED>"
    REDACTED_BYTES = REDACTED_STRING.encode()

    @classmethod
    def register(cls) -> Self:
        """For the whole process."""
        executor = cls()
        RuleRegistry.register_rule_executor(executor)
        return executor


class DlqAction(dlq.DlqAction):
    """Of rules that say DLQ. `conf`: `dlq.topic` (or the rule's parameter of that name), `dlq.auto.flush`,
    `dlq.redact.rule.types`, a `producer`; whatever else there is makes one. What a serializer is given for
    rules counts too."""

    TYPE = "DLQ"
    DLQ_TOPIC = dlq.TOPIC
    DLQ_AUTO_FLUSH = dlq.AUTO_FLUSH
    DLQ_REDACT_RULE_TYPES = dlq.REDACTED_TYPES
    DLQ_REDACT_RULE_TYPES_DEFAULT = "ENCRYPT,ENCRYPT_PAYLOAD"
    PRODUCER = "producer"
    HEADER_PREFIX = serde.DLQ_HEADER_PREFIX
    RULE_NAME = serde.DLQ_RULE_NAME_HEADER
    RULE_MODE = serde.DLQ_RULE_MODE_HEADER
    RULE_SUBJECT = serde.DLQ_RULE_SUBJECT_HEADER
    RULE_TOPIC = serde.DLQ_RULE_TOPIC_HEADER
    RULE_EXCEPTION = serde.DLQ_RULE_EXCEPTION_HEADER

    def __init__(self, conf: dict[str, Any] | None = None) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._producer_conf = {
            "enable.idempotence": False,
            "acks": "all",
            "max.in.flight.requests.per.connection": 1,
            # It tries until it is delivered.
            "message.timeout.ms": 0,
            **{name: value for name, value in (conf or {}).items() if not self._is_own(name)},
        }
        self.configure(None, conf)

    def _is_own(self, name: str) -> bool:
        return name == self.PRODUCER or name.startswith("dlq.")

    def configure(self, client_conf: Any, rule_conf: Mapping[str, Any] | None) -> None:
        own = {name: value for name, value in (rule_conf or {}).items() if self._is_own(name)}
        with self._lock:
            super().configure(client_conf, own)

    def run(self, ctx: RuleContext, message: Any, ex: Exception | None) -> NoReturn:
        """Raises: SerializationError, in any case."""
        topic = self._topic or ctx.get_parameter(self.DLQ_TOPIC)
        if not topic:
            raise SerializationError("Could not send to DLQ as no topic is configured")
        try:
            key, value = self._bytes_of(ctx, ctx.original_key), self._bytes_of(ctx, ctx.original_value)
            self._send(topic, key, value, dlq.headers_of(ctx, ex))
        except Exception as error:
            log.error("Could not produce message to DLQ topic %s: %s", topic, error)
        raise SerializationError(f"Rule failed: {ctx.rule.name}") from ex

    def _send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]],
    ) -> None:
        with self._lock:
            if self._producer is None:
                self._producer = Producer(self._producer_conf)  # pyright: ignore
            producer: Any = self._producer

        def told(error: Any, _message: Any) -> None:
            if error is not None:
                log.error("Could not produce message to DLQ topic %s: %s", topic, error)
            else:
                log.info("Sent message to DLQ topic %s", topic)

        producer.produce(topic, key=key, value=value, headers=headers, on_delivery=told)
        producer.poll(0)
        if self._flushes:
            producer.flush()

    def close(self) -> None:
        """Waits for what was sent."""
        with self._lock:
            producer, self._producer = self._producer, None
        if producer is not None:
            producer.flush()

    @classmethod
    def register(cls, conf: dict[str, Any] | None = None) -> Self:
        """For the whole process."""
        action = cls(conf)
        RuleRegistry.register_rule_action(action)
        return action

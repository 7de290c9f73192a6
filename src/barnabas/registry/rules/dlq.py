"""DLQ: a record that a rule failed for goes to a dead letter topic, and the call fails nevertheless.

What is written there is JSON of what was to be written, without the fields that would have been encrypted; of
what was read, its bytes as they came. Headers tell of the rule, which is not run again for such a record.
"""

from __future__ import annotations

import inspect
import json
import logging
import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn, Protocol, cast

from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.errors import BootstrapError, InvalidSettingError, SerializationError
from barnabas.registry.rules.context import FieldContext, FieldTransform, RuleContext
from barnabas.registry.rules.engine import RULE_NAME_HEADER
from barnabas.registry.rules.executors import FieldRuleExecutor, RuleAction, described_failure
from barnabas.registry.rules.kinds import FieldType, RuleKind
from barnabas.registry.schemas import Rule

log = logging.getLogger(__name__)

HEADER_PREFIX = "__rule."
RULE_MODE_HEADER = HEADER_PREFIX + "mode"
RULE_SUBJECT_HEADER = HEADER_PREFIX + "subject"
RULE_TOPIC_HEADER = HEADER_PREFIX + "topic"
RULE_EXCEPTION_HEADER = HEADER_PREFIX + "exception"
TOPIC, AUTO_FLUSH, REDACTED_TYPES = "dlq.topic", "dlq.auto.flush", "dlq.redact.rule.types"
LONG = range(-(2**63), 2**63)


FIRST_SECONDS, LATER_SECONDS = 5.0, 0.5
"""How long a dead letter topic is looked for: at first, in which a broker may create it; and where it was
missing before."""


class DlqProducer(Protocol):
    """As much of a `barnabas.Producer` as is needed."""

    def partitions_for(self, topic: str, *, timeout: float | None = None) -> Any: ...

    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None,
        headers: Sequence[tuple[str, bytes | None]],
        on_delivery: Any,
    ) -> Any: ...

    def flush(self) -> None: ...


class FieldRedactionExecutor(FieldRuleExecutor):
    """Puts `<REDACTED>` in the place of texts and bytes."""

    def type(self) -> str:
        return "REDACT"

    def new_transform(self, ctx: RuleContext) -> FieldTransform:
        return _redacted


def _redacted(ctx: RuleContext, field_ctx: FieldContext, field_value: Any) -> Any:
    if field_value is not None and field_ctx.field_type == FieldType.STRING:
        return "<REDACTED>"
    if field_value is not None and field_ctx.field_type == FieldType.BYTES:
        return b"<REDACTED>"
    return field_value


class DlqAction(RuleAction):
    """`producer`: a `barnabas.Producer`, which whoever made it closes. `topic`: None takes the rule's
    parameter `dlq.topic`, or that of the schema's metadata. `flushes`: waits for each record's delivery;
    otherwise one that cannot be delivered is an error in the log. `redacted_types`: the types
    of rules whose fields are redacted in letters. All of these may also be among what a serializer is given
    for rules, by their names `producer`, `dlq.topic`, `dlq.auto.flush` and `dlq.redact.rule.types`.

    Payloads that ENCRYPT_PAYLOAD could not encrypt go there as they are. If the topic does not exist, the
    first letter fails, after some seconds at most, with an error that says so.

    Raises: InvalidSettingError (the producer is one of `barnabas.aio`).
    """

    def __init__(
        self,
        producer: DlqProducer | None = None,
        *,
        topic: str | None = None,
        flushes: bool = False,
        redacted_types: Sequence[str] = ("ENCRYPT", "ENCRYPT_PAYLOAD"),
    ) -> None:
        self._producer = _checked(producer)
        self._topic = topic
        self._there: set[str] = set()
        self._missing: set[str] = set()
        self._flushes = flushes
        self._redacted_types = tuple(redacted_types)

    def type(self) -> str:
        return "DLQ"

    def configure(self, client_conf: Any, rule_conf: Mapping[str, Any] | None) -> None:
        conf = rule_conf or {}
        self._producer = _checked(conf.get("producer", self._producer))
        self._topic = conf.get(TOPIC, self._topic)
        self._flushes = str(conf.get(AUTO_FLUSH, self._flushes)).lower() == "true"
        types = conf.get(REDACTED_TYPES)
        if types is not None:
            self._redacted_types = tuple(each.strip() for each in str(types).split(","))

    def run(self, ctx: RuleContext, message: Any, ex: Exception | None) -> NoReturn:
        """Raises: SerializationError, in any case; it says so where the record could not be sent."""
        topic = self._topic or ctx.get_parameter(TOPIC)
        sent = ""
        if not topic:
            sent = f"; it could not be sent to a dead letter topic: {TOPIC} is not set"
        else:
            try:
                key, value = self._bytes_of(ctx, ctx.original_key), self._bytes_of(ctx, ctx.original_value)
                self._send(topic, key, value, headers_of(ctx, ex))
            except Exception as error:
                log.error("Could not produce message to DLQ topic %s: %s", topic, error)
                sent = f"; it could not be sent to the dead letter topic {topic}: {error}"
        raise SerializationError(described_failure(ctx, ex) + sent) from ex

    def _send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]],
    ) -> None:
        if self._producer is None:
            raise RuntimeError("the DLQ action has no producer")

        self._look_for(self._producer, topic)

        def told(error: Exception | None, _metadata: Any) -> None:
            if error is not None:
                log.error("Could not produce message to DLQ topic %s: %s", topic, error)

        delivery = self._producer.send(topic, value, key=key, headers=headers, on_delivery=told)
        if self._flushes:
            delivery.result()

    def _look_for(self, producer: DlqProducer, topic: str) -> None:
        """Before the first letter: `send` would wait for the topic as long as max_block_ms. Raises:
        RuntimeError, where the topic does not exist."""
        if topic in self._there:
            return
        seconds = LATER_SECONDS if topic in self._missing else FIRST_SECONDS
        try:
            producer.partitions_for(topic, timeout=seconds)
        except UnknownTopicOrPartitionError:
            self._missing.add(topic)
            raise RuntimeError(
                f"the topic does not exist: create it, or correct {TOPIC} of the rule, of the schema's "
                "metadata or of the DlqAction"
            ) from None
        except BootstrapError:
            # No broker answered so far, which says nothing of the topic: `send` waits for one longer.
            return
        self._missing.discard(topic)
        self._there.add(topic)

    def close(self) -> None:
        """Waits for what was sent."""
        if self._producer is not None:
            self._producer.flush()

    def _bytes_of(self, ctx: RuleContext, message: Any) -> bytes | None:
        if message is None or isinstance(message, bytes):
            return message
        if isinstance(message, bytearray | memoryview):
            return bytes(cast(bytearray, message))
        if isinstance(message, str | uuid.UUID):
            return str(message).encode()
        if isinstance(message, int) and not isinstance(message, bool) and message in LONG:
            return struct.pack(">q", message)
        if isinstance(message, float):
            return struct.pack(">d", message)
        return self._json_of(ctx, message)

    def _json_of(self, ctx: RuleContext, message: Any) -> bytes:
        message = self._without_secrets(ctx, message)
        if hasattr(message, "DESCRIPTOR"):
            from google.protobuf import json_format

            return json_format.MessageToJson(message).encode()
        return json.dumps(message, default=_as_text).encode()

    def _without_secrets(self, ctx: RuleContext, message: Any) -> Any:
        rules = [rule for rule in ctx.rules if rule.type in self._redacted_types]
        if not rules or ctx.field_transformer is None:
            return message
        tags = sorted({tag for rule in rules for tag in rule.tags or ()})
        redact = replace(_REDACT, mode=ctx.rule_mode.value, tags=tags)
        context = RuleContext(
            ctx.enabled_env,
            ctx.ser_ctx,
            ctx.source,
            ctx.target,
            ctx.subject,
            ctx.rule_mode,
            redact,
            0,
            [redact],
            ctx.inline_tags,
            ctx.field_transformer,
            ctx.original_key,
            ctx.original_value,
        )
        return FieldRedactionExecutor().transform(context, message)


def _checked(producer: DlqProducer | None) -> DlqProducer | None:
    """Raises: InvalidSettingError."""
    if inspect.iscoroutinefunction(getattr(producer, "send", None)):
        raise InvalidSettingError(
            "the producer of a DlqAction must be a barnabas.Producer, also for serializers of barnabas.aio: "
            "rules are run by plain calls, and nobody would await what a producer of barnabas.aio sends"
        )
    return producer


_REDACT = Rule("redact", kind=RuleKind.TRANSFORM, type="DLQ", disabled=False)


def _as_text(value: Any) -> str:
    return bytes(value).decode("latin-1") if isinstance(value, bytes | bytearray) else str(value)


def headers_of(ctx: RuleContext, error: Exception | None) -> list[tuple[str, bytes | None]]:
    """Those that the record has, and those that tell of the rule."""
    place = ctx.ser_ctx
    given: Any = (None if place is None else place.headers) or ()
    pairs = cast(Mapping[Any, Any], given).items() if isinstance(given, Mapping) else given
    found = [(name, _header(value)) for name, value in pairs]
    found.append((RULE_NAME_HEADER, _header(ctx.rule.name)))
    found.append((RULE_MODE_HEADER, _header(ctx.rule_mode)))
    found.append((RULE_SUBJECT_HEADER, _header(ctx.subject)))
    found.append((RULE_TOPIC_HEADER, _header(None if place is None else place.topic)))
    if error is not None:
        found.append((RULE_EXCEPTION_HEADER, _header(error)))
    return found


def _header(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return bytes(value) if isinstance(value, bytearray) else str(value).encode()

# pyright: basic
"""A ShareConsumer that gives objects as keys and values."""

from __future__ import annotations

from typing import Any

from barnabas.compat.confluent_kafka._model import Messages
from barnabas.compat.confluent_kafka.cimpl import KafkaError, Message
from barnabas.compat.confluent_kafka.cimpl import ShareConsumer as _ShareConsumerImpl
from barnabas.compat.confluent_kafka.serialization import MessageField, SerializationContext


class DeserializingShareConsumer(_ShareConsumerImpl):
    """A ShareConsumer that deserializes keys and values. Experimental, as the original says of itself.

    Properties besides those of ShareConsumer: `key.deserializer` and `value.deserializer`, called as
    (bytes or None, SerializationContext), give an object. Without one, bytes stay bytes.

    A record that cannot be deserialized does not cost the others: it is among the messages, with its bytes,
    and its `error()` has the code `_KEY_DESERIALIZATION` or `_VALUE_DESERIALIZATION`. It can be acknowledged
    as any other, for instance as AcknowledgeType.REJECT.

    Raises: ValueError, for a wrong configuration.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        rest = conf.copy()
        self._key_deserializer = rest.pop("key.deserializer", None)
        self._value_deserializer = rest.pop("value.deserializer", None)
        super().__init__(rest)

    def poll(self, timeout: float = -1) -> Messages:
        """The messages of one poll, keys and values deserialized; none when `timeout` seconds have passed.

        Those that came with an error stay as they are.
        """
        messages = super().poll(timeout)
        for message in messages:
            if message.error() is None:
                self._deserialize(message)
        return messages

    def _deserialize(self, message: Message) -> None:
        """Puts objects in place of the bytes of `message`, of both fields or, when one fails, of neither."""
        topic = message.topic()
        if topic is None:
            raise TypeError("Message topic is None")
        context = SerializationContext(topic, MessageField.KEY, message.headers())
        key: Any = message.key()
        if self._key_deserializer is not None:
            try:
                key = self._key_deserializer(key, context)
            except Exception as error:
                message.set_error(KafkaError(KafkaError._KEY_DESERIALIZATION, str(error)))
                return
        context.field = MessageField.VALUE
        value: Any = message.value()
        if self._value_deserializer is not None:
            try:
                value = self._value_deserializer(value, context)
            except Exception as error:
                message.set_error(KafkaError(KafkaError._VALUE_DESERIALIZATION, str(error)))
                return
        message.set_key(key)
        message.set_value(value)

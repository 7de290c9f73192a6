# pyright: basic
"""A Consumer that gives objects as keys and values."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from barnabas.compat.confluent_kafka._serde_builder import (
    SharedClusterIdResolver,
    build_serdes,
    close_serdes,
    pop_serde_props,
    propagate_cluster_id_resolver,
)
from barnabas.compat.confluent_kafka.cimpl import Consumer as _ConsumerImpl
from barnabas.compat.confluent_kafka.cimpl import Message
from barnabas.compat.confluent_kafka.error import (
    ConsumeError,
    KeyDeserializationError,
    ValueDeserializationError,
)
from barnabas.compat.confluent_kafka.serialization import MessageField, SerializationContext

K = TypeVar("K")
V = TypeVar("V")


class DeserializingConsumer(_ConsumerImpl, Generic[K, V]):
    """A Consumer that deserializes keys and values. Experimental, as the original says of itself.

    Properties besides those of Consumer:

    `key.deserializer`, `value.deserializer`: called as (bytes or None, SerializationContext), give an object.
    Without one, bytes stay bytes. The caller's to close.
    `key.deserializer.builder`, `value.deserializer.builder`: a DeserializerBuilder instead. What it builds
    is closed with the consumer.

    Deserializers that can take it (`set_cluster_id_resolver`) are given what tells the cluster's id; making
    the consumer does not wait for a broker.

    Raises: ValueError, for a wrong configuration, or when a deserializer and its builder are both given.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        specs, rest = pop_serde_props(conf, "key.deserializer", "value.deserializer")
        serdes, self._owned_serdes, rest = build_serdes(specs, rest)
        self._key_deserializer, self._value_deserializer = serdes
        try:
            super().__init__(rest)
            propagate_cluster_id_resolver(SharedClusterIdResolver(self.cluster_id), serdes)
        except BaseException:
            close_serdes(self._owned_serdes)
            raise

    def close(self) -> None:
        """Closes the consumer, then the deserializers it built. Closing again does nothing.

        When the consumer cannot be closed, its deserializers are left to the next call.
        """
        super().close()
        owned, self._owned_serdes = self._owned_serdes, []
        close_serdes(owned)

    def __exit__(self, exc_type: Any, exc_value: Any, exc_traceback: Any) -> bool | None:
        """Closes the consumer, as `close` does."""
        self.close()

    def poll(self, timeout: float = -1) -> Message | None:
        """The next message, with its key and value deserialized, or None when `timeout` seconds have passed.

        `key()` and `deserialized_key()` give the same object, as do `value()` and `deserialized_value()`.

        Raises: KeyDeserializationError, ValueDeserializationError: the position is behind the message all the
        same. ConsumeError, when an error came in place of a message, the end of a partition included.
        """
        message = super().poll(timeout)
        if message is None:
            return None
        error = message.error()
        if error is not None:
            raise ConsumeError(error, kafka_message=message)
        return self._deserialize(message)

    def _deserialize(self, message: Message) -> Message:
        """Puts objects in place of the bytes of `message`, of both fields or, when one fails, of neither."""
        context = SerializationContext(message.topic(), MessageField.KEY, message.headers())
        key: Any = message.key()
        if self._key_deserializer is not None:
            try:
                key = self._key_deserializer(key, context)
            except Exception as error:
                raise KeyDeserializationError(error, kafka_message=message)  # noqa: B904  it is in `exception`
        context.field = MessageField.VALUE
        value: Any = message.value()
        if self._value_deserializer is not None:
            try:
                value = self._value_deserializer(value, context)
            except Exception as error:
                raise ValueDeserializationError(error, kafka_message=message)  # noqa: B904
        message.set_key(key)
        message.set_value(value)
        return message

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Not of this class: use poll().

        Raises: NotImplementedError, always.
        """
        raise NotImplementedError

# pyright: basic
"""`AsyncDeserializingConsumer`: an AIOConsumer that gives objects as keys and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from barnabas.compat.confluent_kafka._serde_builder import (
    AsyncSharedClusterIdResolver,
    async_build_serdes,
    async_close_serdes,
    maybe_await,
    pop_serde_props,
    propagate_async_cluster_id_resolver,
)
from barnabas.compat.confluent_kafka._util.asyncinit import asyncinit
from barnabas.compat.confluent_kafka.aio._AIOConsumer import AIOConsumer
from barnabas.compat.confluent_kafka.error import (
    ConsumeError,
    KeyDeserializationError,
    ValueDeserializationError,
)
from barnabas.compat.confluent_kafka.serialization import MessageField, SerializationContext

if TYPE_CHECKING:
    from barnabas.compat.confluent_kafka.cimpl import Message

K = TypeVar("K")
V = TypeVar("V")


@asyncinit
class AsyncDeserializingConsumer(AIOConsumer, Generic[K, V]):
    """An AIOConsumer that deserializes keys and values: `consumer = await AsyncDeserializingConsumer(conf)`.
    Experimental, as the original says of itself.

    Properties besides those of AIOConsumer, whose other arguments are taken too:

    `key.deserializer`, `value.deserializer`: called as (bytes or None, SerializationContext), give an
    object, or what gives it when it is awaited. One that is not asynchronous runs on the event loop. The
    caller's to close.
    `key.deserializer.builder`, `value.deserializer.builder`: a DeserializerBuilder instead, whose `build`
    may be a coroutine function. What it builds is closed with the consumer.

    Asynchronous deserializers that can take it (`set_async_cluster_id_resolver`) are given what tells the id
    of the cluster; making the consumer does not wait for a broker.

    Raises: ValueError, when a deserializer and its builder are both given.
    """

    async def __init__(self, conf: dict[str, Any], **kwargs: Any) -> None:
        specs, rest = pop_serde_props(conf, "key.deserializer", "value.deserializer")
        serdes, self._owned_serdes, rest = await async_build_serdes(specs, rest)
        self._key_deserializer, self._value_deserializer = serdes
        try:
            super().__init__(rest, **kwargs)
            propagate_async_cluster_id_resolver(AsyncSharedClusterIdResolver(self.cluster_id), serdes)
        except BaseException:
            await async_close_serdes(self._owned_serdes)
            raise

    async def close(self, *args: Any, **kwargs: Any) -> Any:
        """Closes the consumer, then the deserializers it built. Closing again does nothing.

        When the consumer cannot be closed, its deserializers are left to the next call.
        """
        if not self._closed:
            await super().close(*args, **kwargs)
        owned, self._owned_serdes = self._owned_serdes, []
        await async_close_serdes(owned)

    async def poll(self, timeout: float = -1) -> Message | None:
        """The next message, with its key and value deserialized, or None when `timeout` seconds have passed.

        Raises: KeyDeserializationError, ValueDeserializationError: the position is behind the message all the
        same. ConsumeError, when an error came in place of a message, the end of a partition included.
        """
        message = await super().poll(timeout)
        if message is None:
            return None
        error = message.error()
        if error is not None:
            raise ConsumeError(error, kafka_message=message)
        return await self._deserialize(message)

    async def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Up to `num_messages` messages, keys and values deserialized. Those with an error stay as they are.

        Raises: KeyDeserializationError, ValueDeserializationError: the position is behind all the messages,
        of which none is given. Where that is too much, use poll().
        """
        messages = await super().consume(num_messages, timeout)
        for message in messages:
            if message.error() is None:
                await self._deserialize(message)
        return messages

    async def _deserialize(self, message: Message) -> Message:
        """Puts objects in place of the bytes of `message`, of both fields or, when one fails, of neither."""
        context = SerializationContext(message.topic(), MessageField.KEY, message.headers())
        key: Any = message.key()
        if self._key_deserializer is not None:
            try:
                key = await maybe_await(self._key_deserializer(key, context))
            except Exception as error:
                raise KeyDeserializationError(error, kafka_message=message)  # noqa: B904  it is in `exception`
        context.field = MessageField.VALUE
        value: Any = message.value()
        if self._value_deserializer is not None:
            try:
                value = await maybe_await(self._value_deserializer(value, context))
            except Exception as error:
                raise ValueDeserializationError(error, kafka_message=message)  # noqa: B904
        message.set_key(key)
        message.set_value(value)
        return message

# pyright: basic
"""`AsyncSerializingProducer`: an AIOProducer whose keys and values are objects."""

from __future__ import annotations

import asyncio
from typing import Any, Generic, TypeVar

from barnabas.compat.confluent_kafka._serde_builder import (
    AsyncSharedClusterIdResolver,
    async_build_serdes,
    async_close_serdes,
    maybe_await,
    pop_serde_props,
    propagate_async_cluster_id_resolver,
)
from barnabas.compat.confluent_kafka._types import HeadersType
from barnabas.compat.confluent_kafka._util.asyncinit import asyncinit
from barnabas.compat.confluent_kafka.aio.producer import AIOProducer
from barnabas.compat.confluent_kafka.error import KeySerializationError, ValueSerializationError
from barnabas.compat.confluent_kafka.serialization import MessageField, SerializationContext

K = TypeVar("K")
V = TypeVar("V")


@asyncinit
class AsyncSerializingProducer(AIOProducer, Generic[K, V]):
    """An AIOProducer that serializes keys and values: `producer = await AsyncSerializingProducer(conf)`.
    Experimental, as the original says of itself.

    Properties besides those of AIOProducer, whose other arguments are taken too:

    `key.serializer`, `value.serializer`: called as (object, SerializationContext), give bytes, or what gives
    them when it is awaited. One that is not asynchronous runs on the event loop. The caller's to close.
    `key.serializer.builder`, `value.serializer.builder`: a SerializerBuilder instead, whose `build` may be a
    coroutine function. What it builds is closed with the producer.

    Asynchronous serializers that can take it (`set_async_cluster_id_resolver`) are given what tells the id
    of the cluster; making the producer does not wait for a broker.

    Raises: ValueError, when a serializer and its builder are both given.
    """

    async def __init__(self, conf: dict[str, Any], **kwargs: Any) -> None:
        specs, rest = pop_serde_props(conf, "key.serializer", "value.serializer")
        serdes, self._owned_serdes, rest = await async_build_serdes(specs, rest)
        self._key_serializer, self._value_serializer = serdes
        try:
            super().__init__(rest, **kwargs)
            propagate_async_cluster_id_resolver(AsyncSharedClusterIdResolver(self.cluster_id), serdes)
        except BaseException:
            await async_close_serdes(self._owned_serdes)
            raise

    async def close(self) -> None:
        """Flushes and closes the producer, then the serializers it built.

        When the producer cannot be closed, its serializers are left to the next call.
        """
        await super().close()
        owned, self._owned_serdes = self._owned_serdes, []
        await async_close_serdes(owned)

    async def produce(
        self,
        topic: str,
        key: K | None = None,
        value: V | None = None,
        partition: int = -1,
        timestamp: int = 0,
        headers: HeadersType | None = None,
    ) -> asyncio.Future[Any]:
        """Serializes `key`, then `value`, and produces the message. Gives a future of the delivered Message.

        `headers` are for the serializers, see AIOProducer.produce.
        Raises: KeySerializationError, ValueSerializationError; RuntimeError on a closed producer and
        TypeError for a topic that is no str, both before any serializer runs; NotImplementedError for
        headers.
        """
        if self._is_closed:
            raise RuntimeError("Producer has been closed")
        if not isinstance(topic, str):
            raise TypeError(f"topic must be a str, not {type(topic).__name__}")
        context = SerializationContext(topic, MessageField.KEY, headers)
        key_bytes: Any = key
        if self._key_serializer is not None:
            try:
                key_bytes = await maybe_await(self._key_serializer(key, context))
            except Exception as error:
                raise KeySerializationError(error)  # noqa: B904  it is in `exception`, and in the context
        context.field = MessageField.VALUE
        payload: Any = value
        if self._value_serializer is not None:
            try:
                payload = await maybe_await(self._value_serializer(value, context))
            except Exception as error:
                raise ValueSerializationError(error)  # noqa: B904
        given = {} if headers is None else {"headers": headers}
        return await super().produce(
            topic, payload, key_bytes, partition=partition, timestamp=timestamp, **given
        )

# pyright: basic
"""A Producer whose keys and values are objects."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from barnabas.compat.confluent_kafka._serde_builder import (
    SharedClusterIdResolver,
    build_serdes,
    close_serdes,
    pop_serde_props,
    propagate_cluster_id_resolver,
)
from barnabas.compat.confluent_kafka._types import DeliveryCallback, HeadersType
from barnabas.compat.confluent_kafka.cimpl import Producer as _ProducerImpl
from barnabas.compat.confluent_kafka.error import KeySerializationError, ValueSerializationError
from barnabas.compat.confluent_kafka.serialization import MessageField, SerializationContext

K = TypeVar("K")
V = TypeVar("V")


class SerializingProducer(_ProducerImpl, Generic[K, V]):
    """A Producer that serializes keys and values. Experimental, as the original says of itself.

    Properties besides those of Producer:

    `key.serializer`, `value.serializer`: called as (object, SerializationContext), give bytes. Without one,
    the object goes to Producer as it is. The caller's to close.
    `key.serializer.builder`, `value.serializer.builder`: a SerializerBuilder instead. What it builds is
    closed with the producer.

    Serializers that can take it (`set_cluster_id_resolver`) are given what tells the cluster's id; making the
    producer does not wait for a broker.

    Raises: ValueError, when a serializer and its builder are both given.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        specs, rest = pop_serde_props(conf, "key.serializer", "value.serializer")
        serdes, self._owned_serdes, rest = build_serdes(specs, rest)
        self._key_serializer, self._value_serializer = serdes
        self._closed = False
        try:
            super().__init__(rest)
            propagate_cluster_id_resolver(SharedClusterIdResolver(self.cluster_id), serdes)
        except BaseException:
            close_serdes(self._owned_serdes)
            raise

    def close(self) -> bool:
        """Flushes and closes the producer, then the serializers it built. Closing again does nothing.

        When the producer cannot be closed, its serializers are left to the next call. Gives what
        `Producer.close` gives.
        """
        self._closed = True
        closed = super().close()
        owned, self._owned_serdes = self._owned_serdes, []
        close_serdes(owned)
        return closed

    def __exit__(self, exc_type: Any, exc_value: Any, exc_traceback: Any) -> bool | None:
        """Closes the producer, as `close` does."""
        self.close()

    def produce(
        self,
        topic: str,
        key: K | None = None,
        value: V | None = None,
        partition: int = -1,
        on_delivery: DeliveryCallback | None = None,
        timestamp: int = 0,
        headers: HeadersType | None = None,
    ) -> None:
        """Serializes `key`, then `value`, and produces the message. See Producer.produce.

        `on_delivery(error, message)` is called by poll() or flush().

        Raises: KeySerializationError, ValueSerializationError; BufferError, when the queue is full: poll(),
        and try again; RuntimeError on a closed producer and TypeError for a topic that is no str, both before
        any serializer runs; KafkaException for all else.
        """
        if self._closed:
            raise RuntimeError("Producer has been closed")
        if not isinstance(topic, str):
            raise TypeError(f"topic must be a str, not {type(topic).__name__}")
        context = SerializationContext(topic, MessageField.KEY, headers)
        payload: Any = value
        key_bytes: Any = key
        if self._key_serializer is not None:
            try:
                key_bytes = self._key_serializer(key, context)
            except Exception as error:
                raise KeySerializationError(error)  # noqa: B904  it is in `exception`, and in the context
        context.field = MessageField.VALUE
        if self._value_serializer is not None:
            try:
                payload = self._value_serializer(value, context)
            except Exception as error:
                raise ValueSerializationError(error)  # noqa: B904
        super().produce(
            topic,
            payload,
            key_bytes,
            headers=headers,
            partition=partition,
            timestamp=timestamp,
            on_delivery=on_delivery,
        )

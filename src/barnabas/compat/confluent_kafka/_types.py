"""The types of callbacks and headers, for annotations."""

from collections.abc import Callable
from typing import Any, TypeAlias

HeadersType: TypeAlias = dict[str, str | bytes | None] | list[tuple[str, str | bytes | None]]

Serializer: TypeAlias = Callable[[Any, Any], bytes]
"""`serializer(object, SerializationContext)` gives bytes."""
Deserializer: TypeAlias = Callable[[bytes | None, Any], Any]
"""`deserializer(bytes | None, SerializationContext)` gives an object."""

DeliveryCallback: TypeAlias = Callable[[Any | None, Any], None]
"""`callback(KafkaError | None, Message)`."""
RebalanceCallback: TypeAlias = Callable[[Any, list[Any]], None]
"""`callback(Consumer, list[TopicPartition])`."""
AcknowledgementCommitCallback: TypeAlias = Callable[[dict[Any, Any], Any | None], None]
"""`callback(dict[TopicPartition, set[int]], KafkaException | None)`."""

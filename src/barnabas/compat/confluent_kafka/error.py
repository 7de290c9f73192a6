# pyright: basic
"""The exceptions that carry what happened to one message: while producing, consuming, or converting it."""

from __future__ import annotations

from barnabas.compat.confluent_kafka.cimpl import KafkaError, KafkaException, Message
from barnabas.compat.confluent_kafka.serialization import SerializationError


class _KafkaClientError(KafkaException):
    """A KafkaException of one message, which it knows, and of the exception that was its reason."""

    def __init__(
        self,
        kafka_error: KafkaError,
        exception: Exception | None = None,
        kafka_message: Message | None = None,
    ) -> None:
        super().__init__(kafka_error)
        self.exception = exception
        self.kafka_message = kafka_message

    @property
    def code(self) -> int:
        """The code of the KafkaError."""
        return self.args[0].code()

    @property
    def name(self) -> str:
        """The name of the KafkaError's code."""
        return self.args[0].name()


class ConsumeError(_KafkaClientError):
    """A message could not be consumed. `kafka_message` is what was received."""

    def __init__(
        self,
        kafka_error: KafkaError,
        exception: Exception | None = None,
        kafka_message: Message | None = None,
    ) -> None:
        super().__init__(kafka_error, exception, kafka_message)


class KeyDeserializationError(ConsumeError, SerializationError):
    """The key of a message could not be deserialized. `kafka_message` holds its bytes."""

    def __init__(self, exception: Exception | None = None, kafka_message: Message | None = None) -> None:
        super().__init__(
            KafkaError(KafkaError._KEY_DESERIALIZATION, str(exception)),
            exception=exception,
            kafka_message=kafka_message,
        )


class ValueDeserializationError(ConsumeError, SerializationError):
    """The value of a message could not be deserialized. `kafka_message` holds its bytes."""

    def __init__(self, exception: Exception | None = None, kafka_message: Message | None = None) -> None:
        super().__init__(
            KafkaError(KafkaError._VALUE_DESERIALIZATION, str(exception)),
            exception=exception,
            kafka_message=kafka_message,
        )


class ProduceError(_KafkaClientError):
    """A message could not be produced."""

    def __init__(self, kafka_error: KafkaError, exception: Exception | None = None) -> None:
        super().__init__(kafka_error, exception, None)


class KeySerializationError(ProduceError, SerializationError):
    """The key of a message could not be serialized."""

    def __init__(self, exception: Exception | None = None) -> None:
        super().__init__(KafkaError(KafkaError._KEY_SERIALIZATION, str(exception)), exception=exception)


class ValueSerializationError(ProduceError, SerializationError):
    """The value of a message could not be serialized."""

    def __init__(self, exception: Exception | None = None) -> None:
        super().__init__(KafkaError(KafkaError._VALUE_SERIALIZATION, str(exception)), exception=exception)

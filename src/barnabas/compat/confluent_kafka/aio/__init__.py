"""`confluent_kafka.aio`: producers and consumers for asyncio."""

from barnabas.compat.confluent_kafka.aio._AIOConsumer import AIOConsumer
from barnabas.compat.confluent_kafka.aio._AsyncDeserializingConsumer import AsyncDeserializingConsumer
from barnabas.compat.confluent_kafka.aio._AsyncSerializingProducer import AsyncSerializingProducer
from barnabas.compat.confluent_kafka.aio.producer import AIOProducer

__all__ = ["AIOConsumer", "AIOProducer", "AsyncDeserializingConsumer", "AsyncSerializingProducer"]

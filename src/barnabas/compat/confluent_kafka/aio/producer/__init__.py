"""The producer of `confluent_kafka.aio`."""

from barnabas.compat.confluent_kafka.aio.producer._AIOProducer import AIOProducer

__all__ = ["AIOProducer"]

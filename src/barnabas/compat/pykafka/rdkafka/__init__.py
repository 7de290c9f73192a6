"""What programs ask for by `use_rdkafka`: the same producer and consumer, with librdkafka's defaults."""

from barnabas.compat.pykafka.rdkafka.producer import RdKafkaProducer
from barnabas.compat.pykafka.rdkafka.simple_consumer import RdKafkaSimpleConsumer

__all__ = ["RdKafkaProducer", "RdKafkaSimpleConsumer"]

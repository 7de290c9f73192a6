"""What kafka-python 3 has below its clients."""

from barnabas.compat.kafka.net.compat import KafkaNetClient

__all__ = ["KafkaNetClient"]

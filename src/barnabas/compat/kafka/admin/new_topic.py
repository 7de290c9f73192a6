"""Topics that are to be made, where kafka-python 2 has them."""

from barnabas.compat.kafka.admin._topics import NewTopic

__all__ = ["NewTopic"]

"""Resources that have a configuration, where kafka-python 2 has them."""

from barnabas.compat.kafka.admin._configs import ConfigResource, ConfigResourceType

__all__ = ["ConfigResource", "ConfigResourceType"]

"""Serializers and deserializers: of one's own, and ready ones."""

from barnabas.compat.kafka.serializer.abstract import Deserializer, Serializer
from barnabas.compat.kafka.serializer.default import DefaultSerializer
from barnabas.compat.kafka.serializer.json import JsonSerializer
from barnabas.compat.kafka.serializer.wrapper import DeserializeWrapper, SerializeWrapper

__all__ = [
    "DefaultSerializer",
    "DeserializeWrapper",
    "Deserializer",
    "JsonSerializer",
    "SerializeWrapper",
    "Serializer",
]

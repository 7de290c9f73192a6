"""How keys and values become bytes and back. Names that only other generations have are there in each."""

from barnabas.compat.kafka.serializer.abstract import Deserializer as Deserializer
from barnabas.compat.kafka.serializer.abstract import Serializer as Serializer
from barnabas.compat.kafka.serializer.default import DefaultSerializer as DefaultSerializer
from barnabas.compat.kafka.serializer.json import JsonSerializer as JsonSerializer
from barnabas.compat.kafka.serializer.wrapper import DeserializeWrapper as DeserializeWrapper
from barnabas.compat.kafka.serializer.wrapper import SerializeWrapper as SerializeWrapper

"""The version that programs read: of the release that the chosen generation is held to."""

from barnabas.compat.kafka_python.generations import generation

__version__ = generation().version

"""The version that programs read: of the release that the chosen generation is held to."""

from barnabas.compat.kafka_engine.generations import generation

__version__ = generation().version

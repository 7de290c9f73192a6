"""The configuration of a client of streams: librdkafka's, and what only streams have. Knows no client."""

# The constants of KafkaError begin with an underscore, as librdkafka's do, and are there for everyone.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.compat.mapr_streams_python._names import StreamTopics, naming_of

BOOTSTRAP_VARIABLE = "BARNABAS_BOOTSTRAP_SERVERS"
BOOTSTRAP_PROPERTIES = ("bootstrap.servers", "metadata.broker.list")
CONSUMER_STREAM = "streams.consumer.default.stream"
PRODUCER_STREAM = "streams.producer.default.stream"
NAMING = "streams.topic.naming"


def parse(args: tuple[Any, ...], kwargs: dict[str, Any], stream_property: str) -> tuple[Any, StreamTopics]:
    """What is left for librdkafka, and the names of topics by what was taken.

    A program for Data Fabric names no brokers: then those of the environment variable are meant.
    Raises: KafkaException, TypeError.
    """
    if len(args) > 1:
        raise TypeError("expected tuple containing single dict")
    if not (args or kwargs) or (args and not isinstance(args[0], dict)):
        raise TypeError("expected configuration dict")
    conf: dict[str, Any] = {**(args[0] if args else {}), **kwargs}
    stream = conf.pop(stream_property, None)
    for other in (CONSUMER_STREAM, PRODUCER_STREAM):
        conf.pop(other, None)
    try:
        topics = StreamTopics(naming_of(conf.pop(NAMING, None)), stream)
        if stream is not None:
            topics.kafka_name("any")
    except ValueError as error:
        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, str(error))) from error
    servers = os.environ.get(BOOTSTRAP_VARIABLE)
    # None stands for what is not set.
    if servers and all(conf.get(name) is None for name in BOOTSTRAP_PROPERTIES):
        for name in BOOTSTRAP_PROPERTIES:
            conf.pop(name, None)
        conf["bootstrap.servers"] = servers
    return conf, topics


def wrapped(conf: dict[str, Any], name: str, wrap: Callable[[Any], Any]) -> None:
    """Puts `wrap(callback)` in the place of a callback, if there is one."""
    if callable(conf.get(name)):
        conf[name] = wrap(conf[name])

"""What the configuration of a librdkafka producer comes to: settings of a Producer of Barnabas, and bounds.

Knows nothing of producers that run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas._kernel import Message
from barnabas.compat.librdkafka.config.client_callbacks import ClientCallbacks, client_callbacks
from barnabas.compat.librdkafka.config.configuration import Configuration
from barnabas.compat.librdkafka.config.first_token import with_first_token
from barnabas.compat.librdkafka.values.errors import KafkaError
from barnabas.values import frozen

NO_LIMIT = 2**62
# Those of librdkafka's names that mean something else in Java.
_PARTITIONERS = {"murmur2": "murmur2_consistent"}
# What requests take beside the largest message.
REQUEST_OVERHEAD = 1024


@frozen
class ProducerSetup:
    """What the configuration of a producer comes to. `settings` are those of a Producer of Barnabas."""

    settings: dict[str, Any]
    callbacks: ClientCallbacks
    on_delivery: Callable[[KafkaError | None, Message], object] | None = None
    only_errors: bool = False
    name: str = "rdkafka#producer-1"
    address_prefix: str = ""
    max_messages: int = 100_000
    max_bytes: int = 1_048_576 * 1024
    max_message_bytes: int = 1_000_000
    message_timeout_ms: int = 300_000
    propagation_ms: int = 30_000
    topic_blacklist: tuple[str, ...] = ()

    @classmethod
    def of(cls, configuration: Configuration) -> ProducerSetup:
        """The setup of a producer configured so."""
        values, callbacks = configuration.values, configuration.callbacks
        protocol: str = values["security.protocol"]
        partitioner: str = values["partitioner"]
        settings: dict[str, Any] = {
            **with_first_token(configuration),
            "bootstrap_servers": configuration.bootstrap_servers,
            "allow_auto_create_topics": not values.is_given("allow.auto.create.topics")
            or values["allow.auto.create.topics"],
            "batch_num_messages": values["batch.num.messages"],
            "partitioner": _PARTITIONERS.get(partitioner, partitioner),
            "partitioner_ignore_keys": False,
            "partitioner_adaptive_partitioning_enable": False,
            "partitioner_sticky_linger_ms": values["sticky.partitioning.linger.ms"],
        }
        return cls(
            settings,
            client_callbacks(configuration),
            on_delivery=callbacks.get("on_delivery"),
            only_errors=values["delivery.report.only.error"],
            name=configuration.instance_name,
            address_prefix="" if protocol == "plaintext" else f"{protocol}://",
            max_messages=values["queue.buffering.max.messages"] or NO_LIMIT,
            max_bytes=values["queue.buffering.max.kbytes"] * 1024,
            max_message_bytes=values["message.max.bytes"],
            message_timeout_ms=settings["delivery_timeout_ms"],
            propagation_ms=values["topic.metadata.propagation.max.ms"],
            topic_blacklist=values["topic.blacklist"],
        )

    def core_settings(self) -> dict[str, Any]:
        """Waiting for room and for topics is done here, so the core has no bounds of its own."""
        return {
            "bootstrap_servers": (),
            **self.settings,
            "buffer_memory": 2**62,
            "max_request_size": self.max_message_bytes + REQUEST_OVERHEAD,
            "delivery_timeout_ms": self.message_timeout_ms,
        }

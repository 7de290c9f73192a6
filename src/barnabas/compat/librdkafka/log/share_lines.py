"""What `debug` tells of a share consumer: what it asks brokers for, is lent, and acknowledges.

Owns librdkafka's forms of these lines and which contexts they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from barnabas.compat.librdkafka.log.client_log import DebugLine
from barnabas.steps import AcknowledgementsSent, RecordsAcquired, ShareFetchSent, Step


class ShareLines:
    """`broker` gives the name of a broker by its node id."""

    def __init__(self, broker: Callable[[int], str]) -> None:
        self._broker = broker

    def of(self, step: Step) -> Iterator[DebugLine]:
        match step:
            case ShareFetchSent():
                broker = self._broker(step.node_id)
                text = (
                    f"Sending ShareFetch Request (epoch {step.session_epoch}) with fetching messages of "
                    f"{len(step.partitions)} toppars, acknowledgements of {step.acknowledged}"
                )
                yield DebugLine("fetch", "SHAREFETCH", broker, f"{broker}: {text}")
                for topic, number in step.partitions:
                    text = f"{broker}: Share Fetch of topic {topic} [{number}]"
                    yield DebugLine("fetch", "SHAREFETCH", broker, text)
            case RecordsAcquired():
                broker, (topic, number) = self._broker(step.node_id), step.partition
                text = (
                    f"{broker}: {topic} [{number}]: Acquired Records from offset {step.first_offset} to "
                    f"{step.last_offset}, DeliveryCount {step.delivery_count}"
                )
                yield DebugLine("fetch", "SHAREFETCH", broker, text)
            case AcknowledgementsSent():
                broker = self._broker(step.node_id)
                text = f"{broker}: Sending ShareAcknowledge Request with acknowledgements"
                yield DebugLine("fetch", "SHAREACK", broker, text)
                for topic, number in step.partitions:
                    text = f"{broker}: Adding ack for topic {topic} [{number}]"
                    yield DebugLine("fetch", "SHAREACK", broker, text)
            case _:
                pass

"""What programs see of the messages of consumers."""

from barnabas.compat.kafka.protocol.consumer.offsets import (
    UNKNOWN_OFFSET,
    IsolationLevel,
    OffsetResetStrategy,
    OffsetSpec,
    OffsetTimestamp,
)

__all__ = ["UNKNOWN_OFFSET", "IsolationLevel", "OffsetResetStrategy", "OffsetSpec", "OffsetTimestamp"]

"""Records of message formats 0 and 1, for requests of the time before Kafka 0.11. The log has none of them:
they are converted when they come and when they leave. The kernel converts; here is what is asked for.
"""

from __future__ import annotations

from barnabas import _kernel
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.segment import end_of_batches
from barnabas.broker_errors import CorruptMessageError, UnsupportedCompressionTypeError
from barnabas.errors import CorruptBatchError
from barnabas.net.addresses import in_thread
from barnabas.protocol.schema import Records

FIRST_PRODUCE_WITH_BATCHES = 3
FIRST_FETCH_WITH_BATCHES = 4
FIRST_FETCH_WITH_TIMESTAMPS = 2
FIRST_FETCH_WITH_WHOLE_MESSAGES = 3
"""Before it, what a partition gives ends at its limit, within a message if need be: that is how clients hear
of one that is too large for them."""
MAGIC_POSITION = 16
CURRENT_MAGIC = 2
CONVERTED_AT_ONCE_BYTES = 4096
MOST_UNPACKED_BYTES = 100 << 20


async def produced_in_old_format(name: str, records: Records) -> Records:
    """The one batch to append; as in Kafka, old requests may have one already. What may be large is converted
    on another thread.

    Raises: CorruptMessageError.
    """
    view = memoryview(records)
    if len(view) > MAGIC_POSITION and view[MAGIC_POSITION] == CURRENT_MAGIC:
        return records

    def converted() -> bytes:
        return _kernel.convert_to_current(records, max_decompressed_bytes=MOST_UNPACKED_BYTES)

    try:
        return converted() if len(view) <= CONVERTED_AT_ONCE_BYTES else await in_thread(converted)
    except CorruptBatchError as error:
        raise CorruptMessageError(f"{name}: {error.reason}") from None


def fetched_in_old_format(
    log: PartitionLog, offset: int, records: bytes, version: int, *, max_bytes: int, before: int | None
) -> bytes:
    """What was read from an offset on, for a Fetch of an old version, and more of the log where none of it is
    for such clients. Raises: UnsupportedCompressionTypeError, and what reading the log does."""
    magic = 1 if version >= FIRST_FETCH_WITH_TIMESTAMPS else 0
    read_to = offset
    while records:
        if any(batch.compression == "zstd" for batch in _kernel.scan_batches(records)):
            raise UnsupportedCompressionTypeError(f"{log.partition}: zstd needs a newer version of Fetch")
        converted = _kernel.convert_to_old(records, magic, first_offset=offset)
        if converted:
            return converted if version >= FIRST_FETCH_WITH_WHOLE_MESSAGES else converted[:max_bytes]
        read_to = end_of_batches(records, read_to)
        records = log.read(read_to, max_bytes, at_least_one=True, before=before)
    return b""

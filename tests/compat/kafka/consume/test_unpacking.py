"""What unpacks to much more than was fetched is refused by SimpleClient, and by the classes that programs
read batches with by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from barnabas import Producer
from barnabas.client import unpacking
from barnabas.compat.kafka import SimpleClient, create_gzip_message
from barnabas.compat.kafka.errors import CorruptRecordError, UnsupportedCodecError
from barnabas.compat.kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder
from barnabas.compat.kafka.structs import FetchRequestPayload
from barnabas.compat.kafka_engine.wire.message_sets import Message
from barnabas.testing import EmbeddedBroker

UNPACKED_BYTES = 3 << 20


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets what everybody may unpack, in place of 100 MiB."""

    def set_limit(count: int) -> None:
        monkeypatch.setattr(unpacking, "LEAST_BYTES", count)

    return set_limit


@pytest.mark.parametrize(("magic", "codec"), [(0, 1), (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (2, 4)])
def test_a_batch_that_unpacks_to_too_much_is_refused(
    limit: Callable[[int], None], magic: int, codec: int
) -> None:
    builder = MemoryRecordsBuilder(magic, codec, 2 * UNPACKED_BYTES)
    builder.append(1, None, bytes(UNPACKED_BYTES))
    builder.close()

    def values() -> list[Any]:
        return [record.value for batch in MemoryRecords(builder.buffer()) for record in batch]

    limit(1 << 20)
    with pytest.raises(CorruptRecordError, match="1048576 bytes"):
        values()
    limit(4 << 20)
    assert values() == [bytes(UNPACKED_BYTES)]


def test_a_message_that_unpacks_to_too_much_is_refused(limit: Callable[[int], None]) -> None:
    packed = create_gzip_message([(bytes(UNPACKED_BYTES), None)]).value
    message = Message(packed, attributes=Message.CODEC_GZIP)
    limit(1 << 20)
    with pytest.raises(CorruptRecordError, match="1048576 bytes"):
        message.decompress()
    limit(4 << 20)
    assert len(message.decompress()) == 1


def test_a_codec_that_there_is_not_is_refused() -> None:
    with pytest.raises(UnsupportedCodecError, match="7"):
        Message(b"value", attributes=7).decompress()


def test_a_batch_that_is_no_longer_whole_is_refused() -> None:
    builder = MemoryRecordsBuilder(2, 4, UNPACKED_BYTES)
    builder.append(1, None, bytes(1000))
    builder.close()
    batch = bytearray(builder.buffer())
    batch[-1] ^= 1
    with pytest.raises(CorruptRecordError):
        [record for each in MemoryRecords(batch) for record in each]


@pytest.mark.integration
def test_a_simple_client_refuses_a_batch_that_unpacks_to_too_much(
    limit: Callable[[int], None], embedded_broker: EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(embedded_broker)
    with Producer(
        embedded_broker.bootstrap, compression="zstd", max_request_size=2 * UNPACKED_BYTES
    ) as producer:
        producer.send(topic, bytes(UNPACKED_BYTES)).result()
    client = SimpleClient(embedded_broker.bootstrap)
    try:
        limit(1 << 20)
        with pytest.raises(
            CorruptRecordError, match=rf"{topic}-0 at offset 0.* 2097152 bytes .*fetch_max_bytes"
        ):
            client.send_fetch_request([FetchRequestPayload(topic, 0, 0, 1 << 20)])
        [answer] = client.send_fetch_request([FetchRequestPayload(topic, 0, 0, 2 * UNPACKED_BYTES)])
        assert [len(each.message.value) for each in answer.messages] == [UNPACKED_BYTES]
    finally:
        client.close()

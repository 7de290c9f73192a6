from __future__ import annotations

import sys

import pytest

from barnabas._kernel import BatchBuilder, ReceiveBuffer, RecordReader, scan_batches, take_arrow


def test_a_frozen_buffer_holds_what_was_written_and_changes_no_more() -> None:
    buffer = ReceiveBuffer(5)
    assert len(buffer) == 5
    with memoryview(buffer) as view:
        view[:] = b"hello"
    frozen = buffer.freeze()
    assert frozen.readonly
    assert bytes(frozen) == b"hello"
    assert memoryview(buffer).readonly
    with pytest.raises(TypeError):
        memoryview(buffer)[0] = 1


def test_a_buffer_that_may_still_be_written_to_is_not_frozen() -> None:
    buffer = ReceiveBuffer(5)
    view = memoryview(buffer)
    part = view[1:]
    view.release()
    with pytest.raises(BufferError):
        buffer.freeze()
    part.release()
    assert len(buffer.freeze()) == 5


def test_records_in_a_frozen_buffer_outlive_it() -> None:
    builder = BatchBuilder()
    for number in range(3):
        assert builder.append(1000, None, b"value %d" % number)
    batch = builder.build()
    buffer = ReceiveBuffer(len(batch) + 8)
    with memoryview(buffer) as view:
        view[4:-4] = batch
    records = RecordReader("t", 0, buffer.freeze()[4:-4]).take(10)
    del buffer
    # Memory is used again: if the records did not keep theirs, these would write over it.
    for _ in range(10):
        with memoryview(ReceiveBuffer(len(batch))) as view:
            view[:] = b"\xff" * len(batch)
    assert [record.value for record in records] == [b"value 0", b"value 1", b"value 2"]


def test_a_buffer_that_is_not_frozen_is_read_as_it_is_now() -> None:
    builder = BatchBuilder()
    builder.append(1000, None, b"value")
    batch = builder.build()
    buffer = ReceiveBuffer(len(batch))
    view = memoryview(buffer)
    view[:] = batch
    reader = RecordReader("t", 0, view)
    view[:] = bytes(len(batch))
    assert [record.value for record in reader.take(10)] == [b"value"]


def test_empty_buffers_are_read_too() -> None:
    assert list(scan_batches(ReceiveBuffer(0).freeze())) == []


def test_bytes_that_were_read_are_let_go_of() -> None:
    builder = BatchBuilder()
    while builder.append(1000, None, b"x" * 1000):
        pass
    batch = builder.build()
    before = sys.getrefcount(batch)
    for take in (lambda reader: reader.take(10_000), lambda reader: take_arrow([reader], 10_000)):
        reader = RecordReader("t", 0, batch)
        assert sys.getrefcount(batch) > before
        take(reader)
        take(reader)
        del reader
        assert sys.getrefcount(batch) == before

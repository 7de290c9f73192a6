from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.errors import BrokenProtocolError
from barnabas.net.frames import STAGING_BYTES, FrameProtocol


def feed(protocol: FrameProtocol, data: bytes, chunk_size: int) -> None:
    """Gives `data` to the protocol as the event loop does: into the buffer that the protocol offers."""
    position = 0
    while position < len(data):
        buffer = protocol.get_buffer(-1)
        assert len(buffer) > 0
        chunk = data[position : position + min(chunk_size, len(buffer))]
        buffer[: len(chunk)] = chunk
        protocol.buffer_updated(len(chunk))
        position += len(chunk)


def framed(frames: list[bytes]) -> bytes:
    return b"".join(len(frame).to_bytes(4) + frame for frame in frames)


@given(
    frames=st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.integers(0, 3 * STAGING_BYTES).map(lambda size: bytes(range(256)) * (size // 256)),
        ),
        max_size=6,
    ),
    chunk_size=st.sampled_from([1, 2, 3, 5, 7, 1000, STAGING_BYTES, 10 * STAGING_BYTES]),
)
def test_frames_come_out_whole_however_the_bytes_arrive(frames: list[bytes], chunk_size: int) -> None:
    if chunk_size < 1000:
        frames = [frame for frame in frames if len(frame) < 3000]
    received: list[bytes | memoryview] = []
    feed(FrameProtocol(received.append, lambda _: None), framed(frames), chunk_size)
    assert [bytes(frame) for frame in received] == frames


def test_a_large_frame_is_handed_on_read_only_and_not_touched_by_the_next_one() -> None:
    received: list[bytes | memoryview] = []
    protocol = FrameProtocol(received.append, lambda _: None)
    first, second = b"a" * (2 * STAGING_BYTES), b"b" * (2 * STAGING_BYTES)
    feed(protocol, framed([first, second]), 10_000)
    assert isinstance(received[0], memoryview)
    assert received[0].readonly
    assert received == [first, second]


@pytest.mark.parametrize("size", [-1, 1 << 30 | 1])
def test_an_impossible_length_ends_the_connection_once(size: int) -> None:
    errors: list[Exception | None] = []
    protocol = FrameProtocol(lambda _: None, errors.append)
    feed(protocol, size.to_bytes(4, signed=True) + b"rest", 100)
    protocol.connection_lost(None)
    assert len(errors) == 1
    assert isinstance(errors[0], BrokenProtocolError)
    assert str(size) in str(errors[0])


def test_an_answer_in_http_ends_the_connection_and_is_called_so() -> None:
    errors: list[Exception | None] = []
    protocol = FrameProtocol(lambda _: None, errors.append)
    feed(protocol, b"HTTP/1.1 400 Bad Request", 100)
    protocol.connection_lost(None)
    assert len(errors) == 1
    assert isinstance(errors[0], BrokenProtocolError)
    assert "it answers in HTTP" in str(errors[0])

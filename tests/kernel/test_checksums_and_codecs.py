from __future__ import annotations

import gzip
import random
import zlib

import lz4.frame
import pytest
import snappy
from hypothesis import given
from hypothesis import strategies as st

from barnabas._kernel import compress, crc32, crc32c, decompress, fnv1a, murmur2
from barnabas.errors import CorruptBatchError


def test_crc32c_gives_the_check_values_of_rfc_3720() -> None:
    assert crc32c(b"") == 0
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


@given(st.binary(), st.binary())
def test_crc32c_can_be_continued(first: bytes, second: bytes) -> None:
    assert crc32c(second, crc32c(first)) == crc32c(first + second)


@given(st.binary())
def test_crc32_is_that_of_zlib(data: bytes) -> None:
    assert crc32(data) == zlib.crc32(data)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_that_of_the_java_client(key: bytes, expected: int) -> None:
    assert murmur2(key) == expected


def test_fnv1a_gives_the_published_values() -> None:
    assert fnv1a(b"") == 0x811C9DC5
    assert fnv1a(b"foobar") == 0xBF9CF968


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_every_kind_of_buffer_is_taken(kind: type) -> None:
    assert crc32c(kind(b"123456789")) == 0xE3069283


def test_a_part_of_a_buffer_is_taken() -> None:
    view = memoryview(b"__123456789__")
    assert crc32c(view[2:-2]) == 0xE3069283
    assert crc32c(view[2:-2][::-1]) == crc32c(b"987654321")


def test_text_is_not_taken_for_bytes() -> None:
    with pytest.raises(TypeError, match="bytes-like"):
        crc32c("123456789")  # type: ignore[arg-type]


SAMPLES = [
    b"",
    b"k",
    b"the castle, the village " * 20_000,
    random.Random(1).randbytes(300_000),
    bytes(1_000_000),
]


@pytest.mark.parametrize("sample", SAMPLES, ids=["empty", "one byte", "text", "noise", "zeros"])
def test_what_is_compressed_comes_back(codec: str, sample: bytes) -> None:
    assert decompress(codec, compress(codec, sample)) == sample


@pytest.mark.parametrize("sample", SAMPLES[1:], ids=["one byte", "text", "noise", "zeros"])
def test_other_libraries_read_what_is_compressed_and_are_read(sample: bytes) -> None:
    assert gzip.decompress(compress("gzip", sample)) == sample
    assert decompress("gzip", gzip.compress(sample)) == sample
    assert lz4.frame.decompress(compress("lz4", sample)) == sample
    for block_linked in (True, False):
        for block_size in range(4, 8):
            framed = lz4.frame.compress(
                sample,
                block_size=block_size,
                block_linked=block_linked,
                content_checksum=True,
                block_checksum=True,
            )
            assert decompress("lz4", framed) == sample
    assert decompress("snappy", snappy.compress(sample)) == sample


def test_levels_are_used_and_impossible_ones_refused() -> None:
    text = b"".join(b"line %d of the castle's files\n" % (i * i) for i in range(5000))
    assert len(compress("gzip", text, 9)) < len(compress("gzip", text, 1))
    assert len(compress("zstd", text, 19)) < len(compress("zstd", text, 1))
    with pytest.raises(ValueError, match="compression level 10 of gzip is not between 0 and 9"):
        compress("gzip", text, 10)
    with pytest.raises(ValueError, match=r'unknown compression "brotli".*zstd'):
        compress("brotli", text)


def test_a_decompression_bomb_is_refused(codec: str) -> None:
    bomb = compress(codec, bytes(20_000_000))
    with pytest.raises(CorruptBatchError, match="more than the limit of 1000000 bytes"):
        decompress(codec, bomb, 1_000_000)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_bytes_of_another_format_are_refused(codec: str) -> None:
    with pytest.raises(CorruptBatchError, match=codec):
        decompress(codec, b"\xff not compressed at all")

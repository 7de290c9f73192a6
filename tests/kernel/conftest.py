"""What the tests of the kernel share: ways to make batches, and what of a record is compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args

import pytest

from barnabas._kernel import BatchBuilder, Record
from barnabas.settings.table import Codec

CODECS = list(get_args(Codec))


def build_batch(records: Sequence[tuple[Any, ...]], *, compression: str = "none", **header: Any) -> bytes:
    """A batch of (timestamp, key, value) or (timestamp, key, value, headers)."""
    builder = BatchBuilder(compression=compression, max_bytes=1 << 30)
    for record in records:
        assert builder.append(*record)
    return builder.build(**header)


def build_control_batch(offset: int, producer_id: int, *, commit: bool) -> bytes:
    key = b"\0\0" + (b"\0\1" if commit else b"\0\0")
    header: dict[str, Any] = {"producer_id": producer_id, "producer_epoch": 0}
    return build_batch(
        [(1, key, b"\0" * 6)], base_offset=offset, is_transactional=True, is_control=True, **header
    )


@pytest.fixture(params=CODECS)
def codec(request: pytest.FixtureRequest) -> str:
    """Every test that takes this runs with each compression codec."""
    return request.param


@pytest.fixture(scope="session")
def batch() -> Callable[..., bytes]:
    return build_batch


@pytest.fixture(scope="session")
def control_batch() -> Callable[..., bytes]:
    return build_control_batch


@pytest.fixture(scope="session")
def parts() -> Callable[[Sequence[Record]], list[tuple[Any, ...]]]:
    """The offsets, timestamps, keys, values and headers of records."""
    return lambda records: [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in records]

"""Record batches as producers send them, logs in a temporary folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from barnabas import _kernel
from barnabas.broker.log.partition_log import Appended, PartitionLog
from barnabas.broker.log.settings import LogSettings
from barnabas.types import TopicPartition

NOW_MS = 1_700_000_000_000
PARTITION = TopicPartition("flights", 0)

KeyValue = tuple[bytes | None, bytes | None]


def batch_of(
    records: Iterable[KeyValue],
    *,
    timestamp: int = NOW_MS,
    compression: str = "none",
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytes:
    builder = _kernel.BatchBuilder(compression=compression, max_bytes=1 << 24)
    for index, (key, value) in enumerate(records):
        assert builder.append(timestamp + index, key, value)
    return builder.build(producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=base_sequence)


def values(*texts: str) -> list[KeyValue]:
    return [(None, text.encode()) for text in texts]


def open_log(
    directory: Path, *, clean: bool = False, leader_epoch: int = 0, recovery_point: int = 0, **settings: int
) -> PartitionLog:
    return PartitionLog(
        directory,
        PARTITION,
        LogSettings(**settings),  # pyright: ignore[reportArgumentType]
        leader_epoch=leader_epoch,
        now_ms=NOW_MS,
        recovery_point=recovery_point,
        clean=clean,
    )


def append(
    log: PartitionLog, batch: bytes, now_ms: int = NOW_MS, *, set_append_time: bool = False
) -> Appended:
    return log.append(batch, _kernel.scan_batches(batch), now_ms=now_ms, set_append_time=set_append_time)


def records_of(log: PartitionLog, offset: int | None = None) -> list[_kernel.Record]:
    """Everything from an offset on, read as a consumer does: a limited number of bytes at a time."""
    position = log.log_start_offset if offset is None else offset
    found: list[_kernel.Record] = []
    while position < log.log_end_offset:
        data = log.read(position, 1 << 16, at_least_one=True)
        reader = _kernel.RecordReader(
            log.partition.topic, log.partition.partition, data, fetch_offset=position
        )
        found.extend(reader)
        if reader.next_offset <= position:
            break
        position = reader.next_offset
    return found


def values_of(log: PartitionLog, offset: int | None = None) -> list[str]:
    return [(record.value or b"").decode() for record in records_of(log, offset)]


@pytest.fixture
def log_directory(tmp_path: Path) -> Path:
    return tmp_path / str(PARTITION)


@pytest.fixture
def opened(log_directory: Path) -> Iterator[Callable[..., PartitionLog]]:
    """Opens the log in the test's folder; what is open at the end is closed as a crash would."""
    logs: list[PartitionLog] = []

    def open_one(**options: int) -> PartitionLog:
        log = open_log(log_directory, **options)
        logs.append(log)
        return log

    yield open_one
    for log in logs:
        log.abandon()

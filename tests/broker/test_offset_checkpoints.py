"""What a process that was killed has the next one know of its logs beside what is in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.broker.log.damage import DamagedLogError
from barnabas.broker.log.manager import LogManager
from barnabas.broker.log.offset_checkpoints import OWN_OFFSETS_FILE
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.settings import LogSettings

from .conftest import NOW_MS, PARTITION, append, batch_of, records_of, values

SETTINGS = LogSettings()


def opened(directory: Path) -> LogManager:
    """With one log, which is made if it is not there."""
    manager = LogManager(directory, 0)
    manager.open({PARTITION: SETTINGS})
    return manager


def written(manager: LogManager, *texts: str) -> PartitionLog:
    """Each text is a batch of its own, and on the disk."""
    log = manager.get(PARTITION)
    for text in texts:
        append(log, batch_of(values(text)))
    log.flush(NOW_MS)
    return log


def killed_and_opened(manager: LogManager, directory: Path) -> tuple[int, list[bytes | None]]:
    """Where the log begins for the next process, and what is in it."""
    manager.abandon()
    after = opened(directory)
    log = after.get(PARTITION)
    found = log.log_start_offset, [record.value for record in records_of(log, log.log_start_offset)]
    after.abandon()
    return found


@pytest.mark.parametrize("writes_all", [True, False])
def test_a_log_that_is_made_anew_begins_at_zero_though_records_of_the_old_one_were_deleted(
    tmp_path: Path, writes_all: bool
) -> None:
    manager = opened(tmp_path)
    log = written(manager, "a", "b", "c")
    log.delete_records_before(2)
    manager.write_start_offsets()
    if writes_all:
        manager.write_checkpoints()
    manager.delete(log)
    manager.create(PARTITION, SETTINGS)
    written(manager, "d")
    assert killed_and_opened(manager, tmp_path) == (0, [b"d"])


@pytest.mark.parametrize(("end_offset", "left"), [(2, [b"a", b"b"]), (1, [b"a"]), (0, [])])
def test_what_a_replica_gives_up_is_not_missed_after_it_was_killed(
    tmp_path: Path, end_offset: int, left: list[bytes]
) -> None:
    manager = opened(tmp_path)
    log = written(manager, "a", "b", "c")
    manager.write_checkpoints()
    manager.truncate(log, end_offset)
    assert killed_and_opened(manager, tmp_path) == (0, left)


def test_a_replica_that_begins_where_its_leader_does_begins_there_after_it_was_killed(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = written(manager, "a", "b", "c")
    manager.write_checkpoints()
    manager.truncate(log, 7)
    written(manager, "d")
    assert killed_and_opened(manager, tmp_path) == (7, [b"d"])


@pytest.mark.parametrize(("end_offset", "step"), [(1, "cut_off"), (0, "remove_all")])
def test_a_replica_that_is_killed_before_it_gives_up_anything_still_has_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end_offset: int, step: str
) -> None:
    class KilledError(Exception):
        pass

    def kill(log: PartitionLog, *_: int) -> None:
        raise KilledError

    manager = opened(tmp_path)
    log = written(manager, "a", "b", "c")
    manager.write_checkpoints()
    monkeypatch.setattr(PartitionLog, step, kill)
    with pytest.raises(KilledError):
        manager.truncate(log, end_offset)
    assert killed_and_opened(manager, tmp_path) == (0, [b"a", b"b", b"c"])


def test_what_holds_for_a_log_alone_goes_when_all_is_written_again(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = written(manager, "a", "b", "c")
    manager.write_checkpoints()
    own = tmp_path / str(PARTITION) / OWN_OFFSETS_FILE
    log = manager.truncate(log, 2)
    assert own.exists()
    manager.write_checkpoints()
    assert not own.exists()
    assert killed_and_opened(manager, tmp_path) == (0, [b"a", b"b"])


def test_records_that_are_deleted_stay_deleted_where_something_else_held_for_the_log_alone(
    tmp_path: Path,
) -> None:
    manager = opened(tmp_path)
    log = written(manager, "a", "b", "c")
    manager.write_checkpoints()
    log = manager.truncate(log, 2)
    log.delete_records_before(1)
    manager.write_start_offsets()
    assert killed_and_opened(manager, tmp_path) == (1, [b"b"])


def test_a_log_that_lost_its_files_is_damaged_yet(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    written(manager, "a")
    manager.write_checkpoints()
    manager.abandon()
    for path in (tmp_path / str(PARTITION)).glob("*.log"):
        path.unlink()
    with pytest.raises(DamagedLogError):
        opened(tmp_path)

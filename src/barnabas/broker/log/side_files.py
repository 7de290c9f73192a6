"""What lies beside the segments of a log and speeds up its next opening: snapshots of producers' states, and
where leader epochs begin.

Owns their names, and which are kept. All can be made again from the log.
"""

from __future__ import annotations

import logging

from barnabas.broker.log.files import read_checkpoint, replace_file, write_checkpoint
from barnabas.broker.log.leader_epochs import LeaderEpochs
from barnabas.broker.log.memory_files import AnyPath
from barnabas.broker.log.producers import ProducerStates
from barnabas.types import TopicPartition

logger = logging.getLogger(__name__)

LEADER_EPOCHS_FILE = "leader-epoch-checkpoint"
SNAPSHOTS_KEPT = 2


class SideFiles:
    """Those in the folder of a log."""

    def __init__(self, directory: AnyPath, partition: TopicPartition) -> None:
        self._directory = directory
        self._partition = partition

    def leader_epochs(self) -> LeaderEpochs:
        rows = read_checkpoint(self._directory / LEADER_EPOCHS_FILE) or []
        return LeaderEpochs((int(row[0]), int(row[1])) for row in rows)

    def write_leader_epochs(self, epochs: LeaderEpochs) -> None:
        """Raises: OSError."""
        write_checkpoint(self._directory / LEADER_EPOCHS_FILE, epochs, sync=False)

    def producers(self) -> tuple[ProducerStates, int | None]:
        """The last good snapshot, and the offset from which the log has to be read for what came after; None
        where there is none."""
        for path in self._snapshots():
            try:
                return ProducerStates.from_bytes(path.read_bytes()), int(path.stem)
            except (ValueError, KeyError, TypeError) as error:
                logger.warning("%s: %s cannot be read (%s), left out", self._partition, path.name, error)
        return ProducerStates(), None

    def write_producers(self, producers: ProducerStates, offset: int) -> None:
        """As they are after all that is below an offset. Raises: OSError."""
        replace_file(self._directory / f"{offset:020d}.producers", producers.to_bytes(), sync=False)
        for path in self._snapshots()[SNAPSHOTS_KEPT:]:
            path.unlink()

    def remove_producers_beyond(self, offset: int) -> None:
        for path in self._snapshots():
            if int(path.stem) > offset:
                path.unlink()

    def _snapshots(self) -> list[AnyPath]:
        """The newest first."""
        return sorted(self._directory.glob("*.producers"), reverse=True)

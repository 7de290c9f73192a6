"""Groups whose members the coordinator assigns to, as records of __consumer_offsets: what changed is written.

Owns that the records on disk come to be those of the group as it is. Must not know what kind of group it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from barnabas.broker.groups.records import Entry, Key, decoded_entry, encoded_key, encoded_value
from barnabas.broker.groups.store import GroupStore
from barnabas.broker.topics.state_topic import KeptRecord
from barnabas.broker_errors import CoordinatorNotAvailableError, KafkaStorageError
from barnabas.protocol.schema import Message

Written = dict[bytes, tuple[Key, bytes]]
"""The records of a group on disk, by the bytes of their keys: the key, and the value's bytes."""


class WrittenGroup(Protocol):
    @property
    def group_id(self) -> str: ...

    written: Written


class GroupJournal:
    def __init__(self, store: GroupStore) -> None:
        self._store = store

    def write(self, group: WrittenGroup, entries: Iterable[tuple[Key, Message]], *, are_all: bool) -> None:
        """Brings the records on disk up to `entries`. `are_all`: the group has no others any more.

        Raises: CoordinatorNotAvailableError, and then they are as they were.
        """
        found = {encoded_key(key): (key, value, encoded_value(value)) for key, value in entries}
        changed: list[Entry] = [
            (key, value)
            for place, (key, value, encoded) in found.items()
            if group.written.get(place) != (key, encoded)
        ]
        gone = [place for place in group.written if place not in found] if are_all else []
        changed += [(group.written[place][0], None) for place in gone]
        if changed:
            try:
                self._store.append(group.group_id, changed)
            except KafkaStorageError as error:
                raise CoordinatorNotAvailableError(error.context) from error
        for place in gone:
            del group.written[place]
        group.written.update({place: (key, encoded) for place, (key, _, encoded) in found.items()})


def written_entries(group: WrittenGroup) -> Iterator[Entry]:
    """All records of the group on disk."""
    for place, (_, value) in group.written.items():
        entry = decoded_entry(KeptRecord(place, value, producer_id=-1, offset=-1))
        assert entry is not None
        yield entry


def note_written(group: WrittenGroup, key: Key, value: Message | None) -> None:
    """A record of the group was read back."""
    if value is None:
        group.written.pop(encoded_key(key), None)
    else:
        group.written[encoded_key(key)] = key, encoded_value(value)

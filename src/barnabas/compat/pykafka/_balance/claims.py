"""The nodes of one balanced consumer in ZooKeeper: that it is there, and which partitions are its own.

Owns paths and contents under `/consumers/<group>`, which are those of pykafka, whose members read them:
`ids/<consumer>` holds the topic's name, `owners/<topic>/<leader>-<partition>` the consumer's. All end with
the session. Knows nothing of rebalances, nor of consuming.

pykafka on Python 3 writes a topic's name as `b'name'` in paths; on Python 2, and in other clients, it is
plain. Claims are made in the first form, and in the plain one as well while that folder is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.compat.pykafka._balance.zookeeper import ZooKeeperSession

__all__ = ["Claims", "NodeTakenError"]


class NodeTakenError(Exception):
    """A partition is another consumer's; never leaves the facade."""

    def __init__(self, partition_id: int) -> None:
        super().__init__(partition_id)
        self.partition_id = partition_id


class Claims:
    """The nodes of the consumer `consumer_id` of `group`, on `topic`."""

    def __init__(
        self,
        session: ZooKeeperSession,
        *,
        group: str,
        topic: bytes,
        consumer_id: bytes,
    ) -> None:
        self._session = session
        self._topic = topic
        self._consumer_id = consumer_id
        self.ids_path = f"/consumers/{group}/ids"
        self.own_path = f"{self.ids_path}/{consumer_id.decode()}"
        self.owners_path = f"/consumers/{group}/owners/{topic!r}"
        self._plain_owners_path = f"/consumers/{group}/owners/{topic.decode()}"

    def register(self) -> None:
        """Tells the group that this consumer is there."""
        self._session.ensure_path(self.owners_path)
        try:
            self._session.create_ephemeral(self.own_path, self._topic)
        except self._session.node_exists:
            stat = self._session.exists(self.own_path)
            if stat is not None and stat.ephemeralOwner == self._session.id:
                return
            # Of a session that ends: what ends with it must not be taken for this one's.
            self._session.delete(self.own_path)
            self._session.create_ephemeral(self.own_path, self._topic)

    def unregister(self) -> None:
        self._session.delete(self.own_path)

    def participants(self) -> list[bytes]:
        """The consumers of the group that are there for this topic, in order."""
        try:
            names = self._session.get_children(self.ids_path)
        except self._session.no_node:
            return []
        topics = self._session.get_each([f"{self.ids_path}/{name}" for name in names])
        return sorted(
            path.rpartition("/")[2].encode() for path, topic in topics.items() if topic == self._topic
        )

    def held(self) -> set[int]:
        """The partitions that are this consumer's in every folder that claims are made in."""
        first, *others = [
            {partition for partition, owner in self._owners(folder).values() if owner == self._consumer_id}
            for folder in self._folders()
        ]
        return first.intersection(*others)

    def release(self, partition_ids: Iterable[int]) -> None:
        """Gives up these partitions, whatever leader they were claimed under."""
        given_up = set(partition_ids)
        for folder in self._folders():
            for path, (partition, owner) in self._owners(folder).items():
                if partition in given_up and owner == self._consumer_id:
                    self._session.delete(path)

    def release_all(self) -> None:
        for folder in self._folders():
            for path, (_, owner) in self._owners(folder).items():
                if owner == self._consumer_id:
                    self._session.delete(path)

    def claim(self, leaders: Mapping[int, int]) -> None:
        """Makes these partitions, each with its leader's id, this consumer's.

        Raises: NodeTakenError for the first that is another's; what was claimed before it stays.
        """
        for folder in self._folders():
            for partition_id, leader_id in leaders.items():
                path = f"{folder}/{leader_id}-{partition_id}"
                try:
                    self._session.create_ephemeral(path, self._consumer_id)
                except self._session.node_exists:
                    if not self._is_own(path):
                        raise NodeTakenError(partition_id) from None
            self._step_back(folder, leaders)

    def _step_back(self, folder: str, leaders: Mapping[int, int]) -> None:
        """Gives up partitions that another has claimed under another leader's id.

        Each of two such members looks after it has written, so at least one of them sees the other.
        """
        owners = self._owners(folder)
        others = {partition for partition, owner in owners.values() if owner != self._consumer_id}
        taken = sorted(others & leaders.keys())
        for path, (partition, owner) in owners.items():
            if partition in taken and owner == self._consumer_id:
                self._session.delete(path)
        if taken:
            raise NodeTakenError(taken[0])

    def _is_own(self, path: str) -> bool:
        """Whether the claim at `path` is this consumer's; that of an earlier session is made again."""
        try:
            owner, stat = self._session.get(path)
        except self._session.no_node:
            return False
        if owner != self._consumer_id:
            return False
        if stat.ephemeralOwner == self._session.id:
            return True
        self._session.delete(path)
        self._session.create_ephemeral(path, self._consumer_id)
        return True

    def _folders(self) -> list[str]:
        if self._session.exists(self._plain_owners_path) is None:
            return [self.owners_path]
        return [self.owners_path, self._plain_owners_path]

    def _owners(self, folder: str) -> dict[str, tuple[int, bytes]]:
        """Partition and owner for each path in `folder`."""
        try:
            names = self._session.get_children(folder)
        except self._session.no_node:
            return {}
        partitions = {f"{folder}/{name}": _partition_of(name) for name in names}
        owners = self._session.get_each(partitions)
        return {
            path: (partition, owners[path])
            for path, partition in partitions.items()
            if partition is not None and path in owners
        }


def _partition_of(name: str) -> int | None:
    """The partition that a node in a folder of owners is of; None for one that is nobody's claim."""
    _, dash, partition = name.rpartition("-")
    return int(partition) if dash and partition.isdigit() else None

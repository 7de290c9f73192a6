"""What can be done to a broker itself, beside its requests: its disk, clock, groups, nodes and leaders.

Owns what each of them means for the parts of the broker. Knows nothing of requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from barnabas.broker.broker_node import BrokerNode
from barnabas.broker.clock_loop import pass_time
from barnabas.broker.faults.rules import FaultRuleError
from barnabas.broker.handlers.api import BrokerParts
from barnabas.broker.log.files import DISK
from barnabas.clock import CLOCK

NODE_STATES = (
    *("stopped", "killed", "started", "paused", "resumed", "parted", "joined"),
    *("lagging", "catching_up"),
)


class BrokerUpsets:
    """Disk and clock are those of all brokers of this process."""

    def __init__(
        self, parts: Callable[[], BrokerParts], nodes: Callable[[], Mapping[int, BrokerNode]]
    ) -> None:
        self._parts = parts
        self._nodes = nodes

    def fill_disk(self, *, is_full: bool) -> None:
        """While it is full nothing is written: Produce is answered with KAFKA_STORAGE_ERROR, and so on."""
        DISK.is_full = is_full

    def state(self) -> dict[str, Any]:
        """Returns the state of the disk, the clock and the nodes, as `GET /state` answers it."""
        return {
            "disk": {"is_full": DISK.is_full},
            "clock": {"moved_ms": CLOCK.moved_by_ms},
            "nodes": [self.node_state(node_id) for node_id in self.node_ids],
        }

    def node_state(self, node_id: int) -> dict[str, Any]:
        """Raises: FaultRuleError."""
        node = self.node(node_id)
        return {
            "node_id": node_id,
            "is_running": node.is_running,
            "is_paused": node.is_paused,
            "is_parted": node.is_parted,
            "is_lagging": node.is_lagging,
        }

    def move_clock(self, ms: int) -> None:
        """Moves what the broker takes for the time of day, back with a negative number: timestamps of
        records, ages of segments and offsets, time-outs of transactions. Members' sessions and delays take
        their time."""
        CLOCK.moved_by_ms += ms

    async def pass_time(self, ms: int) -> None:
        """Lets time pass for the broker without waiting for it: the time of day moves, and sessions, delays
        and upkeep that are due meanwhile end. Raises: FaultRuleError."""
        if ms < 0:
            raise FaultRuleError(f"time does not go back, pass_ms is {ms}; move_ms moves the time of day")
        await pass_time(ms / 1000)

    def rebalance(self, group: str) -> None:
        """Has a group rebalance. Members of the consumer protocol are expelled, and join again.

        Raises: FaultRuleError.
        """
        parts = self._parts()
        consumers = parts.consumer_groups.groups.get(group)
        if consumers is not None and consumers.members:
            for member in list(consumers.members.values()):
                if parts.consumer_groups.groups.get(group) is not consumers:
                    # Members of the classic protocol are left, and join again.
                    return
                parts.consumer_groups.remove(consumers, member, "was expelled by a fault")
            return
        if not parts.classic_groups.force_rebalance(group):
            raise FaultRuleError(f"group {group} has no members")

    @property
    def node_ids(self) -> list[int]:
        return list(self._nodes())

    def node(self, node_id: int) -> BrokerNode:
        """Raises: FaultRuleError."""
        node = self._nodes().get(node_id)
        if node is None:
            raise FaultRuleError(f"there is no node {node_id}: {', '.join(map(str, self._nodes()))}")
        return node

    async def change_node(self, node_id: int, state: str) -> None:
        """`state`: one of NODE_STATES. Raises: FaultRuleError, MisuseError (what the only node cannot be)."""
        node = self.node(node_id)
        match state:
            case "stopped":
                await node.stop()
            case "killed":
                await node.kill()
            case "started":
                await node.start()
            case "paused":
                node.pause()
            case "resumed":
                node.resume()
            case "parted":
                node.part()
            case "joined":
                node.join()
            case "lagging":
                node.lag()
            case "catching_up":
                node.catch_up()
            case _:
                raise FaultRuleError(f"a node is one of {', '.join(NODE_STATES)}, not {state!r}")

    def move_leader(self, topic: str, partition: int, node_id: int) -> None:
        """Has another replica that is in sync lead. Raises: BrokerError."""
        parts = self._parts()
        found = parts.cluster.partition(parts.cluster.topic(topic), partition)
        parts.controller.move_leader(found, node_id)

    def move_coordinator(self, group: str, node_id: int) -> None:
        """Has another node coordinate a group, and others that are kept in the same partition.

        Raises: BrokerError.
        """
        parts = self._parts()
        parts.controller.move_leader(parts.group_store.topic.partition_for(group), node_id)

    async def settle(self) -> None:
        """The disk has room, the clock is right, and all nodes run."""
        for node in self._nodes().values():
            node.resume()
            node.join()
            node.catch_up()
            await node.start()
        DISK.is_full = False
        CLOCK.moved_by_ms = 0

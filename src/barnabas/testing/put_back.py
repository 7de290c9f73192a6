"""A broker as it was before a test, and what brings it back to that: whether it runs or is paused, its nodes,
faults, disk and clock.

Owns what counts as changed. Knows nothing of tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.testing.apache_kafka_cluster import ApacheKafkaCluster
from barnabas.testing.broker_process import BrokerProcess
from barnabas.testing.embedded_broker import EmbeddedBroker
from barnabas.testing.fault_control import FaultControl

NEW: Mapping[str, Any] = {"faults": [], "nodes": [], "disk": {"is_full": False}, "clock": {"moved_ms": 0}}
"""The state of a broker that nobody has changed; all its nodes run."""


class BrokerBefore:
    """As a broker or cluster is now, or with `is_new` as it is when it is started. What was stopped or paused
    then is left so."""

    def __init__(self, broker: BrokerProcess | ApacheKafkaCluster, *, is_new: bool = False) -> None:
        self._broker = broker
        processes = broker.nodes if isinstance(broker, ApacheKafkaCluster) else [broker]
        self._running = [each for each in processes if is_new or each.is_alive]
        self._awake = [each for each in self._running if is_new or not each.is_paused]
        self._told = NEW
        if not is_new and isinstance(broker, EmbeddedBroker) and self._awake:
            self._told = broker.faults.state()

    def put_back(self) -> None:
        """Ends what was changed since. Raises: ServerStartError, FaultControlError."""
        self.run_again()
        if isinstance(self._broker, EmbeddedBroker) and self._broker in self._awake:
            _put_back_faults(self._broker.faults, self._told)

    def run_again(self) -> None:
        """Brings back processes and nodes alone. Raises: as `put_back`."""
        is_changed = False
        for each in self._awake:
            if each.is_paused:
                each.resume()
                is_changed = True
        if not all(each.is_alive for each in self._running):
            self._broker.start()
            is_changed = True
        broker = self._broker
        if isinstance(broker, EmbeddedBroker) and broker in self._awake:
            is_changed |= _put_back_nodes(broker.faults, self._told)
        if is_changed:
            _wait_until_whole(broker)


def _put_back_faults(faults: FaultControl, before: Mapping[str, Any]) -> None:
    now = faults.state()
    for rule_id in now["faults"]:
        if rule_id not in before["faults"]:
            faults.fault(rule_id).remove()
    if now["disk"]["is_full"] != before["disk"]["is_full"]:
        faults.disk_full(before["disk"]["is_full"])
    if moved_ms := before["clock"]["moved_ms"] - now["clock"]["moved_ms"]:
        faults.move_clock(moved_ms)


def _put_back_nodes(faults: FaultControl, before: Mapping[str, Any]) -> bool:
    """Whether one was changed."""
    nodes_before = {node["node_id"]: node for node in before["nodes"]}
    is_changed = False
    for node in faults.state()["nodes"]:
        was = nodes_before.get(node["node_id"], {"is_running": True})
        for state, ends, end in (
            ("is_paused", True, faults.resume_node),
            ("is_parted", True, faults.join_node),
            ("is_lagging", True, faults.catch_up_node),
            ("is_running", False, faults.start_node),
        ):
            if node[state] is ends and was.get(state, False) is not ends:
                end(node["node_id"])
                is_changed = True
    return is_changed


def _wait_until_whole(broker: BrokerProcess | ApacheKafkaCluster) -> None:
    if isinstance(broker, ApacheKafkaCluster):
        if all(node.is_alive and not node.is_paused for node in broker.nodes):
            broker.wait_until_whole()
    elif isinstance(broker, EmbeddedBroker):
        state = broker.faults.state()
        if all(node["is_running"] and not node["is_paused"] for node in state["nodes"]):
            broker.wait_until_whole()

"""Nodes as answers name them."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.broker.cluster import Cluster
from barnabas.broker.handlers.api import Call
from barnabas.broker.replication.registration import NO_LEADER
from barnabas.broker.topic import Partition


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a client finds a node."""

    node_id: int
    host: str
    port: int
    rack: str | None


def endpoint(call: Call, node_id: int) -> Endpoint:
    """Where who asks finds a node, or found it before it went: on the listener that it came in by."""
    node = call.parts.cluster.nodes[node_id]
    host, port = node.addresses.get(call.listener, (node.host, node.port))
    return Endpoint(node_id, host, port, node.rack)


def living_endpoints(call: Call) -> list[Endpoint]:
    return [endpoint(call, node_id) for node_id in sorted(call.parts.cluster.alive_at(call.node))]


def known_leader(call: Call, partition: Partition) -> int:
    """As far as the node knows that was asked: NO_LEADER where it has not heard of the partition."""
    view = call.parts.cluster.parted.get(call.node)
    known = partition.registration if view is None else view.registrations.get(partition.name)
    return NO_LEADER if known is None else known.leader


def controller_id(cluster: Cluster) -> int:
    """Of a living node: all of them forward what the controller is asked."""
    return min(cluster.alive, default=-1)

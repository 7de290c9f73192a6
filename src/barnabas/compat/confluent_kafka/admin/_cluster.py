"""What AdminClient tells of a cluster."""

from __future__ import annotations

from barnabas.compat.confluent_kafka._model import Node
from barnabas.compat.confluent_kafka.admin._acl import AclOperation
from barnabas.compat.confluent_kafka.admin._operations import operations


class DescribeClusterResult:
    """What `AdminClient.describe_cluster` gives: `cluster_id`, the `controller` and all `nodes` as Node, and
    as `authorized_operations` what this client may do with the cluster, None where that was not asked for."""

    def __init__(
        self,
        controller: Node,
        nodes: list[Node],
        cluster_id: str | None = None,
        authorized_operations: list[str | int | AclOperation] | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.controller = controller
        self.nodes = nodes
        self.authorized_operations = operations(authorized_operations)

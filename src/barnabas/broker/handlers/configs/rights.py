"""What rights the settings of a resource need: on a topic or a group, or else on the cluster.

Owns nothing but that. Knows nothing of settings.
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, ResourceKind
from barnabas.broker.authorization.authorizer import REFUSALS
from barnabas.broker.handlers.api import Call
from barnabas.broker.handlers.configs.config_resources import GROUP, TOPIC

KINDS = {TOPIC: ResourceKind.TOPIC, GROUP: ResourceKind.GROUP}


def require(call: Call, operation: Operation, resource_type: int, name: str) -> None:
    """Raises: the error of the kind of resource unless the client may do that with its settings."""
    kind = KINDS.get(resource_type, ResourceKind.CLUSTER)
    name = CLUSTER_NAME if kind is ResourceKind.CLUSTER else name
    if not call.parts.authorizer.authorize(call, operation, kind, name):
        raise REFUSALS[kind](f"{kind.name.capitalize()} authorization failed.")

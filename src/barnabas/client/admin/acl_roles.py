"""The rules that a producer or a consumer needs, as kafka-acls makes them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from barnabas.client.admin.types import AclOperation, AclResourceType

Resource = tuple[AclResourceType, str]
Needed = Mapping[AclResourceType, tuple[AclOperation, ...]]

CLUSTER: Resource = (AclResourceType.CLUSTER, "kafka-cluster")
OF_PRODUCERS: Needed = {
    AclResourceType.TOPIC: (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE),
    AclResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE, AclOperation.DESCRIBE),
}
OF_CONSUMERS: Needed = {
    AclResourceType.TOPIC: (AclOperation.READ, AclOperation.DESCRIBE),
    AclResourceType.GROUP: (AclOperation.READ,),
}


def operations_needed(
    resources: Sequence[Resource], *, producer: bool, consumer: bool, idempotent: bool
) -> list[tuple[Resource, AclOperation]]:
    """What is allowed on each resource. `idempotent`: on the cluster as well, which old brokers ask for."""
    found = [
        *(_operations(resources, OF_PRODUCERS) if producer else ()),
        *(_operations(resources, OF_CONSUMERS) if consumer else ()),
    ]
    if idempotent:
        found.append((CLUSTER, AclOperation.IDEMPOTENT_WRITE))
    # Both roles may describe topics.
    return list(dict.fromkeys(found))


def _operations(resources: Iterable[Resource], needed: Needed) -> Iterator[tuple[Resource, AclOperation]]:
    for resource in resources:
        for operation in needed.get(resource[0], ()):
            yield resource, operation

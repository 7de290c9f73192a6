"""The rules that a producer or a consumer needs, as kafka-acls makes them of --producer and --consumer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from barnabas.cli.options import UsageError
from barnabas.client.admin.types import AclOperation, AclResourceType

Resource = tuple[AclResourceType, str]

CLUSTER: Resource = (AclResourceType.CLUSTER, "kafka-cluster")
_OF_PRODUCERS = {
    AclResourceType.TOPIC: (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE),
    AclResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE, AclOperation.DESCRIBE),
}
_OF_CONSUMERS = {
    AclResourceType.TOPIC: (AclOperation.READ, AclOperation.DESCRIBE),
    AclResourceType.GROUP: (AclOperation.READ,),
}


def operations_of_roles(
    resources: Sequence[Resource], *, producer: bool, consumer: bool, idempotent: bool
) -> list[tuple[Resource, AclOperation]]:
    """What is allowed on each resource. Raises: UsageError where a role lacks one, or has no use for one."""
    named = {kind for kind, _ in resources}
    if idempotent and not producer:
        raise UsageError("--idempotent is for --producer")
    if AclResourceType.TOPIC not in named:
        raise UsageError("name the topics of the producer or the consumer: --topic")
    if consumer and AclResourceType.GROUP not in named:
        raise UsageError("name the consumer's group as well: --group, or --group '*' for any")
    useful = {*(_OF_PRODUCERS if producer else ()), *(_OF_CONSUMERS if consumer else ())}
    if not named <= useful:
        words = (
            "--topic" + (" and --group" if consumer else "") + (" and --transactional-id" if producer else "")
        )
        raise UsageError(f"of these, only {words} go with --producer or --consumer")
    found = [
        *(_operations(resources, _OF_PRODUCERS) if producer else ()),
        *(_operations(resources, _OF_CONSUMERS) if consumer else ()),
    ]
    if idempotent:
        found.append((CLUSTER, AclOperation.IDEMPOTENT_WRITE))
    # Both roles may describe topics.
    return list(dict.fromkeys(found))


def _operations(
    resources: Iterable[Resource], needed: dict[AclResourceType, tuple[AclOperation, ...]]
) -> Iterator[tuple[Resource, AclOperation]]:
    for resource in resources:
        for operation in needed.get(resource[0], ()):
            yield resource, operation

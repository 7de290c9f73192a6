"""What --producer and --consumer go with."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.cli.options import UsageError
from barnabas.client.admin.acl_roles import OF_CONSUMERS, OF_PRODUCERS, Resource, operations_needed
from barnabas.client.admin.types import AclOperation, AclResourceType


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
    useful = {*(OF_PRODUCERS if producer else ()), *(OF_CONSUMERS if consumer else ())}
    if not named <= useful:
        words = (
            "--topic" + (" and --group" if consumer else "") + (" and --transactional-id" if producer else "")
        )
        raise UsageError(f"of these, only {words} go with --producer or --consumer")
    return operations_needed(resources, producer=producer, consumer=consumer, idempotent=idempotent)

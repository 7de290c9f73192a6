"""`copy --acls`: rules of access of the copied topics, made at the target. Copies no record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.cli.admin.common import word_of
from barnabas.cli.copying.plan import CopyRoute
from barnabas.cli.output import note, plural
from barnabas.client.admin.types import AclBinding, AclBindingFilter, AclResourceType, ResourcePatternType

if TYPE_CHECKING:
    from barnabas import Admin


def rules_of(admin: Admin, planned: Sequence[CopyRoute]) -> list[AclBinding]:
    """Those of the topics by their own names, for the names at the target. Rules for prefixes and for * hold
    for other topics too: a warning counts them. Raises: SecurityDisabledError without an authorizer."""
    found: set[AclBinding] = set()
    wider: set[AclBinding] = set()
    for route in planned:
        wanted = AclBindingFilter(AclResourceType.TOPIC, route.source, pattern_type=ResourcePatternType.MATCH)
        for binding in admin.describe_acls(wanted):
            if binding.pattern_type == ResourcePatternType.LITERAL and binding.resource_name == route.source:
                found.add(replace(binding, resource_name=route.target))
            else:
                wider.add(binding)
    if wider:
        note(
            f"warning: {plural(len(wider), 'rule')} for prefixes or * not copied: barnabas acls list --topic "
            "shows which"
        )
    return sorted(found, key=lambda each: (each.resource_name, each.principal, each.operation))


def make(target: Admin, rules: Sequence[AclBinding]) -> None:
    """One that is there already stays."""
    if rules:
        target.create_acls(rules)
    note(f"{plural(len(rules), 'rule')} of access made at the target")


def rows_of(rules: Sequence[AclBinding]) -> list[dict[str, str]]:
    return [
        {
            "topic": each.resource_name,
            "principal": each.principal,
            "host": each.host,
            "operation": word_of(each.operation),
            "permission": word_of(each.permission_type),
        }
        for each in rules
    ]

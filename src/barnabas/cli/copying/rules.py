"""`copy --acls`: rules of access of the copied topics and groups, made at the target. Copies no record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    return _rules(admin, AclResourceType.TOPIC, {route.source: route.target for route in planned})


def rules_of_groups(admin: Admin, groups: Sequence[str]) -> list[AclBinding]:
    """As for topics. Groups have the same names at the target."""
    return _rules(admin, AclResourceType.GROUP, {name: name for name in groups})


def make(target: Admin, rules: Sequence[AclBinding]) -> None:
    """One that is there already stays."""
    if rules:
        target.create_acls(rules)
    note(f"{plural(len(rules), 'rule')} of access made at the target")


def rows_of(rules: Sequence[AclBinding]) -> list[dict[str, str]]:
    return [
        {
            word_of(each.resource_type): each.resource_name,
            "principal": each.principal,
            "host": each.host,
            "operation": word_of(each.operation),
            "permission": word_of(each.permission_type),
        }
        for each in rules
    ]


def _rules(admin: Admin, kind: AclResourceType, names: Mapping[str, str]) -> list[AclBinding]:
    """`names`: at the target, by those at the source."""
    found: set[AclBinding] = set()
    wider: set[AclBinding] = set()
    for source, target in names.items():
        wanted = AclBindingFilter(kind, source, pattern_type=ResourcePatternType.MATCH)
        for binding in admin.describe_acls(wanted):
            if binding.pattern_type == ResourcePatternType.LITERAL and binding.resource_name == source:
                found.add(replace(binding, resource_name=target))
            else:
                wider.add(binding)
    if wider:
        note(
            f"warning: {plural(len(wider), 'rule')} for prefixes or * not copied: barnabas acls list "
            f"--{word_of(kind)} shows which"
        )
    return sorted(found, key=lambda each: (each.resource_name, each.principal, each.operation))

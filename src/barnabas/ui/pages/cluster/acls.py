"""Rules of access control: found, made one by one or as a producer or a consumer needs them, and removed."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.client.admin.acl_roles import CLUSTER, Resource, operations_needed
from barnabas.client.admin.types import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AclResourceType,
    ResourcePatternType,
)
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.forms import changed
from barnabas.ui.inputs import member_of, told, word_of
from barnabas.ui.rendering import paged, render
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form
from barnabas.wording import counted

KINDS = [word_of(each) for each in AclResourceType if each.name not in ("UNKNOWN", "ANY")]
OPERATIONS = [word_of(each) for each in AclOperation if each.name not in ("UNKNOWN", "ANY")]
ANY_HOST = "*"


async def acls(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    query = request.query_params
    found, problem = await told(access.admin.describe_acls(_filter(query)))
    wanted = query.get("q", "").casefold()
    rows = sorted(
        (rule for rule in found or () if wanted in f"{rule.principal} {rule.resource_name}".casefold()),
        key=lambda rule: (rule.resource_type, rule.resource_name, rule.principal, rule.operation, rule.host),
    )
    return render(
        request,
        "cluster/acls.html",
        title="ACLs",
        tab="acls",
        rows=paged(request, rows),
        kinds=KINDS,
        operations=OPERATIONS,
        word_of=word_of,
        problem_of_page=problem,
    )


async def create(request: Request) -> Response:
    """One rule, or those that a producer or a consumer needs."""
    form = await sent_form(request, Role.ADMIN)
    access: ClusterAccess = request.app.state.access
    principal, host = form.get("principal", "").strip(), form.get("host", "").strip() or ANY_HOST
    if ":" not in principal:
        raise HTTPException(400, f"a principal is like User:alice, not {principal!r}")
    pattern = ResourcePatternType.PREFIXED if form.get("prefixed") == "1" else ResourcePatternType.LITERAL
    if "role" in form:
        permission, what = AclPermissionType.ALLOW, _needed(form)
    else:
        permission = member_of(AclPermissionType, form, "permission")
        what = [(_resource(form), member_of(AclOperation, form, "operation"))]
    rules = [
        AclBinding(
            kind,
            name,
            principal,
            operation,
            permission,
            host,
            # There is one cluster, and its name is never a prefix.
            ResourcePatternType.LITERAL if kind is AclResourceType.CLUSTER else pattern,
        )
        for (kind, name), operation in what
    ]
    said = str(rules[0]) if len(rules) == 1 else f"{counted(len(rules), 'rule')} for {principal}"
    return await changed(
        request,
        access.admin.create_acls(rules),
        "/cluster/acls",
        f"made: {said}",
        renews=False,
    )


async def delete(request: Request) -> Response:
    """Exactly the rule of a row."""
    form = await sent_form(request, Role.ADMIN)
    access: ClusterAccess = request.app.state.access
    rule = AclBinding(
        member_of(AclResourceType, form, "kind"),
        form.get("name", ""),
        form.get("principal", ""),
        member_of(AclOperation, form, "operation"),
        member_of(AclPermissionType, form, "permission"),
        form.get("host", ""),
        member_of(ResourcePatternType, form, "pattern"),
    )
    exact = AclBindingFilter(
        rule.resource_type,
        rule.resource_name,
        rule.principal,
        rule.operation,
        rule.permission_type,
        rule.host,
        rule.pattern_type,
    )
    return await changed(
        request, access.admin.delete_acls([exact]), "/cluster/acls", f"deleted: {rule}", renews=False
    )


def _filter(query: Mapping[str, str]) -> AclBindingFilter:
    """With a resource, the rules that apply to it, by prefix or * as well. Raises: HTTPException (400)."""
    principal = query.get("principal", "").strip() or None
    if not query.get("kind"):
        return AclBindingFilter(principal=principal)
    kind = member_of(AclResourceType, query, "kind")
    name = query.get("name", "").strip() or None
    pattern = ResourcePatternType.ANY if name is None else ResourcePatternType.MATCH
    return AclBindingFilter(kind, name, principal, pattern_type=pattern)


def _resource(form: Mapping[str, str]) -> Resource:
    """Raises: HTTPException (400)."""
    kind = member_of(AclResourceType, form, "kind")
    if kind is AclResourceType.CLUSTER:
        return CLUSTER
    name = form.get("name", "").strip()
    if not name:
        raise HTTPException(400, f"name the {word_of(kind)}, or write * for all")
    return kind, name


def _needed(form: Mapping[str, str]) -> list[tuple[Resource, AclOperation]]:
    """Raises: HTTPException (400)."""
    topic, group, transactional_id = (
        form.get(name, "").strip() for name in ("topic", "group", "transactional_id")
    )
    is_producer, is_consumer = form["role"] in ("producer", "both"), form["role"] in ("consumer", "both")
    if not topic or (is_consumer and not group) or not (is_producer or is_consumer):
        raise HTTPException(400, "name the topic, and for a consumer its group; * for all")
    resources = [(AclResourceType.TOPIC, topic)]
    if group:
        resources.append((AclResourceType.GROUP, group))
    if transactional_id:
        resources.append((AclResourceType.TRANSACTIONAL_ID, transactional_id))
    return operations_needed(resources, producer=is_producer, consumer=is_consumer, idempotent=False)


routes = [
    Route("/cluster/acls", acls),
    Route("/cluster/acls", create, methods=["POST"]),
    Route("/cluster/acls/delete", delete, methods=["POST"]),
]

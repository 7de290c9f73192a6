"""What is the same about two brokers' answers to a request: names, codes, and what is said to who may not.

Texts are compared only where an error is of authorization: others are each broker's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker_errors import BY_CODE, ErrorCode
from barnabas.protocol.schema import ZERO_UUID, MessageType, fields_of

from .stage import Stage, rule

NAMES = {
    "name",
    "topic",
    "topic_name",
    "group_id",
    "key",
    "transactional_id",
    "resource_name",
    "resource_type",
    "partition_index",
    "partition",
    "partition_id",
    "index",
    "cluster_authorized_operations",
    "topic_authorized_operations",
    "authorized_operations",
    "topic_config_error_code",
    "unknown_state_filters",
}
BULK = {"brokers", "nodes", "node_endpoints", "configs", "records", "error_records"}
AUTHORIZATION = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_message(value: Any) -> bool:
    return isinstance(type(value), MessageType)


def facts(value: Any) -> Any:
    """An answer, or part of it, without what no two brokers have in common."""
    if _is_list(value):
        return sorted(map(facts, value), key=str)
    return _facts_of_message(value) if _is_message(value) else value


def _facts_of_message(value: Any) -> list[Any]:
    found: list[Any] = []
    code = getattr(value, "error_code", 0)
    for field in fields_of(type(value)):
        content = getattr(value, field.name)
        if field.name.endswith("error_code"):
            found.append(BY_CODE[content].name if content else "NONE")
        elif field.name == "error_message" and code in AUTHORIZATION:
            found.append(None if content is None else re.sub(r"Request Request\(.*\)", "Request", content))
        elif field.name == "topic_id":
            found.append(content == ZERO_UUID)
        elif field.name in NAMES or (field.name in BULK and content is None):
            found.append(content)
        elif field.name not in BULK and (_is_list(content) or _is_message(content)):
            found.append(facts(content))
    return found


Ask = Callable[[Stage], tuple[Any, int | None]]
"""The request, and its version where that is not the highest."""


Right = tuple[Operation, ResourceKind, str]


async def probe(stage: Stage, label: str, ask: Ask, *needs: Right | list[Right]) -> None:
    """Asks without any right, and with each of `needs` alone; a list is of several together."""

    async def send(with_what: str) -> None:
        request, version = ask(stage)
        stage.tell(label, with_what, facts(await stage.guest(request, version)))

    await send("nothing")
    for need in needs:
        together = need if isinstance(need, list) else [need]
        rules = [rule(*each) for each in together]
        await stage.allow(*rules)
        await send(" and ".join(f"{operation.name} {kind.name}" for operation, kind, _ in together))
        await stage.forbid()

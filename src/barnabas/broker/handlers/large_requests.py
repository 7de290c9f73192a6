"""Requests that ask for very much: they are answered in pieces, between which others have their turn.

Owns which requests can be cut, and how the answers to the pieces become one. Each piece is a request of its
own, so that what is twice in a request, far apart, is dealt with twice. Must not know what a request means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from barnabas.broker.handlers.api import Call
from barnabas.net.server import DisconnectError
from barnabas.protocol.api_key import ApiKey
from barnabas.protocol.measure import has_more_items_than
from barnabas.protocol.schema import Message, Request, Response, fields_of

Handle = Callable[[Call, Any], Awaitable[Response | None]]
Path = Sequence[str]

ITEMS_OF_A_PIECE, LARGE_ITEMS = 200, 500
COSTLY_OF_A_PIECE, COSTLY_LARGE = 10, 50
"""Where each item is a file, or takes as long."""
MOST_ITEMS = 10_000
"""In a request that cannot be cut; no client asks for so much."""

_TOPICS = (("topics", "partitions"), ("topics", "partitions"))
_OF_TOPICS = (("topics", "partition_indexes"), ("topics", "partitions"))
_GROUPS = (("group_ids",), ("groups",))
_RESOURCES = (("resources",), ("responses",))

CUT: Mapping[int, Sequence[tuple[Path, Path]]] = {
    ApiKey.ALTER_CLIENT_QUOTAS: [(("entries",), ("entries",))],
    ApiKey.ALTER_CONFIGS: [_RESOURCES],
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: [(("topics", "partitions"), ("responses", "partitions"))],
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: [(("topics", "partitions"), ("responses", "partitions"))],
    ApiKey.CONSUMER_GROUP_DESCRIBE: [_GROUPS],
    ApiKey.CREATE_ACLS: [(("creations",), ("results",))],
    ApiKey.CREATE_PARTITIONS: [(("topics",), ("results",))],
    ApiKey.CREATE_TOPICS: [(("topics",), ("topics",))],
    ApiKey.DELETE_ACLS: [(("filters",), ("filter_results",))],
    ApiKey.DELETE_GROUPS: [(("groups_names",), ("results",))],
    ApiKey.DELETE_RECORDS: [_TOPICS],
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: [(("topics",), ("responses",))],
    ApiKey.DELETE_TOPICS: [(("topics",), ("responses",)), (("topic_names",), ("responses",))],
    ApiKey.DESCRIBE_CONFIGS: [(("resources",), ("results",))],
    ApiKey.DESCRIBE_GROUPS: [(("groups",), ("groups",))],
    ApiKey.DESCRIBE_PRODUCERS: [_OF_TOPICS],
    ApiKey.DESCRIBE_QUORUM: [_TOPICS],
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: [
        (("groups", "topics", "partitions"), ("groups", "topics", "partitions"))
    ],
    ApiKey.DESCRIBE_TRANSACTIONS: [(("transactional_ids",), ("transaction_states",))],
    ApiKey.ELECT_LEADERS: [
        (("topic_partitions", "partitions"), ("replica_election_results", "partition_result"))
    ],
    ApiKey.FIND_COORDINATOR: [(("coordinator_keys",), ("coordinators",))],
    ApiKey.INCREMENTAL_ALTER_CONFIGS: [_RESOURCES],
    ApiKey.LEAVE_GROUP: [(("members",), ("members",))],
    ApiKey.LIST_OFFSETS: [_TOPICS],
    ApiKey.LIST_PARTITION_REASSIGNMENTS: [_OF_TOPICS],
    ApiKey.METADATA: [(("topics",), ("topics",))],
    ApiKey.OFFSET_COMMIT: [_TOPICS],
    ApiKey.OFFSET_DELETE: [_TOPICS],
    ApiKey.OFFSET_FETCH: [
        (("groups", "topics", "partition_indexes"), ("groups", "topics", "partitions")),
        _OF_TOPICS,
    ],
    ApiKey.OFFSET_FOR_LEADER_EPOCH: [_TOPICS],
    ApiKey.SHARE_GROUP_DESCRIBE: [_GROUPS],
    ApiKey.STREAMS_GROUP_DESCRIBE: [_GROUPS],
    ApiKey.TXN_OFFSET_COMMIT: [_TOPICS],
    ApiKey.WRITE_TXN_MARKERS: [
        (("markers", "topics", "partition_indexes"), ("markers", "topics", "partitions"))
    ],
}
"""By API, which lists of a request can be cut, and which of the answer belong to them."""
COSTLY = frozenset(
    (
        *(ApiKey.ALTER_CLIENT_QUOTAS, ApiKey.ALTER_CONFIGS, ApiKey.CREATE_ACLS, ApiKey.CREATE_PARTITIONS),
        *(ApiKey.DELETE_ACLS, ApiKey.DELETE_GROUPS, ApiKey.DELETE_TOPICS),
        *(ApiKey.DESCRIBE_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.WRITE_TXN_MARKERS),
    )
)


def is_large(request: Request[Any]) -> bool:
    most = COSTLY_LARGE if request.API_KEY in COSTLY else LARGE_ITEMS
    return has_more_items_than(request, most, numbers_of_an_item=1)


async def in_pieces(handle: Handle, call: Call, request: Request[Any]) -> Response | None:
    """The answer to a large request. Raises: DisconnectError for one that is too large and cannot be cut."""
    cuts = [(asked, told) for asked, told in CUT.get(request.API_KEY, ()) if getattr(request, asked[0])]
    if not cuts:
        if has_more_items_than(request, MOST_ITEMS, numbers_of_an_item=1):
            raise DisconnectError(
                f"a {request.NAME} request has more than {MOST_ITEMS} items in its lists: "
                "ask in several requests"
            )
        return await handle(call, request)
    asked, told = cuts[0]
    whole: Response | None = None
    most = COSTLY_OF_A_PIECE if request.API_KEY in COSTLY else ITEMS_OF_A_PIECE
    for piece in pieces(request, asked, most):
        response = await handle(call, piece)
        if response is None or getattr(response, "error_code", 0):
            return response
        if whole is None:
            whole = response
        else:
            join(whole, response, told)
        await asyncio.sleep(0)
    return whole


def pieces(struct: Any, path: Path, most: int) -> Iterator[Any]:
    """Copies of a struct with at most so much of what is in the lists of a path each, all of it together."""
    name, *rest = path
    items = getattr(struct, name)
    taken: list[Any] = []
    weight = 0
    is_cut = False
    for item in items or ():
        for part in pieces(item, rest, most) if rest else (item,):
            more = _weight(part, rest)
            if taken and weight + more > most:
                yield _with(struct, name, taken)
                taken, weight, is_cut = [], 0, True
            taken.append(part)
            weight += more
    yield _with(struct, name, taken) if is_cut or items else struct


def _weight(struct: Any, path: Path) -> int:
    if not path:
        return 1
    name, *rest = path
    return 1 + sum(_weight(item, rest) for item in getattr(struct, name) or ())


def _with(struct: Any, name: str, items: list[Any]) -> Any:
    changed = copy(struct)
    setattr(changed, name, items)
    return changed


def join(whole: Message, more: Message, path: Path) -> None:
    """Adds what is in the lists of a path. Where a struct was cut, both sides have it, with the same beside
    its list."""
    name, *rest = path
    have, new = getattr(whole, name), getattr(more, name)
    if rest and have and new and _is_same(have[-1], new[0], rest[0]):
        join(have[-1], new[0], rest)
        new = new[1:]
    have.extend(new)


def _is_same(one: Any, other: Any, but: str) -> bool:
    cls: Any = one.__class__
    names = [field.name for field in fields_of(cls) if field.name != but]
    return all(getattr(one, name) == getattr(other, name) for name in names)

"""Transactions: which are open, which hang in a partition, and how both are ended."""

from __future__ import annotations

import time
from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.broker_errors import TransactionalIdNotFoundError
from barnabas.client.admin.hanging_transactions import (
    DEFAULT_MINUTES,
    OpenTransaction,
    abort_of,
    open_before,
    unknown_to,
)
from barnabas.errors import BarnabasError
from barnabas.types import TopicPartition
from barnabas.ui.cluster_access import PIECE, ClusterAccess
from barnabas.ui.forms import changed, number
from barnabas.ui.inputs import told
from barnabas.ui.pages.topics import topic_named
from barnabas.ui.rendering import paged, render, segment
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form
from barnabas.ui.succeeding import succeeded

STATES = ("Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Empty")
LONGEST_SEARCH_SECONDS = 20.0


async def transactions(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    query = request.query_params
    state, minutes = query.get("state", ""), number(query, "minutes", 0)
    if state and state not in STATES:
        raise HTTPException(400, f"state: {state!r} is none of {', '.join(STATES)}")
    found, problem = await told(
        access.admin.list_transactions(
            states=[state] if state else (), duration_ms=minutes * 60_000 if minutes > 0 else None
        )
    )
    wanted = query.get("q", "").casefold()
    rows = sorted(
        (each.transactional_id, each.producer_id, each.state, node_id)
        for node_id, listings in (found or {}).items()
        for each in listings
        if wanted in each.transactional_id.casefold()
    )
    return render(
        request,
        "cluster/transactions.html",
        title="Transactions",
        tab="transactions",
        rows=paged(request, rows),
        states=STATES,
        state=state,
        minutes=minutes,
        default_minutes=DEFAULT_MINUTES,
        problem_of_page=problem,
    )


async def transaction(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    name = request.query_params.get("id", "")
    try:
        found = (await access.admin.describe_transactions([name]))[name]
    except TransactionalIdNotFoundError:
        raise HTTPException(404, f"no coordinator knows the transactional id {name!r}") from None
    return render(
        request,
        "cluster/transaction.html",
        title=name,
        tab="transactions",
        shown=found,
        now_ms=time.time() * 1000,
    )


async def fence(request: Request) -> Response:
    """Shuts out the producer that uses the id now, which aborts its transaction."""
    form = await sent_form(request, Role.ADMIN)
    access: ClusterAccess = request.app.state.access
    name = form.get("id", "")

    async def fence_known() -> None:
        # To be fenced, an id that nobody used would be made.
        await access.admin.describe_transactions([name])
        await access.admin.fence_producers([name])

    return await changed(
        request,
        fence_known(),
        f"/cluster/transaction?id={segment(name)}",
        f"the producer of {name} is shut out, and its transaction aborted",
        renews=False,
    )


async def hanging(request: Request) -> Response:
    """Of one topic, or of as many partitions as a search gets to in its time."""
    access: ClusterAccess = request.app.state.access
    query = request.query_params
    topic, minutes = query.get("topic", "").strip(), number(query, "minutes", DEFAULT_MINUTES)
    named = [await topic_named(request, topic)] if topic else (await access.topics.get()).described.values()
    places = [
        TopicPartition(each.name, info.partition)
        for each in named
        for info in each.partitions
        if info.leader >= 0
    ]
    search = HangingSearch(access, time.time() * 1000 - minutes * 60_000)
    _, problem = await told(search.look(places))
    return render(
        request,
        "cluster/hanging.html",
        title="Hanging transactions",
        tab="transactions",
        topic=topic,
        minutes=minutes,
        rows=search.found,
        looked_at=search.looked_at,
        total=len(places),
        problem_of_page=problem,
    )


class HangingSearch:
    """Looks for transactions that hang, as `barnabas transactions find-hanging`: those of which a partition
    has no record since `before_ms`."""

    def __init__(self, access: ClusterAccess, before_ms: float) -> None:
        self._access = access
        self._before_ms = before_ms
        self.found: list[OpenTransaction] = []
        self.looked_at = 0
        """Partitions."""

    async def look(self, partitions: Sequence[TopicPartition]) -> None:
        """Ends by itself: `looked_at` tells how far it came. Raises: BarnabasError."""
        ends_at = time.monotonic() + LONGEST_SEARCH_SECONDS
        for begin in range(0, len(partitions), PIECE):
            if time.monotonic() > ends_at:
                return
            piece = partitions[begin : begin + PIECE]
            self.found += await self._hanging(piece)
            self.looked_at += len(piece)

    async def _hanging(self, partitions: Sequence[TopicPartition]) -> list[OpenTransaction]:
        admin = self._access.admin
        open_ones = open_before(self._before_ms, await succeeded(admin.describe_producers(partitions)))
        if not open_ones:
            return []
        listed = await admin.list_transactions(producer_ids={each.producer_id for _, each in open_ones})
        names = [each.transactional_id for listings in listed.values() for each in listings]
        described = await succeeded(admin.describe_transactions(names)) if names else {}
        return unknown_to(described.values(), open_ones)


async def abort(request: Request) -> Response:
    """A transaction that hangs in one partition, by the offset at which it begins."""
    form = await sent_form(request, Role.ADMIN)
    access: ClusterAccess = request.app.state.access
    partition = TopicPartition(form.get("topic", ""), number(form, "partition", -1))
    start = number(form, "start_offset", -1)

    async def abort_it() -> None:
        states = (await access.admin.describe_producers([partition]))[partition]
        found = [each for each in states if each.current_transaction_start_offset == start]
        if not found:
            raise BarnabasError(f"no transaction begins at offset {start} of {partition}")
        await access.admin.abort_transaction(abort_of(partition, found[0]))

    return await changed(
        request,
        abort_it(),
        f"/cluster/transactions/hanging?topic={segment(partition.topic)}",
        f"the transaction from offset {start} of {partition} is aborted",
        renews=False,
    )


routes = [
    Route("/cluster/transactions", transactions),
    Route("/cluster/transactions/hanging", hanging),
    Route("/cluster/transactions/abort", abort, methods=["POST"]),
    Route("/cluster/transaction", transaction),
    Route("/cluster/transaction/fence", fence, methods=["POST"]),
]

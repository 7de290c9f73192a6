"""How many members the groups of a list have.

ListGroups has no members, and a cluster may have thousands of groups: coordinators are asked for those that
are shown. Owns the answers with their age, and the task that asks.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping

from barnabas import background
from barnabas.aio import Admin
from barnabas.errors import BarnabasError
from barnabas.ui.figures import GroupSummary
from barnabas.ui.groups.members import NO_MEMBERS, Way, describe, way_of
from barnabas.ui.kept import PATIENCE_SECONDS
from barnabas.ui.succeeding import succeeded


class MemberCounts:
    """Belongs to the event loop. What is older than `fresh_seconds` is asked for anew."""

    def __init__(self, admin: Admin, fresh_seconds: float) -> None:
        self._admin = admin
        self._fresh_seconds = fresh_seconds
        self._known: dict[str, tuple[float, int]] = {}
        """By group id, with when it was asked for."""
        self._asking: asyncio.Task[None] | None = None

    async def look(self, groups: Iterable[GroupSummary]) -> Mapping[str, int]:
        """Of these groups, without those whose coordinators have not told yet. Waits a moment for them."""
        shown = list(groups)
        now = time.monotonic()
        old = [
            group
            for group in shown
            if group.state not in NO_MEMBERS
            and now - self._known.get(group.group_id, (-self._fresh_seconds, 0))[0] >= self._fresh_seconds
        ]
        if old and (self._asking is None or self._asking.done()):
            self._asking = background.start(self._ask(old, now), what="the page's asking for members")
        if self._asking is not None:
            await asyncio.wait({self._asking}, timeout=PATIENCE_SECONDS)
        found: dict[str, int] = {}
        for group in shown:
            if group.state in NO_MEMBERS:
                found[group.group_id] = 0
            elif group.group_id in self._known:
                found[group.group_id] = self._known[group.group_id][1]
        return found

    async def close(self) -> None:
        """Ends what is being asked."""
        if self._asking is not None:
            self._asking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._asking

    async def _ask(self, groups: list[GroupSummary], now: float) -> None:
        by_way: dict[Way, list[str]] = defaultdict(list)
        for group in groups:
            by_way[way_of(group)].append(group.group_id)
        found: dict[str, tuple[float, int]] = {}
        for way, group_ids in by_way.items():
            # Without an answer the list has no number; the group's own page has the error.
            with contextlib.suppress(BarnabasError):
                described = await succeeded(describe(self._admin, way, group_ids))
                found |= {group_id: (now, len(group.members)) for group_id, group in described.items()}
        kept = {i: known for i, known in self._known.items() if now - known[0] < 2 * self._fresh_seconds}
        self._known = kept | found

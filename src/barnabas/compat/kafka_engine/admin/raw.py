"""Requests that programs make from the structs of `kafka.protocol` themselves, in whichever version these
are."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka_engine.admin.session import BrokerSession
from barnabas.compat.kafka_engine.wire.translation import answer_to, core_of


async def exchange(session: BrokerSession, request: Any, node_id: int | None) -> Any:
    """The answer to an object with API_KEY, API_VERSION, RESPONSE_TYPE and `encode()`, in that version also
    where brokers speak only newer ones."""
    answer = await session.ask(core_of(request), node_id, max_version=request.API_VERSION)
    return answer_to(request, answer.message)

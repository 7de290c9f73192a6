"""Requests that programs make from the structs of `kafka.protocol` themselves, in whichever version these
are."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka_python.administer.session import BrokerSession
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.registry import REQUESTS


async def exchange(session: BrokerSession, request: Any, node_id: int | None) -> Any:
    """The answer to an object with API_KEY, API_VERSION, RESPONSE_TYPE and `encode()`, in that version also
    where brokers speak only newer ones."""
    version = request.API_VERSION
    sent = decode(REQUESTS[request.API_KEY], version, request.encode())
    answer = await session.ask(sent, node_id, max_version=version)
    return request.RESPONSE_TYPE.decode(encode(answer.message, version))

"""A producer of asyncio's whose event loop ends before it was closed says what is lost."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

PROGRAM = """
import asyncio, logging, sys
from barnabas import aio

logging.basicConfig(level=logging.ERROR, format="%(message)s")

async def main():
    {producer} = aio.Producer(sys.argv[1], client_id="mine", linger_ms=60_000)
    for _ in range(10):
        await producer.send(sys.argv[2], b"v")
    {end}

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("producer", "end", "said"),
    [
        ("producer", "pass", "client mine: the producer was not closed, and 10 records were not delivered"),
        ("global producer; producer", "pass", "client mine: the producer was not closed, and 10 records"),
        ("producer", "await producer.close()", ""),
    ],
    ids=["local", "global", "closed"],
)
def test_records_that_an_unclosed_producer_loses_are_an_error_in_the_log(
    embedded_broker: Any, make_topic: Any, producer: str, end: str, said: str
) -> None:
    topic = make_topic(embedded_broker)
    code = PROGRAM.format(producer=producer, end=end)
    command = [sys.executable, "-W", "ignore", "-c", code, embedded_broker.bootstrap, topic]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    assert ended.stderr.startswith(said)
    assert bool(ended.stderr) == bool(said)

"""The replay at a multiple of real time, with the queries running beside it until Ctrl-C.

Owns the beginning and the orderly end of the three things that run at once.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from examples.flights.pipeline import Pipeline
from pyspark.sql.streaming import StreamingQuery

REFRESH_SECONDS = 0.3
DELAYS_TRIGGER_SECONDS = 2.0
ARCHIVE_TRIGGER_SECONDS = 20.0
STOP_TIMEOUT_SECONDS = 60.0

# Of real time that records may reach Spark out of order: some ticks of the loader and a slow delivery.
DISORDER_SECONDS = 5.0


def until_interrupted(
    pipeline: Pipeline,
    replay: Callable[[threading.Event], object],
    on_refresh: Callable[[StreamingQuery], object],
) -> None:
    """Runs `replay`, which must return soon after its event is set, and both queries, until Ctrl-C.

    Then ends the replay, lets the micro-batch under way finish, and archives what was written. A second
    Ctrl-C interrupts that. Raises: what the replay or a query raised.
    """
    stopped = threading.Event()
    with _first_interrupt_sets(stopped), ThreadPoolExecutor(1) as pool:
        delays = pipeline.start_delays(DELAYS_TRIGGER_SECONDS)
        archive = pipeline.start_archive(ARCHIVE_TRIGGER_SECONDS)
        replaying = pool.submit(replay, stopped)
        try:
            while not stopped.wait(REFRESH_SECONDS):
                _raise_failure(replaying, delays, archive)
                on_refresh(delays)
        finally:
            stopped.set()
        replaying.result()
        _finish_batch(delays)
        on_refresh(delays)
        delays.stop()
        archive.stop()
        pipeline.start_archive().awaitTermination(STOP_TIMEOUT_SECONDS)


def _raise_failure(replaying: Future[Any], *queries: StreamingQuery) -> None:
    if replaying.done():
        replaying.result()
    for query in queries:
        error = query.exception()
        if error is not None:
            raise error


def _finish_batch(query: StreamingQuery) -> None:
    deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
    while query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(REFRESH_SECONDS)


@contextmanager
def _first_interrupt_sets(stopped: threading.Event) -> Iterator[None]:
    def interrupted(number: int, frame: object) -> None:
        stopped.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

"""What a process holds, to compare before and after many batches.

All objects of ours in the process count, so `in_a_process_of_its_own` keeps those of other tests out of it.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

from barnabas.spark.planning import offsets

P = ParamSpec("P")
T = TypeVar("T")
LOOKS, BETWEEN_LOOKS_SECONDS = 10, 0.1


@dataclass
class Held:
    """By this process."""

    threads: int
    files: int
    objects: int
    by_type: Counter[str]

    @classmethod
    def at_rest(cls) -> Held:
        """The least of some looks: a request that is under way is held until its answer has come."""
        looks = [cls._now()]
        for _ in range(LOOKS - 1):
            time.sleep(BETWEEN_LOOKS_SECONDS)
            looks.append(cls._now())
        return min(looks, key=lambda look: (look.objects, look.files))

    @classmethod
    def _now(cls) -> Held:
        # These hold as many ids as they may, and no more.
        offsets._topic_id.cache_clear()
        offsets._id_text.cache_clear()
        gc.collect()
        # Timers that were cancelled wait in the loop's heap for their time: asyncio's own do not count.
        by_type = Counter(
            type(each).__name__
            for each in gc.get_objects()
            # Of a class that is being made it is no text yet.
            if str(type(each).__module__).startswith("barnabas")
        )
        return cls(threading.active_count(), len(os.listdir("/proc/self/fd")), by_type.total(), by_type)


def in_a_process_of_its_own(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What the function returns there. It is a module's function; arguments and result can be pickled.

    Raises: what the function raises.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(function, *args, **kwargs).result()

"""What calls of Spark's spare the process of PySpark's that they come to, and the calls after them.

Owns which of such a process's calls is its first of a kind, and which its second. Must not know what they do.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter

DAEMON = "pyspark.daemon"


class _Calls:
    """Those that have come to one process, by their kinds."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.kinds = Counter[str]()


_calls = _Calls()


def begin_call(kind: str) -> None:
    """To be called once for each task, and wherever else Spark has one of its processes call us. Does nothing
    in processes that PySpark's daemon has not forked.

    After each call the daemon's processes collect garbage, for which Python looks at all that was imported:
    some 45 ms of processor time, and a call that comes meanwhile waits. What the first call of a kind has
    imported, and everything else that has survived the collection after it, is there for good: the second one
    takes it out of the later ones. No further one does, as it would keep what only seems to stay.
    """
    global _calls
    if not _is_forked_by_daemon():
        return
    if _calls.process != os.getpid():
        _calls = _Calls()
    _calls.kinds[kind] += 1
    if _calls.kinds[kind] == 2:
        gc.freeze()


def begin_task(kind: str) -> None:
    """`begin_call` of a task, before it connects to brokers: a worker's first one has what comes from Spark
    acknowledged at once."""
    begin_call(kind)
    if _calls.kinds.total() == 1 and sys.platform == "linux":
        from barnabas.spark.acknowledgements import acknowledge_spark_at_once

        acknowledge_spark_at_once()


def _is_forked_by_daemon() -> bool:
    """`spark.python.daemon.module` may be another one, which then imports PySpark's."""
    main = getattr(sys.modules["__main__"], "__spec__", None)
    return DAEMON in sys.modules or (main is not None and main.name == DAEMON)

"""The process in which expressions in JSONata are evaluated. The operating system bounds its time and memory,
also within one step of a library.

It reads requests from its standard input and answers on its standard output. It ends when its input ends, or
when an expression takes too long.
"""

# jsonata-python has hardly any types.
# pyright: basic

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import sys
from typing import IO, Any

LENGTH_BYTES = 8
MOST_BYTES = 1024 * 1024 * 1024
"""Of address space, more than it has before the first expression."""
REMEMBERED_EXPRESSIONS = 1000
TOO_LONG = -signal.SIGALRM if hasattr(signal, "SIGALRM") else 1
"""The exit status where an expression took too long."""


def main() -> None:
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What a library prints is no answer. Ctrl-C is for the process that started this one.
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from barnabas.registry.rules import jsonata_bounds

    _bound_memory()
    known: dict[Any, Any] = {}
    while (request := _read(requests)) is not None:
        _end_in(_seconds(request))
        answer = _answer(request, known, jsonata_bounds.compiled)
        _end_in(0)
        write(answers, answer)


def _end_in(seconds: float) -> None:
    """Ends the process then, also while it is in C. 0: never."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    elif seconds:
        faulthandler.dump_traceback_later(seconds, exit=True)
    else:
        faulthandler.cancel_dump_traceback_later()


def write(stream: IO[bytes], data: bytes) -> None:
    stream.write(len(data).to_bytes(LENGTH_BYTES, "big"))
    stream.write(data)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes | None:
    head = stream.read(LENGTH_BYTES)
    return stream.read(int.from_bytes(head, "big")) if len(head) == LENGTH_BYTES else None


def _seconds(request: bytes) -> float:
    return max(int.from_bytes(request[:LENGTH_BYTES], "big") / 1000, 0.001)


def _answer(request: bytes, known: dict[Any, Any], compiled: Any) -> bytes:
    """`request`: milliseconds, then a pickled pair of expression and message. The answer is a pickled pair:
    whether it failed, and the result, or the reason."""
    try:
        expression, message = pickle.loads(memoryview(request)[LENGTH_BYTES:])
        program = known.get(expression)
        if program is None:
            program = compiled(expression)
            if len(known) >= REMEMBERED_EXPRESSIONS:
                known.clear()
            known[expression] = program
        return pickle.dumps((False, program.evaluate(message)))
    except RecursionError:
        return pickle.dumps((True, "goes too deep"))
    except MemoryError:
        return pickle.dumps((True, f"needs more than {MOST_BYTES} bytes"))
    except Exception as error:
        return pickle.dumps((True, f"failed: {error}"))


def _bound_memory() -> None:
    try:
        import resource
    except ImportError:
        # Windows has none.
        return
    try:
        with open("/proc/self/statm") as pages:
            most = int(pages.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") + MOST_BYTES
    except OSError:
        most = 2 * MOST_BYTES
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == -1 else min(most, hard), hard))

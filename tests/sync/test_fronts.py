"""The clients for plain calls and those for asyncio are the same, but for what is said here."""

from __future__ import annotations

import inspect
import re
from types import EllipsisType
from typing import Any

import pytest

import barnabas
from barnabas import aio

FRONTS = ["Admin", "Consumer", "ParallelConsumer", "Producer", "ShareConsumer"]

# What sync.Producer asks of the core, which is the asyncio Producer itself.
OF_THE_CORE = {
    "Producer": {
        "abort_after_error",
        "append_later",
        "append_now",
        "check_may_send",
        "check_usable",
        "close_unattended",
        "delivered_batches",
        "give_up",
        "fail_leftovers",
        "find_topic",
        "hurry",
        "producer_identity",
        "relax",
        "search_for_partition",
        "transactions",
        "unfinished",
        "wait_for_metadata",
        "wait_for_partition_count",
        "wait_for_room",
        "waits_for",
    }
}
OF_PLAIN_CALLS = {"Producer": {"forked"}}

# Where the kernel has the call, its signature has no types.
IN_THE_KERNEL = {("Producer", "send")}

ON_A_LOOP = "Made on a running event loop; used with `async with`, or closed by `close`."
ITERABLE_ON_A_LOOP = (
    "Made on a running event loop; used with `async with` and `async for`, or closed by `close`. "
    "For one coroutine at a time"
)
ITERABLE = "A context manager, and an iterable of records. For one thread at a time"

# What the documentation for asyncio says, and what it says for plain calls instead.
OTHER_WORDS: dict[tuple[str, str], list[tuple[str, str]]] = {
    ("Admin", "__doc__"): [
        (
            ON_A_LOOP,
            "Used with `with`, or closed by `close`; all threads may share one. "
            "Its calls are those of `barnabas.aio.Admin`, without `await`.",
        )
    ],
    ("Consumer", "__doc__"): [
        (ITERABLE_ON_A_LOOP, ITERABLE),
        ("table.ConsumerConfig`.", "table.ConsumerConfig`. `barnabas.aio.Consumer` is the same for asyncio."),
    ],
    ("Consumer", "subscribe"): [
        (
            "they run, or are awaited, inside of `poll` and `close`.",
            "they run inside of `poll` and `close`, in the caller's thread.",
        )
    ],
    ("ParallelConsumer", "__doc__"): [
        (
            "Has a coroutine function handle records side by side,",
            "Has a function handle records side by side in threads,",
        ),
        (
            "`handler(record)` is awaited for each record, for up to `max_concurrency` at a time.",
            "`handler(record)` is called for each record, in up to `max_concurrency` threads.",
        ),
        ("`on_failure(record, error)` is awaited", "`on_failure(record, error)` is called"),
        (
            "`drain_timeout_ms`, then they are cancelled. With partitions that are lost already they are "
            "cancelled at once.",
            "`drain_timeout_ms`. A thread cannot be ended: one that takes longer runs on, and its record is "
            "handled again elsewhere.",
        ),
        (
            "auto_commit_interval_ms. Raises",
            "auto_commit_interval_ms. `barnabas.aio.ParallelConsumer` is the same for coroutines. Raises",
        ),
    ],
    ("ParallelConsumer", "stop"): [("Any thread.", "Any thread, handlers' too.")],
    ("Producer", "__doc__"): [
        (ON_A_LOOP, "Used with `with`, or closed by `close`; all threads may share one."),
        (
            "table.ProducerConfig`.",
            "table.ProducerConfig`. A producer that was dropped without `close` delivers what it took in the "
            "background, and the end of the interpreter waits for that, within delivery_timeout_ms; what is "
            "not delivered is an error in the log. After Ctrl-C that, and a `close` without `timeout`, take "
            "only for as long as records go out, a few seconds at most.",
        ),
        (
            "shows at the first call.",
            "shows at the first call. In the child of a fork every call but `close` raises ClosedError: make "
            "a new Producer there.",
        ),
    ],
    ("Producer", "send"): [
        (
            "await the Delivery for the RecordMetadata, or the error, of the record.",
            "`result()` of the Delivery gives its RecordMetadata, or raises its error.",
        ),
        (
            "is called on the event loop.",
            "is called on the thread that does the network's work, which it holds up: it should be quick, "
            "and may send but not wait.",
        ),
    ],
    ("Producer", "transaction"): [("`async with", "`with")],
    ("ShareConsumer", "__doc__"): [
        (ITERABLE_ON_A_LOOP, ITERABLE),
        ("Kafka 4.1 or later.", "Kafka 4.1 or later. `barnabas.aio.ShareConsumer` is the same for asyncio."),
    ],
}


def names_of(front: type) -> set[str]:
    special = {"__iter__", "__aiter__"}
    found = {name for name in dir(front) if not name.startswith("_") or name in special}
    return {name.replace("__aiter__", "__iter__") for name in found}


COMMON = [
    (front, name)
    for front in FRONTS
    for name in sorted(names_of(getattr(barnabas, front)) & names_of(getattr(aio, front)) | {"__init__"})
]


def both(front: str, name: str) -> tuple[Any, Any]:
    """The same thing for plain calls, and for asyncio."""
    for_asyncio = "__aiter__" if name == "__iter__" else name
    return (
        inspect.getattr_static(getattr(barnabas, front), name),
        inspect.getattr_static(getattr(aio, front), for_asyncio),
    )


def parameters_of(call: Any, *, with_types: bool) -> list[tuple[str, Any, Any, str | EllipsisType]]:
    return [
        (
            parameter.name,
            # The kernel's calls take themselves by position alone.
            None if parameter.name == "self" else parameter.kind,
            parameter.default,
            waited_for(str(parameter.annotation)) if with_types else ...,
        )
        for parameter in inspect.signature(call).parameters.values()
    ]


def waited_for(annotation: str) -> str:
    """What is left of a type for callers who wait."""
    return re.sub(r"\bAwaitable\[(\w+)\]", r"\1", annotation).replace("Async", "")


def words(text: str | None) -> str:
    return " ".join((text or "").split())


@pytest.mark.parametrize("front", FRONTS)
def test_both_have_the_same_calls(front: str) -> None:
    plain = names_of(getattr(barnabas, front)) - OF_PLAIN_CALLS.get(front, set())
    of_asyncio = names_of(getattr(aio, front)) - OF_THE_CORE.get(front, set())
    assert plain == of_asyncio


@pytest.mark.parametrize(("front", "name"), COMMON)
def test_both_take_and_give_the_same(front: str, name: str) -> None:
    plain, of_asyncio = both(front, name)
    assert isinstance(plain, property) == isinstance(of_asyncio, property)
    if isinstance(plain, property):
        plain, of_asyncio = plain.fget, of_asyncio.fget
    with_types = (front, name) not in IN_THE_KERNEL
    assert parameters_of(plain, with_types=with_types) == parameters_of(of_asyncio, with_types=with_types)
    if with_types:
        given = inspect.signature(plain).return_annotation
        assert given == waited_for(str(inspect.signature(of_asyncio).return_annotation))


@pytest.mark.parametrize(("front", "name"), [*COMMON, *((front, "__doc__") for front in FRONTS)])
def test_both_are_documented_in_the_same_words(front: str, name: str) -> None:
    if name == "__doc__":
        plain, of_asyncio = words(getattr(barnabas, front).__doc__), words(getattr(aio, front).__doc__)
    else:
        plain, of_asyncio = (words(call.__doc__) for call in both(front, name))
    for old, new in OTHER_WORDS.get((front, name), []):
        assert old in of_asyncio
        of_asyncio = of_asyncio.replace(old, new)
    assert plain == of_asyncio

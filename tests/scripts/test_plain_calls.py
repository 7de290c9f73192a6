"""The generator of the clients for plain calls: what it makes of a client for asyncio, and what it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

import plain_calls
from plain_source import Words

AWAITED = '''\
"""A client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable


class Client:
    """Counts. For one event loop, on which it
    is made."""

    def __init__(self, start: int = 1) -> None:
        self._core = object()

    async def ask(self, *, timeout: float = 2.0) -> int:
        """Asks the core."""
        # Why it is looked at first.
        self._check()
        return await self._core.ask(timeout)

    def tell(self, number: int) -> None:
        """Tells the core."""
        self._core.tell(number)

    async def close(self, timeout: float | None = None) -> None:
        """Closes within `timeout` seconds."""
        await self._core.close(timeout)

    async def __aiter__(self) -> AsyncIterator[int]:
        """Numbers without end."""
        while True:
            yield await self.ask()

    async def handle(self, handler: Callable[[int], Awaitable[object]]) -> None:
        """`handler` is awaited."""
        async with self._lock:
            async for number in self:
                await handler(number)
'''
BY_HAND = '''\
"""A client for plain calls."""

from __future__ import annotations


class Client(OnLoopThread):
    """Old words."""

    def __init__(self) -> None:
        # What it has.
        self._core = object()

    def close(self) -> None:
        """Old words."""
        self._end()

    # From here on made by codegen/plain_calls.py, of barnabas/awaited.py

    def ask(self) -> str:
        """Old words."""
'''
PLAIN = '''\
"""A client for plain calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator


class Client(OnLoopThread):
    """Counts. For all threads."""

    def __init__(self, start: int = 1) -> None:
        # What it has.
        self._core = object()

    def close(self, timeout: float | None = None) -> None:
        """Closes within `timeout` seconds."""
        self._end()

    # From here on made by codegen/plain_calls.py, of barnabas/awaited.py

    def ask(self, *, timeout: float = 2.0) -> int:
        """Asks the core."""
        # Why it is looked at first.
        self._check()
        return self._run(self._core.ask(timeout))

    def tell(self, number: int) -> None:
        """Tells the core."""
        self._on_loop(self._core.tell, number)

    def __iter__(self) -> Iterator[int]:
        """Numbers without end."""
        while True:
            yield self.ask()

    def handle(self, handler: Callable[[int], object]) -> None:
        """`handler` is called."""
        with self._lock:
            for number in self:
                handler(number)
'''


@pytest.fixture
def words() -> Words:
    return Words(plain_calls.WORDS)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(plain_calls, "PACKAGE", tmp_path)
    (tmp_path / "awaited.py").write_text(AWAITED)
    (tmp_path / "plain.py").write_text(BY_HAND)
    return tmp_path


def made(client: plain_calls.Client, words: Words) -> str:
    return plain_calls.checked_by_ruff(Path("plain.py"), plain_calls.PlainClient(client, words).text())


def test_a_body_by_hand_stays_and_all_other_calls_are_made(package: Path, words: Words) -> None:
    client = plain_calls.Client("Client", "awaited.py", "plain.py")
    assert made(client, words) == PLAIN
    (package / "plain.py").write_text(PLAIN)
    assert made(client, words) == PLAIN


def test_a_client_that_has_one_for_asyncio_asks_it(package: Path, words: Words) -> None:
    client = plain_calls.Client("Client", "awaited.py", "plain.py", core_is_source=True)
    text = made(client, words)
    assert "        return self._run(self._core.ask(timeout=timeout))\n" in text
    assert "        self._on_loop(self._core.tell, number)\n" in text


def test_a_call_of_plain_clients_alone_is_told(package: Path, words: Words) -> None:
    (package / "plain.py").write_text(BY_HAND.replace("def close", "def shut"))
    client = plain_calls.Client("Client", "awaited.py", "plain.py", left_out=frozenset({"gone"}))
    stubs = plain_calls.Source("")
    assert [*plain_calls.PlainClient(client, words).problems(stubs)] == [
        "plain.py: shut is not in awaited.py",
        "codegen/plain_calls.py: awaited.py has no gone to leave out",
    ]


def test_a_phrase_that_nothing_says_any_more_is_told() -> None:
    words = Words([("is awaited", "is called"), ("at dawn", "at noon")])
    assert words.said('"""It is\n    awaited."""', 4) == '"""It is called."""'
    assert words.unused() == ["at dawn"]


def test_a_module_is_made_with_other_names(package: Path, words: Words) -> None:
    module = plain_calls.Module("awaited.py", "plain.py", names=[(r"\bClient\b", "PlainClient")])
    text = plain_calls.checked_by_ruff(Path("plain.py"), module.text(words))
    assert text.startswith("# Made by codegen/plain_calls.py, of\n# barnabas/awaited.py\n")
    assert "class PlainClient:" in text
    assert "        return self._core.ask(timeout)\n" in text

"""What the README and the pages of docs/ show is run as it stands there; pages on Spark: tests/spark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sybil import Sybil
from tests.docs.page_examples import (
    PAGES,
    PageRunner,
    dialogue,
    examples_of,
    is_like,
    name,
    needs_spark,
    pages_with_examples,
)

from barnabas.testing import EmbeddedBroker, EmbeddedRegistry

WITHOUT_SPARK = [page for page in pages_with_examples() if not needs_spark(page)]


@pytest.fixture
def registry() -> Iterator[EmbeddedRegistry]:
    """One for each page: pages may register the same subject."""
    with EmbeddedRegistry() as registry:
        yield registry


@pytest.mark.parametrize("page", WITHOUT_SPARK, ids=name)
def test_the_examples_of_a_page_run(
    page: Path, registry: EmbeddedRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with EmbeddedBroker(storage="memory") as broker:
        PageRunner(broker, registry, tmp_path).run(page)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_blocks_are_fenced_and_say_what_they_are(page: Path) -> None:
    bare = re.findall(r"(?<=\n\n)(?:```|~~~)\n(?!\n)", page.read_text())
    assert bare == []


def test_what_is_not_run_says_why() -> None:
    reasons = {
        f"{name(page)}: {reason}"
        for page in PAGES
        for _, reason in examples_of(Sybil([]).parse(page))
        if reason is not None
    }
    assert all(len(reason.split()) >= 5 for reason in reasons)
    assert len(reasons) <= 30


@pytest.mark.parametrize(
    ("expected", "printed", "like"),
    [
        ("1 record\n", "1 record\n", True),
        ("1 record\n", "2 records\n", False),
        ("TOPIC  LAG\nflights  1\n", "TOPIC      LAG\nflights      1\n", True),
        ("TOPIC  LAG\n...\n", "TOPIC  LAG\nflights  1\nb  2\n", True),
        ('{"offset": ..., "key": "a"}\n', '{"offset": 17, "key": "a"}\n', True),
        ('{"offset": ..., "key": "a"}\n', '{"offset": 17, "key": "b"}\n', False),
        ("", "", True),
        ("", "error: no such topic\n", False),
    ],
)
def test_what_is_printed_is_held_against_the_page(expected: str, printed: str, like: bool) -> None:
    assert is_like(expected, printed) is like


def test_a_dialogue_is_taken_apart_by_its_prompts() -> None:
    block = "$ barnabas produce a \\\n    --key-separator :    # keys\n1 record sent to a\n$ true\n"
    assert list(dialogue(block)) == [
        ("barnabas produce a --key-separator :", "1 record sent to a\n"),
        ("true", ""),
    ]

"""Tests of a few lines, in which the check of time is to find what sleeps or goes by a clock, and no more."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
from scripts.check_time_in_tests import problems


def found(tests: Path, body: str, *, name: str = "test_a.py") -> list[str]:
    """What is said of a test with this body, without where to read about it."""
    source = "import asyncio\nimport time\n\n\nasync def test_it():\n" + indent(body, "    ")
    return found_in(tests, **{name: source})


def found_in(tests: Path, **sources: str) -> list[str]:
    for name, source in sources.items():
        path = tests / "tests" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(source)
    return [line for line in problems(tests) if not line.startswith("Wait for what")]


@pytest.mark.parametrize(
    "sleep",
    [
        "time.sleep(0.1)",
        "await asyncio.sleep(1)",
        "await sleep(seconds)",
        "gevent.sleep(0.05)",
        "stage.until(is_so, lambda: time.sleep(0.01))",
        "await asyncio.to_thread(time.sleep, 1)",
    ],
)
def test_a_sleep_is_found_whatever_way_it_is_written(tmp_path: Path, sleep: str) -> None:
    (line,) = found(tmp_path, f"while True:\n    {sleep}\n")
    assert line.startswith("tests/test_a.py:7 test_it sleeps: ")


@pytest.mark.parametrize(
    "code",
    [
        "await asyncio.sleep(0)",
        "time.sleep(0)",
        "program('time.sleep(5)')",
        "monkeypatch.setattr(time, 'sleep', f)",
    ],
)
def test_giving_way_and_programs_in_strings_are_no_sleep(tmp_path: Path, code: str) -> None:
    assert found(tmp_path, code) == []


@pytest.mark.parametrize(
    "body",
    [
        "assert time.monotonic() < deadline",
        "began = time.perf_counter()\nwork()\nassert time.perf_counter() - began < 5",
        "began = time.monotonic()\ntook = round(time.monotonic() - began, 1)\nassert 1 < took < 2, took",
        "began = loop.time()\nassert asyncio.get_running_loop().time() > began",
        "assert all(gap > 1 for gap in [time.time() - before for before in told])",
        "at = []\nat.append(time.monotonic())\nassert at[1] - at[0] >= 0.25",
        "at = []\ndef note():\n    at.append(time.monotonic())\nnote()\nassert at[1] - at[0] >= 0.25",
        "def spent():\n    return time.monotonic() - began\nassert spent() < 3",
        "async def main():\n    return time.monotonic() - began\nassert asyncio.run(main()) < 3",
        "sent_ms = int(time.time() * 1000)\nassert message.timestamp >= sent_ms",
        "now = datetime.now()\nassert (now - record.at).total_seconds() < 5",
        "now = CLOCK.monotonic()\nassert now < 3",
        "if time.monotonic() > deadline:\n    pytest.fail('too late')",
        "while time.monotonic() < deadline:\n    look()\nelse:\n    raise TimeoutError",
    ],
)
def test_what_is_decided_by_a_clock_is_found_through_what_carries_the_time(tmp_path: Path, body: str) -> None:
    (line,) = found(tmp_path, body)
    assert " test_it asserts on time: " in line or " test_it fails by time: " in line


@pytest.mark.parametrize(
    "body",
    [
        "now = time.monotonic()\nwindow.add(now - 61, 5)\nassert window.stats().count == 0",
        "client.wait(time.monotonic() + 60)\nassert client.is_there",
        "name = f'topic-{time.monotonic_ns()}'\nassert name in client.topics",
        "assert eventually(lambda: time.monotonic() > 5)",
        "message = Message(timestamp=time.time())\nassert message.value == b'v'",
        "assert record.time() == 5",
        "deadline = time.monotonic() + 60\nwhile time.monotonic() < deadline:\n    work()",
    ],
)
def test_a_time_that_is_only_handed_on_is_none_of_its_business(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, body) == []


def test_a_function_of_another_file_that_tells_the_time_is_known(tmp_path: Path) -> None:
    helper = "import time\n\n\ndef since(began):\n    return time.monotonic() - began\n"
    test = "from tests.helper import since\n\n\ndef test_it():\n    assert since(0) < 5\n"
    assert found_in(tmp_path, **{"helper.py": helper, "test_a.py": test}) == [
        "tests/test_a.py:5 test_it asserts on time: since(0) < 5"
    ]


def test_what_an_object_notes_of_the_time_is_known_in_its_file(tmp_path: Path) -> None:
    source = """import time


class Notes:
    def __init__(self):
        self.asked = []

    def ask(self):
        self.asked.append(time.monotonic())


def test_it():
    notes = Notes()
    first, second = notes.asked
    assert second - first < 3
    assert len(notes.asked) == 2
"""
    assert found_in(tmp_path, **{"test_a.py": source}) == [
        "tests/test_a.py:15 test_it asserts on time: second - first < 3"
    ]


def test_the_one_helper_that_waits_may(tmp_path: Path) -> None:
    body = "while time.monotonic() < end:\n    time.sleep(0.01)\nassert time.monotonic() < end"
    assert found(tmp_path, body, name="waiting.py") == []


def test_chaos_may_take_its_time(tmp_path: Path) -> None:
    marked = "import time\nimport pytest\n\n\n@pytest.mark.chaos\ndef test_it():\n    time.sleep(1)\n"
    module = "import time\nimport pytest\n\npytestmark = [pytest.mark.chaos]\ntime.sleep(1)\n"
    assert found_in(tmp_path, **{"test_a.py": marked, "test_b.py": module}) == []


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("broker/test_a.py", "from .in_process import run"),
        ("client/test_a.py", "from tests.virtual.loop import VirtualWorld"),
        ("virtual/test_a.py", ""),
    ],
)
def test_on_virtual_time_the_loop_may_sleep_and_the_machine_may_not(
    tmp_path: Path, name: str, given: str
) -> None:
    body = (
        "    await asyncio.sleep(60)\n    assert asyncio.get_running_loop().time() > 60\n    time.sleep(1)\n"
    )
    source = f"import asyncio\nimport time\n{given}\n\n\nasync def test_it():\n{body}"
    assert found_in(tmp_path, **{name: source}) == [f"tests/{name}:9 test_it sleeps: time.sleep(1)"]


SOURCE = """import time


class TestIt:
    def test_that(self):
        time.sleep(1)


def test_this():
    time.sleep(1)
"""


@pytest.mark.parametrize(
    ("exceptions", "expected"),
    [
        ('"test_a.py" = "time is what all of it tests"\n', []),
        (
            '"test_a.py::TestIt.test_that" = "time is what it tests"\n',
            ["tests/test_a.py:10 test_this sleeps: time.sleep(1)"],
        ),
        (
            '"test_a.py" = "time"\n"test_a.py::test_other" = "time"\n"test_b.py" = "time"\n',
            [
                "tests/time_is_tested.toml: test_a.py::test_other needs no exception: take the entry away",
                "tests/time_is_tested.toml: test_b.py needs no exception: take the entry away",
            ],
        ),
        ('"test_a.py" = ""\n', ["tests/time_is_tested.toml: test_a.py needs a reason of one line"]),
    ],
)
def test_an_exception_is_named_with_its_reason_and_is_needed(
    tmp_path: Path, exceptions: str, expected: list[str]
) -> None:
    assert found_in(tmp_path, **{"test_a.py": SOURCE, "time_is_tested.toml": exceptions}) == expected


def test_a_table_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (line,) = found_in(tmp_path, **{"time_is_tested.toml": "test_a.py = no string"})
    assert line.startswith("tests/time_is_tested.toml is no TOML: ")

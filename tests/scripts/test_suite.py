"""The suite itself on seeded faults: what is red, what is `flaky:`, and what decides nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts.suite.known_flaky import KnownFlaky, KnownFlakyError, known_flaky, problems
from scripts.suite.parts import Part

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = """
[tool.pytest.ini_options]
testpaths = ["tests"]
addopts = [
    "--import-mode=importlib",
    "-ptests.suite.tiers",
    "-ptests.suite.parts",
    "-ptests.suite.unit_guard",
    "-ptests.suite.hang_guard",
    "--hang-seconds=1",
    "-ptests.suite.failures",
]
"""
FAILS_THE_FIRST_TIME = """
import pathlib
import pytest

@pytest.mark.integration
@pytest.mark.parametrize("number", range({count}))
def test_fails_the_first_time(number):
    seen = pathlib.Path(f"seen-{{number}}")
    is_first = not seen.exists()
    seen.touch()
    assert not is_first, "by chance"
"""

HANGS_IN_C = """
import ctypes
import pathlib
import pytest

pytestmark = pytest.mark.integration

@pytest.mark.timeout(1)
def test_hangs_in_c_the_first_time():
    if not pathlib.Path("seen").exists():
        pathlib.Path("seen").touch()
        mutex = ctypes.create_string_buffer(256)
        # The second time it waits for itself, and no signal ends that.
        for _ in range(2):
            ctypes.CDLL(None).pthread_mutex_lock(mutex)

@pytest.mark.parametrize("number", range(7))
def test_passes(number):
    pass
"""

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / "tests" / "known_flaky.toml").write_text("")
    return tmp_path


@pytest.fixture
def run(checkout: Path) -> Run:
    """`run(text of a test file)` is the exit status of unit and integration, with `part` of all tiers but
    chaos, and what was printed."""

    def run(
        tests: str, *, whole: bool = False, part: str | None = None, tiers: str = "test"
    ) -> tuple[int, str]:
        # With arguments of pytest there is one process, which begins sooner than several.
        arguments = [] if whole else ["-q"]
        selected = [tiers] if part is None else ["all", f"--part={part}"]
        (checkout / "tests" / "test_seeded.py").write_text(tests)
        ended = subprocess.run(
            [sys.executable, "-m", "scripts.suite", *selected, "--python-only", *arguments],
            cwd=checkout,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=280,
        )
        return ended.returncode, ended.stdout + ended.stderr

    return run


@pytest.mark.differential
def test_a_run_in_which_all_passes_is_green(run: Run) -> None:
    status, output = run("def test_passes():\n    pass\n", whole=True)
    assert status == 0, output
    assert output.endswith("suite: green\n1 passed, 0 failed, 0 skipped\n")


@pytest.mark.differential
def test_a_test_that_always_fails_is_red(run: Run) -> None:
    status, output = run("import pytest\n\n@pytest.mark.integration\ndef test_fails():\n    assert 1 == 2\n")
    assert status == 1
    assert "suite: again, alone, 1 of 1: tests/test_seeded.py::test_fails" in output
    assert "suite: failed: tests/test_seeded.py::test_fails" in output
    assert output.endswith("suite: red\n0 passed, 1 failed, 0 skipped\n")


@pytest.mark.differential
def test_a_test_that_fails_the_first_time_is_flaky_and_leaves_the_run_green(run: Run, checkout: Path) -> None:
    status, output = run(FAILS_THE_FIRST_TIME.format(count=1))
    assert status == 0, output
    name = "tests/test_seeded.py::test_fails_the_first_time[0]"
    last_lines = output.splitlines()[-12:]
    assert f"flaky: {name}" in last_lines
    assert "AssertionError: by chance" in "\n".join(last_lines)
    (kept,) = json.loads((checkout / "build" / "flaky.json").read_text())
    assert kept["test"] == name
    assert "by chance" in kept["first_failure"]


@pytest.mark.differential
def test_a_test_that_hangs_in_c_is_ended_and_run_again_and_the_others_run(run: Run) -> None:
    status, output = run(HANGS_IN_C, whole=True)
    assert status == 0, output
    assert "flaky: tests/test_seeded.py::test_hangs_in_c_the_first_time" in output
    # Where it hung.
    assert "in test_hangs_in_c_the_first_time" in output
    assert "\n8 passed, 0 failed, 0 skipped\n" in output, output


@pytest.mark.differential
def test_more_than_five_flaky_tests_are_red(run: Run) -> None:
    status, output = run(FAILS_THE_FIRST_TIME.format(count=6))
    assert status == 1
    assert "6 tests passed only the second time, 5 at most" in output


@pytest.mark.differential
def test_a_unit_test_gets_no_second_run(run: Run) -> None:
    status, output = run(FAILS_THE_FIRST_TIME.format(count=1).replace("@pytest.mark.integration", ""))
    assert status == 1
    assert "again" not in output


REFUSED_IN_UNIT_TESTS = {
    "socket.create_connection(('127.0.0.1', 1))": "looks up a host",
    "socket.socket().connect(('127.0.0.1', 1))": "connects a socket",
    "socket.socket().bind(('127.0.0.1', 0))": "binds a socket",
    "subprocess.run(['true'])": "starts a process",
    "os.fork()": "forks",
    "time.sleep(0.001)": "sleeps",
    "asyncio.run(asyncio.open_connection('127.0.0.1', 1))": "connects a socket",
}
# Code under test may swallow what it gets.
IN_THE_WRONG_TIER = """
import asyncio, os, socket, subprocess, time

def test_in_the_wrong_tier_{number}():
    {line}

def test_in_the_wrong_tier_without_a_word_{number}():
    try:
        {line}
    except BaseException:
        pass
"""


@pytest.mark.differential
def test_a_unit_test_that_does_what_only_other_tiers_may_fails(run: Run, checkout: Path) -> None:
    lines = enumerate(REFUSED_IN_UNIT_TESTS)
    status, output = run("\n".join(IN_THE_WRONG_TIER.format(number=n, line=line) for n, line in lines))
    assert status == 1
    failures = json.loads((checkout / "build" / "tests" / "unit-failures.json").read_text())
    for number, told in enumerate(REFUSED_IN_UNIT_TESTS.values()):
        for name in ("test_in_the_wrong_tier", "test_in_the_wrong_tier_without_a_word"):
            assert f" {told}: " in failures[f"tests/test_seeded.py::{name}_{number}"], output


@pytest.mark.differential
def test_a_process_that_a_test_brings_down_is_red(run: Run) -> None:
    status, output = run(
        "import os, pytest\n\n@pytest.mark.integration\ndef test_goes_down():\n    os._exit(3)\n", whole=True
    )
    assert status == 1
    assert "suite: failed: tests/test_seeded.py::test_goes_down" in output


@pytest.mark.differential
def test_a_file_that_cannot_be_imported_is_red(run: Run) -> None:
    status, output = run("import no_such_module\n")
    assert status == 1
    assert "did not run to its end" in output


@pytest.mark.differential
def test_a_test_that_is_known_to_be_flaky_runs_apart_and_decides_nothing(run: Run, checkout: Path) -> None:
    (checkout / "tests" / "known_flaky.toml").write_text(
        '[[flaky]]\ntest = "tests/test_seeded.py::test_fails"\ncause = "two clocks"\nsince = 2026-11-28\n'
    )
    status, output = run(
        "import pytest\n\n@pytest.mark.integration\ndef test_fails():\n    assert 1 == 2\n\n"
        "def test_passes():\n    pass\n",
        whole=True,
    )
    assert status == 0, output
    line = "known flaky since 2026-11-28, failed: tests/test_seeded.py::test_fails (two clocks)"
    assert f"suite: {line}" in output


@pytest.mark.differential
def test_a_run_of_the_tier_unit_leaves_known_flaky_tests_alone(run: Run, checkout: Path) -> None:
    (checkout / "tests" / "known_flaky.toml").write_text(
        '[[flaky]]\ntest = "tests/test_seeded.py::test_fails"\ncause = "two clocks"\nsince = 2026-11-28\n'
    )
    status, output = run("def test_passes():\n    pass\n", whole=True, tiers="unit")
    assert status == 0, output
    assert "known flaky" not in output


MANY_TESTS = """
import pytest

@pytest.mark.differential
@pytest.mark.parametrize("number", range(101))
def test_in_one_part(number):
    pass

def test_in_each_part():
    pass
"""


@pytest.mark.differential
def test_parts_divide_the_tier_differential_alone_and_leave_nothing_out(run: Run) -> None:
    passed: list[int] = []
    for part in ("1/2", "2/2"):
        status, output = run(MANY_TESTS, part=part)
        assert status == 0, output
        assert f"suite: differential, part {part}: pytest" in output
        passed.append(int(output.splitlines()[-1].partition(" passed")[0]))
    assert sum(passed) == 101 + 2
    assert min(passed) > 1


@pytest.mark.differential
def test_a_part_that_there_is_not_is_refused_at_once(run: Run) -> None:
    status, output = run(MANY_TESTS, part="3/2")
    assert status == 2
    assert "argument --part: '3/2' is not a part; the parts of three are 1/3, 2/3 and 3/3" in output
    assert "suite: unit" not in output


@pytest.mark.differential
def test_a_part_of_a_run_without_the_tier_that_is_divided_is_refused() -> None:
    command = [sys.executable, "-m", "scripts.suite", "unit", "--part=1/3"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert ended.returncode == 2
    assert "--part divides the tier differential, which `unit` does not run" in ended.stderr


@given(st.text(), st.integers(1, 9))
def test_each_name_is_in_one_part(name: str, parts: int) -> None:
    assert [Part(number, parts).holds(name) for number in range(1, parts + 1)].count(True) == 1


def test_an_entry_of_the_list_that_is_too_old_is_told(checkout: Path) -> None:
    (checkout / "tests" / "test_seeded.py").write_text("def test_fails():\n    pass\n")
    entry = KnownFlaky("tests/test_seeded.py::test_fails", "two clocks", date(2026, 11, 1))
    assert problems([entry], date(2026, 11, 15), checkout) == []
    (told,) = problems([entry], date(2026, 11, 16), checkout)
    assert "test_fails has been there for 15 days, 14 at most" in told


def test_an_entry_of_the_list_without_a_test_is_told(checkout: Path) -> None:
    entry = KnownFlaky("tests/test_seeded.py::test_gone", "two clocks", date(2026, 11, 1))
    (told,) = problems([entry], date(2026, 11, 1), checkout)
    assert "there is no test tests/test_seeded.py::test_gone" in told


def test_an_entry_of_the_list_that_lacks_something_is_told(checkout: Path) -> None:
    path = checkout / "tests" / "known_flaky.toml"
    path.write_text('[[flaky]]\ntest = "a"\nsince = 2026-11-28\n')
    with pytest.raises(KnownFlakyError, match="entry 1 needs `test` and `cause`"):
        known_flaky(path)

"""The stages of a run: pytest on the tests of one tier each, and those of Rust.

A stage gives what failed, by pytest's own names, and leaves its junit file in build/tests/.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scripts.suite.junit import cases
from scripts.suite.parts import Part
from scripts.suite.paths import BUILD, ROOT

# These tests often wait: for brokers and other processes, for limits of the genuine packages, and for what
# Kafka does by time.
WORKERS_A_CORE = {"integration": 1.5, "differential": 1.5}
TIERS = ("unit", "integration", "differential", "chaos")
# pytest's exit statuses that mean that it ran its tests to the end.
PASSED, FAILED, NO_TESTS = 0, 1, 5
# What pytest has to say what failed until then, once the run has taken too long.
LAST_WORDS_SECONDS = 60.0


class TookTooLongError(Exception):
    """The run reached its limit. What was under way was ended."""


@dataclass(slots=True)
class Deadline:
    """When the whole run is ended, however far it is."""

    seconds: float
    began: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        return max(0.0, self.began + self.seconds - time.monotonic())


@dataclass(frozen=True, slots=True)
class Ended:
    """A stage that has ended. `failures` maps each failed test to its first failure."""

    name: str
    status: int
    seconds: float
    failures: Mapping[str, str]
    counts: Mapping[str, int]

    @property
    def ran_to_the_end(self) -> bool:
        """Whether pytest says no more than that tests failed, and which."""
        return self.status in (PASSED, NO_TESTS) or (self.status == FAILED and bool(self.failures))


def environment() -> dict[str, str]:
    """Processes that tests start would compile every module again without bytecode, each of them."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run(command: Sequence[str], deadline: Deadline, **variables: str) -> int:
    """Runs a command to its end, and gives its exit status. Raises: TookTooLongError."""
    process = subprocess.Popen(command, cwd=ROOT, env=environment() | variables)
    try:
        return process.wait(deadline.left())
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        raise TookTooLongError(f"the run took more than {deadline.seconds:.0f} s") from None
    finally:
        try:
            process.wait(LAST_WORDS_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def run_tier(
    tier: str, arguments: Sequence[str], left_out: Sequence[str], part: Part | None, deadline: Deadline
) -> Ended:
    """All tests of a tier, or of a part of it, but those left out; with arguments those that they select,
    in one process."""
    BUILD.mkdir(parents=True, exist_ok=True)
    failures_file, junit_file = BUILD / f"{tier}-failures.json", BUILD / f"{tier}.xml"
    failures_file.unlink(missing_ok=True)
    junit_file.unlink(missing_ok=True)
    workers = round((os.cpu_count() or 1) * WORKERS_A_CORE.get(tier, 1))
    command = [
        *(sys.executable, "-m", "pytest", f"--tiers={tier}"),
        *(f"--failures-file={failures_file}", f"--junitxml={junit_file}"),
        # Worksteal keeps the order, which groups tests by their servers.
        *(arguments or ("-n", str(workers), "--dist", "worksteal")),
        *((f"--part={part}",) if part else ()),
        *(word for test in left_out for word in ("--deselect", test)),
    ]
    say(" ".join([f"{tier}{f', part {part}' if part else ''}: pytest", *arguments]))
    began = time.monotonic()
    status = run(command, deadline)
    seconds = time.monotonic() - began
    failures = json.loads(failures_file.read_text()) if failures_file.exists() else {}
    ran = cases(junit_file) if junit_file.exists() else ()
    return Ended(tier, status, seconds, failures, Counter(case.outcome for case in ran))


def run_rust(deadline: Deadline) -> Ended:
    """Rust's tests, and the models of what its threads share."""
    manifest = ["--quiet", "--manifest-path", "kernel/Cargo.toml"]
    began = time.monotonic()
    say("rust: cargo test")
    # Rust's tests call Python, so they load the same libpython as .venv.
    status = run(["cargo", "test", *manifest], deadline, PYO3_PYTHON=sys.executable)
    if status == PASSED:
        say("rust: models of what threads share")
        models = ["--features", "models", "--lib", "models::"]
        status = run(["cargo", "test", *manifest, *models], deadline)
    return Ended("rust", status, time.monotonic() - began, {}, {})


def say(text: str) -> None:
    print(f"suite: {text}", flush=True)

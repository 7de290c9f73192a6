"""Sets the checkout up: system programs, `.venv/`, Python packages and the kernel.

    python3 scripts/setup.py [demo | test | bench]

Each profile installs what its purpose needs and no more. What is done is not done again: stamps in `.venv/`
hold hashes of what each step was made from. Runs on the system's Python, so it uses only its library.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import programs
from programs import Program

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"

PROFILES: dict[str, tuple[list[str], list[Program]]] = {
    "demo": (["demo"], [programs.JAVA]),
    "test": (
        ["dev"],
        [
            programs.JDK,
            programs.MAVEN,
            programs.CLIPPY,
            programs.RUSTFMT,
            programs.KERBEROS,
            programs.CHROMIUM,
        ],
    ),
    "bench": (["bench"], [programs.JAVA, programs.MAVEN]),
}


def say(text: str) -> None:
    print(f"set-up: {text}", flush=True)


def main() -> None:
    profile = sys.argv[1] if len(sys.argv) > 1 else "demo"
    if profile not in PROFILES:
        sys.exit(f"set-up: unknown profile {profile!r}; there are {', '.join(PROFILES)}")
    extras, wanted_programs = PROFILES[profile]
    began = time.monotonic()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    requirements = [*project["build-system"]["requires"], *requirements_of(project, extras)]
    # Not its full version: an update of Debian's Python leaves .venv/ as good as it was.
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    packages_stamp = stamp_of(profile, python, str(ROOT), *requirements)
    kernel_stamp = stamp_of(python, str(ROOT), *kernel_sources(project))
    need_packages = not is_stamped(f"packages-{profile}", packages_stamp)
    need_kernel = not is_stamped("kernel", kernel_stamp)
    if not need_packages and not need_kernel:
        return

    check_programs([programs.VENV, programs.RUST, programs.COMPILER, *wanted_programs])
    make_venv()
    if need_packages and need_kernel and not maturin_is_there():
        # The kernel needs only maturin, so that it can build while the rest is fetched.
        run_step("maturin", pip_install(project["build-system"]["requires"]))
    steps: dict[str, Step] = {}
    if need_packages:
        steps["packages"] = Step(f"Python packages for {profile}", pip_install(requirements))
    if need_kernel:
        steps["kernel"] = Step("the kernel (Rust)", maturin_develop())
    for step in steps.values():
        step.say_begun()
    finish_all(list(steps.values()))
    if need_packages:
        write_stamp(f"packages-{profile}", packages_stamp)
    if need_kernel:
        write_stamp("kernel", kernel_stamp)
    say(f"done in {time.monotonic() - began:.0f} s")


def requirements_of(project: dict, extras: list[str]) -> list[str]:
    """The requirements of extras, those of the extras they name in turn included."""
    table = project["project"]["optional-dependencies"]
    found: dict[str, None] = dict.fromkeys(project["project"]["dependencies"])
    for extra in extras:
        for requirement in table[extra]:
            own = re.fullmatch(r"barnabas\[(.*)\]", requirement)
            found |= dict.fromkeys(requirements_of(project, own[1].split(",")) if own else [requirement])
    return list(found)


def kernel_sources(project: dict) -> list[str]:
    """What the kernel is made from: kernel/ without build results, cargo's and maturin's settings, and the
    commands, which maturin installs too."""
    kernel = ROOT / "kernel"
    paths = sorted(path for path in kernel.rglob("*") if path.is_file() and "target" not in path.parts)
    paths.append(ROOT / ".cargo" / "config.toml")
    contents = [f"{path.relative_to(ROOT)}:{hashlib.sha256(path.read_bytes()).hexdigest()}" for path in paths]
    return [*contents, repr(project["tool"]["maturin"]), repr(project["project"]["scripts"])]


def stamp_of(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def is_stamped(name: str, stamp: str) -> bool:
    path = VENV / f"stamp-{name}"
    return path.exists() and path.read_text() == stamp


def write_stamp(name: str, stamp: str) -> None:
    (VENV / f"stamp-{name}").write_text(stamp)


def check_programs(wanted: list[Program]) -> None:
    """Installs what is missing, or ends with the one command that does."""
    if sys.version_info < (3, 11):  # noqa: UP036 this is the check that tells people so
        sys.exit(f"set-up: Python 3.11 or later is needed, this is {sys.version.split()[0]}")
    missing = programs.missing_of(wanted)
    if not missing:
        return
    command = " ".join(programs.install_command(missing))
    if not programs.can_install():
        sys.exit(f"set-up: {programs.names(missing)} not found; on Debian 12 install with:\n  sudo {command}")
    say(f"{programs.names(missing)} not found, so: {command}")
    began = time.monotonic()
    programs.install(missing)
    say(f"system packages: {time.monotonic() - began:.1f} s")
    still_missing = programs.missing_of(missing)
    if still_missing:
        sys.exit(f"set-up: {programs.names(still_missing)} still not found after {command}")


def make_venv() -> None:
    if not PYTHON.exists():
        run_step(".venv/", [sys.executable, "-m", "venv", str(VENV)])


def maturin_is_there() -> bool:
    return (VENV / "bin" / "maturin").exists()


def pip_install(requirements: list[str]) -> list[str]:
    return [str(PYTHON), "-m", "pip", "install", "-q", "--disable-pip-version-check", *requirements]


def maturin_develop() -> list[str]:
    return [str(PYTHON), "-m", "maturin", "develop", "--release", "-q"]


class Step:
    """A command under way, its output kept for the case that it fails."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        self.began = time.monotonic()
        log_directory = ROOT / "build" / "set-up"
        log_directory.mkdir(parents=True, exist_ok=True)
        self.log = log_directory / (re.sub(r"\W+", "-", name).strip("-") + ".log")
        with self.log.open("w") as log:
            # maturin installs into whichever environment is active.
            environment = os.environ | {"VIRTUAL_ENV": str(VENV)}
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT
            )

    def say_begun(self) -> None:
        say(f"{self.name} ...")

    def finish_if_done(self) -> bool:
        """Whether the command has ended. Raises: StepFailedError."""
        status = self.process.poll()
        if status is None:
            return False
        if status != 0:
            raise StepFailedError(self)
        say(f"{self.name}: {time.monotonic() - self.began:.1f} s")
        return True


class StepFailedError(Exception):
    def __init__(self, step: Step) -> None:
        last_words = "\n".join(step.log.read_text(errors="replace").splitlines()[-40:])
        super().__init__(f"{step.name} failed; the end of {step.log}:\n{last_words}")


def run_step(name: str, command: list[str]) -> None:
    finish_all([Step(name, command)])


def finish_all(steps: list[Step]) -> None:
    """Waits for all steps; when one fails the others are ended."""
    open_steps = steps
    try:
        while open_steps:
            open_steps = [step for step in open_steps if not step.finish_if_done()]
            time.sleep(0.05)
    except StepFailedError as error:
        sys.exit(f"set-up: {error}")
    except KeyboardInterrupt:
        sys.exit("set-up: interrupted")
    finally:
        for step in open_steps:
            if step.process.poll() is None:
                step.process.terminate()
                step.process.wait()


if __name__ == "__main__":
    main()

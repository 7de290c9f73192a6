"""Builds the wheels and the source distribution into dist/, and tries them.

    python3 scripts/wheels.py [--here]

Each wheel is for one platform and for every CPython from 3.11 on (abi3); zig links, so that all are built on
one machine, and old C libraries will do. Whether a wheel holds what its name promises say maturin, as it
builds it, and `auditwheel`.
What can run here is installed into an empty environment, without Rust on the path and away from the
checkout, and used; then each extra alone, in an empty environment of its own. Runs on the system's Python, so
it uses only its library.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
TOOLS = ROOT / "build" / "wheels"
BIN = TOOLS / "bin"
# For each of Rust's targets what its wheel is to run on.
TARGETS = {
    "x86_64-unknown-linux-gnu": "manylinux_2_28",
    "aarch64-unknown-linux-gnu": "manylinux_2_28",
    "x86_64-unknown-linux-musl": "musllinux_1_2",
    "aarch64-unknown-linux-musl": "musllinux_1_2",
}
FREE_THREADED = "python3.14t"
PROGRAM = ROOT / "scripts" / "try_wheel.py"
PROGRAM_FOR_EXTRAS = ROOT / "scripts" / "try_extra.py"
# Of work on Barnabas itself, or on this checkout.
NOT_TRIED = {"dev", "docs", "bench", "demo"}
# Those that are built against a library of the system, and a command that is there with it.
NEEDS_THE_SYSTEM = {"gssapi": "krb5-config"}


def main() -> None:
    parser = argparse.ArgumentParser(description="Build wheels and the source distribution into dist/.")
    parser.add_argument("--here", action="store_true", help="only what can be tried on this machine")
    options = parser.parse_args()
    if sys.version_info < (3, 11):  # noqa: UP036 this is the check that tells people so
        sys.exit(f"wheels: Python 3.11 or later is needed, this is {sys.version.split()[0]}")
    targets = [target for target in TARGETS if not options.here or runs_here(target)]
    make_tools()
    shutil.rmtree(DIST, ignore_errors=True)
    add_targets(targets)
    run("the source distribution", [BIN / "maturin", "sdist", "--out", DIST])
    for target in targets:
        build(target, [])
    if shutil.which(FREE_THREADED):
        # Without a stable interface: one wheel for each version.
        build(next(filter(runs_here, targets)), ["--interpreter", FREE_THREADED])
    wheels = sorted(DIST.glob("*.whl"))
    for wheel in wheels:
        audit(wheel)
    tried = [w for w in wheels if f"_{platform.machine()}" in w.name and "manylinux" in w.name]
    for wheel in tried:
        try_out(wheel)
    # The wheel for every CPython: not everything that extras bring has wheels for free-threaded ones.
    for extra in extras():
        try_out(next(wheel for wheel in tried if "abi3" in wheel.name), extra=extra)
    if not options.here:
        try_out(next(DIST.glob("*.tar.gz")), needs_rust=True)
    print("wheels:", *(path.name for path in sorted(DIST.iterdir())), sep="\n  ")


def runs_here(target: str) -> bool:
    return target == f"{platform.machine()}-unknown-linux-gnu"


def make_tools() -> None:
    if not (BIN / "zig").exists() and not (BIN / "python-zig").exists():
        run("an environment for the tools", [sys.executable, "-m", "venv", TOOLS])
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    pip = [BIN / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    run("maturin, zig and auditwheel", [*pip, *requirements, "ziglang>=0.13", "auditwheel>=6.2"])


def add_targets(targets: list[str]) -> None:
    """Rust's standard library for each of them, where rustup is there to fetch it."""
    if shutil.which("rustup"):
        run("Rust's libraries", ["rustup", "target", "add", *targets])


def build(target: str, more: list[str]) -> None:
    command = [BIN / "maturin", "build", "--release", "--strip", "--zig", "--target", target, "--out", DIST]
    run(f"the wheel for {target}", [*command, "--compatibility", TARGETS[target], *more])


def audit(wheel: Path) -> None:
    """auditwheel takes this machine's C library for the wheel's own, so that it cannot judge musl's."""
    if "manylinux" not in wheel.name:
        return
    found = json.loads(run(f"auditing {wheel.name}", [BIN / "auditwheel", "show", "--json", wheel]))
    if found["overall_tag"] not in wheel.stem.split("-")[-1].split("."):
        sys.exit(f"wheels: {wheel.name} is good for {found['overall_tag']} only")


def extras() -> list[str]:
    """Those that programs are installed with, and that can be built here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [
        name
        for name in project["optional-dependencies"]
        if name not in NOT_TRIED and (name not in NEEDS_THE_SYSTEM or shutil.which(NEEDS_THE_SYSTEM[name]))
    ]


def try_out(distribution: Path, *, needs_rust: bool = False, extra: str | None = None) -> None:
    """Installs it into an empty environment, with one extra or none, and uses it."""
    path = os.environ["PATH"] if needs_rust else "/usr/bin:/bin"
    free_threaded = "cp314t" in distribution.name
    python = shutil.which(FREE_THREADED) if free_threaded else sys.executable
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PATH": path, "HOME": folder if not needs_rust else os.environ["HOME"]}
        what = distribution.name if extra is None else f"{distribution.name}[{extra}]"
        wanted = distribution if extra is None else f"{distribution}[{extra}]"
        program = [PROGRAM] if extra is None else [PROGRAM_FOR_EXTRAS, extra]
        run(f"an empty environment for {what}", [python, "-m", "venv", f"{folder}/venv"])
        own = Path(folder) / "venv" / "bin"
        pip = [own / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", wanted]
        run(f"installing {what}", pip, environment)
        run(f"using {what}", [own / "python", *program], environment, cwd=folder)


def run(
    what: str, command: list[str | Path], environment: dict[str, str] | None = None, cwd: str | Path = ROOT
) -> str:
    """What it printed."""
    print(f"wheels: {what} ...", flush=True)
    # maturin finds zig by Python's module of that name, in the environment it runs in.
    own = environment or os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "VIRTUAL_ENV": str(TOOLS)}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=own, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        last_words = "\n".join(done.stdout.splitlines()[-40:])
        sys.exit(f"wheels: {what} failed:\n{last_words}")
    return done.stdout


if __name__ == "__main__":
    main()

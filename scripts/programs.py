"""The programs that set-up needs outside Python: found, or installed with apt-get where that is possible.

Knows Debian's package names; knows nothing of what the programs are used for.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

LOWEST_RUST = (1, 85)
LOWEST_JAVA = (17,)


@dataclass(frozen=True)
class Program:
    """A program, how to see that it is there, and the Debian 12 packages that bring it."""

    name: str
    is_present: Callable[[], bool]
    packages: tuple[str, ...]


def version_of(command: str, *arguments: str) -> tuple[int, ...]:
    """The first number with dots in what `command` prints about its version; () if it does not run."""
    try:
        result = subprocess.run(
            [command, *arguments], capture_output=True, text=True, timeout=60, check=False
        )
    except OSError:
        return ()
    match = re.search(r"\d+(\.\d+)*", result.stdout + result.stderr)
    return tuple(int(part) for part in match[0].split(".")) if match and result.returncode == 0 else ()


# Debian's python3 has venv but lacks what venv installs pip from, until python3-venv is there.
VENV = Program("venv", lambda: importlib.util.find_spec("ensurepip") is not None, ("python3-venv",))
RUST = Program(
    "Rust 1.85",
    lambda: (
        version_of("rustc", "--version") >= LOWEST_RUST and version_of("cargo", "--version") >= LOWEST_RUST
    ),
    ("rustc-web", "cargo-web"),
)
CLIPPY = Program("clippy", lambda: bool(version_of("cargo-clippy", "--version")), ("rust-web-clippy",))
RUSTFMT = Program("rustfmt", lambda: bool(version_of("rustfmt", "--version")), ("rustfmt-web",))
COMPILER = Program("a C compiler", lambda: shutil.which("cc") is not None, ("gcc", "libc6-dev"))
JAVA = Program("Java 17", lambda: version_of("java", "-version") >= LOWEST_JAVA, ("openjdk-17-jre-headless",))
JDK = Program(
    "a JDK 17", lambda: version_of("javac", "-version") >= LOWEST_JAVA, ("openjdk-17-jdk-headless",)
)
MAVEN = Program("Maven", lambda: shutil.which("mvn") is not None, ("maven",))
# Its server, and what the Python package for its clients is compiled with.
KERBEROS = Program(
    "MIT Kerberos",
    lambda: all(
        shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        for name in ("krb5kdc", "kadmin.local", "kinit", "krb5-config")
    ),
    ("krb5-kdc", "krb5-admin-server", "krb5-user", "libkrb5-dev"),
)

CHROMIUM = Program(
    "Chromium and its driver",
    lambda: all(shutil.which(name) is not None for name in ("chromium", "chromedriver")),
    ("chromium", "chromium-driver"),
)


def missing_of(programs: list[Program]) -> list[Program]:
    return [program for program in programs if not program.is_present()]


def install_command(missing: list[Program]) -> list[str]:
    packages = [package for program in missing for package in program.packages]
    return ["apt-get", "install", "-y", "--no-install-recommends", *packages]


def can_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(missing: list[Program]) -> None:
    """Installs with apt-get, quietly. Ends the program with apt-get's last words if that fails."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-q"], install_command(missing)):
        result = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if result.returncode != 0:
            last_words = "\n".join(result.stdout.splitlines()[-15:])
            sys.exit(f"set-up: {' '.join(command)} failed:\n{last_words}")


def names(programs: list[Program]) -> str:
    return ", ".join(program.name for program in programs)

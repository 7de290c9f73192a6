from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import barnabas
from barnabas.testing import free_ports


def run(*arguments: str, timeout: float = 90) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "barnabas.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def test_an_unreachable_broker_is_named_within_its_deadline() -> None:
    address = f"127.0.0.1:{free_ports()[0]}"
    done = run("topics", "list", "--bootstrap", address, "-X", "default.api.timeout.ms=2000")
    assert done.returncode == 1
    last_line = done.stderr.splitlines()[-1]
    assert last_line.startswith("error: ")
    assert address in last_line
    assert "Traceback" not in done.stderr


def test_help_lists_every_command() -> None:
    shown = run("--help").stdout
    for command in ("up", "topics", "produce", "consume", "groups"):
        assert command in shown


def test_what_needs_no_command_imports_none() -> None:
    program = (
        "import sys; from barnabas.cli import application\n"
        "try: application.run(['--version'])\n"
        "except SystemExit as ended: assert not ended.code, ended\n"
        "print([name for name in ('asyncio', 'barnabas.client') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_without_the_extra_the_error_names_it(tmp_path: Path) -> None:
    program = "import sys; sys.modules['typer'] = None\nfrom barnabas.cli import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1
    assert "pip install 'barnabas[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_version_is_told_without_the_extra() -> None:
    program = (
        "import sys; sys.modules['typer'] = sys.modules['rich'] = None\n"
        "from barnabas.cli import main\n"
        "sys.argv[1:] = ['--version']\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run("--debug", "--version").stdout == f"barnabas {barnabas.__version__}\n"

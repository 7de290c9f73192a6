"""What a command does not import before it begins."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer.main

from barnabas.cli import application

REPORT = """
import sys
from barnabas.cli.application import run
try:
    run(sys.argv[1:])
except SystemExit:
    pass
print("-- modules")
print(*sys.modules, sep="\\n")
"""
# Of other extras, or of what one command needs.
HEAVY = {
    "barnabas.broker",
    "barnabas.registry_server",
    "barnabas.testing",
    "barnabas.ui.app",
    "httpx",
    "jinja2",
    "numpy",
    "pandas",
    "pyarrow",
    "pyspark",
    "starlette",
    "uvicorn",
}
# Typer imports them whether or not it needs them.
OF_TYPER = {"markdown_it", "pydantic"}
OF_CLIENTS = {"asyncio", "barnabas.client.cluster", "barnabas.net.connection", "barnabas.sync"}


def imported(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", REPORT, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"BARNABAS_BOOTSTRAP": "127.0.0.1:1", "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.partition("-- modules\n")[2].split())


def modules_of(commands: set[str]) -> set[str]:
    return {f"barnabas.cli.{application.COMMANDS[name][0].partition(':')[0]}" for name in commands}


def test_the_list_of_all_commands_imports_none_of_them_and_no_client() -> None:
    modules = imported("--help")
    assert (
        modules & {"barnabas._kernel", "barnabas.client", "barnabas.protocol", "barnabas.registry"} == set()
    )
    assert modules & (HEAVY | OF_TYPER | OF_CLIENTS | modules_of(set(application.COMMANDS))) == set()


@pytest.mark.parametrize(
    "name", ["produce", "consume", "topics", "groups", "schemas", "copy", "pipeline", "acls"]
)
def test_the_help_of_a_command_imports_no_client_and_no_other_command(name: str) -> None:
    modules = imported(name, "--help")
    assert f"barnabas.cli.{application.COMMANDS[name][0].partition(':')[0]}" in modules
    assert modules & (HEAVY | OF_TYPER | OF_CLIENTS) == set()
    assert modules & (modules_of(set(application.COMMANDS)) - modules_of({name})) == set()


def test_the_help_of_a_producer_is_shown_without_administration_or_bars() -> None:
    assert imported("produce", "--help") & {"barnabas.client.admin", "rich.progress"} == set()


def test_a_command_that_runs_imports_neither_its_help_nor_checks_of_plain_values() -> None:
    modules = imported("topics", "list", "-X", "default.api.timeout.ms=10")
    assert "barnabas.client.admin" in modules
    assert modules & (HEAVY | OF_TYPER | {"rich", "typer.rich_utils"}) == set()


def test_the_version_is_printed_without_a_client() -> None:
    assert imported("--version") & (HEAVY | OF_TYPER | {"asyncio", "barnabas.client"}) == set()


def test_shells_complete_commands_without_importing_them() -> None:
    group = typer.main.get_command(application.app)
    with group.make_context("barnabas", [], resilient_parsing=True) as context:
        found = group.shell_complete(context, "re")
    assert [each.value for each in found] == ["registry", "registry-user", "reassign"]
    assert found[0].help == application.COMMANDS["registry"][1]


@pytest.mark.parametrize("name", list(application.COMMANDS))
def test_what_the_list_says_of_a_command_is_the_first_sentence_of_its_help(name: str) -> None:
    group = typer.main.get_command(application.app)
    paragraph = " ".join(group.commands[name].help.partition("\n\n")[0].split())
    summary = application.COMMANDS[name][1]
    assert paragraph == summary or paragraph.startswith(f"{summary} ")
    assert summary.endswith(".")
    assert ". " not in summary

"""What containers of examples/docker and of the guide run is what the command line takes."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from barnabas.cli.application import app

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "docker"
COMPOSE = (FOLDER / "compose.yaml").read_text()
DOCKERFILE = (FOLDER / "Dockerfile").read_text()
GUIDE = (ROOT / "docs" / "guides" / "docker.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def entry_points(text: str) -> list[list[str]]:
    return [json.loads(line) for line in re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)]


def check_accepted(command: list[str]) -> None:
    """Raises what typer says of options that do not exist, or of their values."""
    program, *arguments = command
    assert program == "barnabas"
    group: Any = typer.main.get_command(app)
    with group.make_context("barnabas", list(arguments)) as context:
        name, chosen, _ = group.resolve_command(context, arguments)
        with chosen.make_context(name, list(arguments[1:]), parent=context):
            pass


def service_commands(text: str, entry_point: list[str]) -> Iterator[list[str]]:
    for service in yaml.safe_load(text)["services"].values():
        if "command" in service:
            yield [*entry_point, *service["command"]]
        if "healthcheck" in service:
            kind, *command = service["healthcheck"]["test"]
            assert kind == "CMD"
            yield command


COMMANDS = [
    *service_commands(COMPOSE, *entry_points(DOCKERFILE)),
    *(command for command in entry_points("".join(blocks("dockerfile"))) if len(command) > 1),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_what_a_container_runs_is_a_command_with_options_that_exist(command: list[str]) -> None:
    check_accepted(command)


@pytest.mark.parametrize("line", ["barnabas up --no-such-option", "barnabas no-such-command"])
def test_this_finds_what_the_command_line_does_not_take(line: str) -> None:
    with pytest.raises(Exception, match="No such"):
        check_accepted(shlex.split(line))


def test_the_services_are_a_broker_a_registry_and_the_page() -> None:
    services = yaml.safe_load(COMPOSE)["services"]
    assert {name: service["command"][0] for name, service in services.items()} == {
        "kafka": "up",
        "registry": "registry",
        "page": "ui",
    }
    for service in services.values():
        build = service["build"]
        context = (FOLDER / build["context"]).resolve()
        assert context == ROOT
        assert (context / build["dockerfile"]).read_text() == DOCKERFILE
        # Neither access control nor TLS: nobody else's machine may reach them.
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_the_services_know_each_other_by_the_names_and_ports_that_they_have() -> None:
    services = yaml.safe_load(COMPOSE)["services"]
    listeners = "\n".join(services["kafka"]["command"])
    assert "advertised.listeners=INSIDE://kafka:29092,OUTSIDE://localhost:9092" in listeners
    for name in ("registry", "page"):
        command = services[name]["command"]
        assert command[command.index("--bootstrap") + 1] == "kafka:29092"
    page = services["page"]["command"]
    assert page[page.index("--registry") + 1] == "http://registry:8081"
    assert services["registry"]["ports"] == ["127.0.0.1:8081:8081"]


def test_the_guide_shows_the_services() -> None:
    shown = [block for block in blocks("yaml") if "x-barnabas" in block]
    assert shown == [COMPOSE]
    assert DOCKERFILE in blocks("dockerfile")


def test_the_image_has_the_extras_that_its_services_need() -> None:
    (found,) = re.findall(r"'barnabas\[(.*)\]'", DOCKERFILE)
    assert found.split(",") == ["cli", "registry-server", "ui"]

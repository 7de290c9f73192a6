"""Values that are taken without typer's checks are what those make of them, and none that they refuse."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal

import pytest
import typer.core
import typer.main

from barnabas.cli.running.markdown_later import markdown_later
from barnabas.cli.running.plain_values import take_plain_values

Found = dict[str, Any] | str


def one(
    text: str = "a",
    many: Annotated[list[str] | None, typer.Option("--many")] = None,
    number: int = 3,
    numbers: Annotated[list[int] | None, typer.Option("--numbers")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535)] = 1,
    seconds: Annotated[float, typer.Option(min=0.5)] = 1.0,
    guarantee: Literal["at-least-once", "exactly-once"] = "at-least-once",
    file: Annotated[Path | None, typer.Option(exists=True)] = None,
    flag: bool = False,
    perhaps: Annotated[bool | None, typer.Option("--perhaps/--perhaps-not")] = None,
) -> dict[str, Any]:
    return dict(locals())


def made() -> Any:
    app = typer.Typer(add_completion=False)
    app.command()(one)
    return typer.main.get_command(app)


def result(command: Any, *arguments: str) -> Found:
    """What the function was given, or what typer says."""
    try:
        return command.main(list(arguments), standalone_mode=False)
    except Exception as refused:
        return f"{type(refused).__name__}: {refused}"


LINES = [
    "",
    "--text b --text=",
    "--many a --many b",
    "--number 12",
    "--number -12",
    "--number +12",
    "--number 0012",
    "--number 1_000",
    "--number ٣",
    "--number 12.0",
    "--number 1e3",
    "--number twelve",
    "--number=",
    "--number 123456789012345678901234567890",
    "--numbers 1 --numbers 2",
    "--numbers 1 --numbers x",
    "--port 65535",
    "--port 65536",
    "--port -1",
    "--seconds 0.5",
    "--seconds 0.25",
    "--seconds .5",
    "--seconds 1e-1",
    "--seconds nan",
    "--seconds inf",
    "--seconds 7",
    "--guarantee exactly-once",
    "--guarantee EXACTLY-ONCE",
    "--guarantee never",
    f"--file {__file__}",
    "--file /nowhere/at/all",
    "--flag",
    "--perhaps",
    "--perhaps-not",
    "--unknown",
]


@pytest.mark.parametrize("line", LINES)
def test_a_value_is_what_typer_makes_of_it(line: str) -> None:
    plain = made()
    take_plain_values(plain)
    expected = result(made(), *line.split())
    found = result(plain, *line.split())
    assert repr(found) == repr(expected)


def test_what_a_variable_of_the_environment_says_is_checked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(port: Annotated[int, typer.Option(envvar="A_PORT", min=0, max=65535)] = 1) -> int:
        return port

    app = typer.Typer(add_completion=False)
    app.command()(function)
    command: Any = typer.main.get_command(app)
    take_plain_values(command)
    monkeypatch.setenv("A_PORT", "9092")
    assert result(command) == 9092
    monkeypatch.setenv("A_PORT", "99999")
    assert "BadParameter" in str(result(command))


def test_a_typer_without_such_checks_is_left_as_it_is() -> None:
    class Parameter:
        pass

    class Command:
        params = (Parameter(),)

        def get_params(self, _context: object) -> list[Parameter]:
            return list(self.params)

    command = Command()
    take_plain_values(command)
    assert [vars(parameter) for parameter in command.get_params(None)] == [{}]


@pytest.fixture
def without_markdown(monkeypatch: pytest.MonkeyPatch) -> None:
    import rich.markdown

    # So that both are put back.
    monkeypatch.setattr(rich, "markdown", rich.markdown)
    monkeypatch.delitem(sys.modules, "rich.markdown")


@pytest.mark.usefixtures("without_markdown")
class TestMarkdownLater:
    def test_what_is_imported_meanwhile_makes_richs_own(self) -> None:
        with markdown_later():
            from rich.markdown import Markdown
        assert "rich.markdown" not in sys.modules
        text = Markdown("*a*")
        assert type(text).__module__ == "rich.markdown"
        assert text.markup == "*a*"

    def test_other_names_of_it_are_loaded_at_once(self) -> None:
        with markdown_later():
            from rich.markdown import Heading
        assert isinstance(Heading, type)
        assert isinstance(sys.modules["rich.markdown"].Heading, type)

    def test_it_may_be_used_meanwhile(self) -> None:
        with markdown_later():
            from rich.markdown import Markdown

            made: Callable[..., Any] = Markdown
            assert made("a").markup == "a"
        assert type(sys.modules["rich.markdown"]) is ModuleType


def test_a_markdown_that_is_there_stays() -> None:
    import rich.markdown as there

    with markdown_later():
        assert sys.modules["rich.markdown"] is there
    assert sys.modules["rich.markdown"] is there

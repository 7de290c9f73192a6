"""What a help says that arguments and options take."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer.main

from barnabas.cli.application import app

Help = Callable[..., str]


@pytest.fixture
def help_of(here: Any) -> Help:
    """The help of a command, its spaces as one."""

    def help_of(*command: str) -> str:
        return " ".join(here(*command, "--help", COLUMNS="200", TERM="dumb").stdout.split())

    return help_of


def all_commands() -> Iterator[tuple[str, ...]]:
    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield words
        for word, below in getattr(command, "commands", {}).items():
            yield from walk(below, (*words, word))

    yield from walk(typer.main.get_command(app), ())


def test_no_help_shows_a_type_of_python(help_of: Help) -> None:
    for command in all_commands():
        found = re.findall(r"<(?:bool|str|int|float|list|path|file|Path)\b.*?>|\[x?[<>]=", help_of(*command))
        assert found == [], command


def test_each_option_has_a_word_for_what_it_takes_and_a_switch_none(help_of: Help) -> None:
    shown = help_of("topics", "create")
    assert "--partitions -p NUMBER [1 or more] How many" in shown
    assert "--config -c NAME=VALUE A setting" in shown
    assert "--dry-run Only show" in shown
    assert "--host TEXT The address" in help_of("up")
    assert "--port -p NUMBER [0 to 65535] The port" in help_of("up")
    assert "--broker ID Only" in help_of("log-dirs", "list")


def test_the_usage_has_arguments_as_they_are_written(help_of: Help) -> None:
    assert "Usage: barnabas topics create [OPTIONS] TOPIC... " in help_of("topics", "create")
    assert "Usage: barnabas groups describe [OPTIONS] [GROUP]... " in help_of("groups", "describe")
    assert "Usage: barnabas groups members [OPTIONS] GROUP " in help_of("groups", "members")


def test_every_argument_and_option_has_a_text() -> None:
    def walk(command: Any, name: str) -> Iterator[str]:
        yield from (f"{name} {each.name}" for each in command.params if not each.hidden and not each.help)
        for word, below in getattr(command, "commands", {}).items():
            yield from walk(below, f"{name} {word}")

    assert list(walk(typer.main.get_command(app), "barnabas")) == []

"""Arguments of command lines as values: what argparse is told of each."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# What arguments are added to is an ArgumentParser, or a group of its arguments.
Parser = argparse._ActionsContainer  # pyright: ignore[reportPrivateUsage]


@dataclass(frozen=True)
class Argument:
    """What argparse is told of one argument."""

    flags: Sequence[str]
    settings: Mapping[str, Any]

    def add_to(self, parser: Parser) -> None:
        parser.add_argument(*self.flags, **self.settings)


@dataclass(frozen=True)
class OneOf:
    """Arguments of which only one may be given, or has to be."""

    arguments: Sequence[Argument]
    required: bool = False

    def add_to(self, parser: Parser) -> None:
        group = parser.add_mutually_exclusive_group(required=self.required)
        for argument in self.arguments:
            argument.add_to(group)


def text(flags: str, about: str | None = None, **settings: Any) -> Argument:
    return Argument(flags.split(), {"type": str, "help": about, **settings})


def number(flags: str, about: str | None = None, **settings: Any) -> Argument:
    return Argument(flags.split(), {"type": int, "help": about, **settings})


def switch(flags: str, about: str | None = None, **settings: Any) -> Argument:
    return Argument(flags.split(), {"action": "store_true", "help": about, **settings})


def texts(flags: str, dest: str, about: str | None = None, **settings: Any) -> Argument:
    """An argument that may be given again and again."""
    return text(flags, about, **{"action": "append", "dest": dest, "default": [], **settings})


def add_group(parser: argparse.ArgumentParser, title: str, *arguments: Argument | OneOf) -> None:
    """Arguments under a title of their own in the help."""
    group = parser.add_argument_group(title)
    for argument in arguments:
        argument.add_to(group)

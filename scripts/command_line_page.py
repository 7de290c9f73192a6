"""Writes docs/command-line.md: every command with its arguments and options, from the commands' own help.

    .venv/bin/python scripts/command_line_page.py           # writes the page
    .venv/bin/python scripts/command_line_page.py --check   # says whether it is up to date

What stands above the marker is written by hand, and stays.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

import typer.main

from barnabas.cli.application import app
from barnabas.cli.running.plain_types import word_of

PAGE = Path(__file__).parents[1] / "docs" / "command-line.md"
MARKER = "<!-- From here on made by scripts/command_line_page.py -->\n"
WIDTH = 120
# They are the same everywhere, and told once, above the marker.
COMMON = frozenset({"bootstrap", "command_config", "profile", "setting", "as_json", "help", "registry_url"})


def page(was: str) -> str:
    by_hand, found, _ = was.partition(MARKER)
    if not found:
        raise SystemExit(f"docs/{PAGE.name} has lost its marker: {MARKER}")
    command = typer.main.get_command(app)
    return by_hand + MARKER + "\n" + "\n\n".join(sections(command, "barnabas")) + "\n"


def sections(command: Any, name: str) -> Iterator[str]:
    """The commands below a group, in the order of their help."""
    for word, each in command.commands.items():
        full = f"{name} {word}"
        depth = "##" if name == "barnabas" else "###"
        if hasattr(each, "commands"):
            yield f"{depth} {full}\n\n{text(each.help)}"
            yield from sections(each, full)
        else:
            yield f"{depth} {full}\n\n{text(each.help)}\n\n{usage(full, each)}{options(each)}"


def usage(name: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    words = " ".join([name, "[OPTIONS]", *(word_of(each) for each in arguments)])
    told = [f"- `{word_of(each)}`: {text_in_line(each.help)}" for each in arguments if each.help]
    return f"    {words}\n" + "".join(f"\n{wrapped(line)}" for line in told)


def options(command: Any) -> str:
    shown = [
        each
        for each in command.params
        if each.param_type_name == "option" and each.name not in COMMON and not each.hidden
    ]
    lines = [
        f"- `{names(each)}`: {text_in_line(each.help)}" if each.help else f"- `{names(each)}`"
        for each in shown
    ]
    told = [line + default(each) for line, each in zip(lines, shown, strict=True)]
    return "".join(f"\n{wrapped(line)}" for line in told)


def default(option: Any) -> str:
    has_one = not option.is_flag and isinstance(option.default, str | int | float | Path)
    return f" Default: `{option.default}`." if has_one and option.default != "" else ""


def names(option: Any) -> str:
    takes = "" if option.is_flag else f" {word_of(option)}"
    off = f" / {', '.join(option.secondary_opts)}" if option.secondary_opts else ""
    return ", ".join(option.opts) + off + takes


def text(given: str | None) -> str:
    """Paragraphs of a help text, wrapped anew."""
    paragraphs = re.split(r"\n\s*\n", (given or "").strip())
    return "\n\n".join(fill(" ".join(each.split()), WIDTH) for each in paragraphs if each != "\b")


def text_in_line(given: str) -> str:
    # A site would take <default> for HTML.
    return re.sub("(?<!`)<[a-z]+>", lambda found: f"`{found[0]}`", " ".join(given.split()))


def wrapped(line: str) -> str:
    return fill(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing, say whether it is up to date")
    arguments = parser.parse_args()
    was = PAGE.read_text()
    now = page(was)
    if arguments.check:
        if was != now:
            print(f"docs/{PAGE.name} is out of date: run .venv/bin/python scripts/command_line_page.py")
        return int(was != now)
    PAGE.write_text(now)
    return 0


if __name__ == "__main__":
    sys.exit(main())

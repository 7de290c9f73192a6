"""Writes docs/reference/settings.md and spark-options.md: every setting and every option, from their tables.

    .venv/bin/python scripts/reference_pages.py           # writes the pages
    .venv/bin/python scripts/reference_pages.py --check   # says whether they are up to date

What stands above the marker is written by hand, and stays.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from barnabas.broker.configs.broker_meanings import BEGINS_WITH
from barnabas.broker.configs.broker_settings import START_SETTINGS
from barnabas.broker.configs.group_settings import GROUP_SETTINGS
from barnabas.broker.configs.setting_kinds import Setting
from barnabas.broker.settings import TOPIC_SETTINGS
from barnabas.credentials import Secret
from barnabas.registry.config import RegistryConfig
from barnabas.registry.serializers.settings import DeserializerSettings, SerializerSettings
from barnabas.settings.table import (
    ALIASES,
    AdminConfig,
    CommonConfig,
    ConsumerConfig,
    ProducerConfig,
    ShareConsumerConfig,
)
from barnabas.spark.option_table import DECODING, OF_A_SIDE, OF_A_WRITTEN_SIDE, READING, WRITING, Option

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
ALL_OF_KAFKAS = """\
These do something. All others that Kafka 4.3.0 has are described, checked and kept as Kafka does, and nothing
comes of them. What Kafka lets be changed while it runs can be changed here, and holds at once.
"""
MARKER = "<!-- From here on made by scripts/reference_pages.py -->\n"
CLIENTS: tuple[tuple[str, type[Any]], ...] = (
    ("Producer", ProducerConfig),
    ("Consumer", ConsumerConfig),
    ("ShareConsumer", ShareConsumerConfig),
    ("Admin", AdminConfig),
)
REGISTRY: tuple[tuple[str, type[Any]], ...] = (
    ("Registry", RegistryConfig),
    ("Serializers", SerializerSettings),
    ("Deserializers", DeserializerSettings),
)


def settings_page() -> Iterator[str]:
    common = {field.name for field in fields(CommonConfig)}
    yield "## All clients\n"
    yield from table_of_fields(CommonConfig, frozenset())
    for title, config in CLIENTS:
        yield f"\n## {title}\n"
        yield from table_of_fields(config, common)
    for title, config in REGISTRY:
        yield f"\n## {title}\n"
        yield from table_of_fields(config, frozenset())
    yield "\n## Other names\n"
    yield from table(("also taken as", "setting"), [(f"`{a}`", f"`{name}`") for a, name in ALIASES.items()])
    for title, settings in (
        ("Topics", TOPIC_SETTINGS),
        ("Groups", GROUP_SETTINGS),
        ("Brokers", broker_settings()),
    ):
        yield f"\n## {title} of the embedded broker\n"
        if title == "Brokers":
            yield ALL_OF_KAFKAS
        yield from table_of_broker(settings)


def table_of_fields(config: type[Any], left_out: Iterable[str]) -> Iterator[str]:
    """A client's settings, in the order of the table in the source."""
    hints = get_type_hints(config)
    own = [field for field in fields(config) if field.name not in left_out]
    yield from table(
        ("setting", "type", "default", "meaning"),
        [
            (
                f"`{each.name}`",
                type_of(hints[each.name], each.metadata),
                default_of(each.default),
                each.metadata["doc"],
            )
            for each in own
        ],
    )


def type_of(hint: Any, metadata: Mapping[str, Any]) -> str:
    """As a reader says it: the words that are taken, or what kind of value, and its bounds."""
    parts = [part for part in get_args(hint) if part is not type(None)]
    if get_origin(hint) is Literal:
        return ", ".join(f"`{word}`" if word else "empty" for word in parts)
    if get_origin(hint) is tuple:
        return f"list of {type_of(parts[0], {})}"
    if get_origin(hint) is not None and len(parts) < len(get_args(hint)):
        # Of `X | Y | None`, what is not None.
        return type_of(Union[tuple(parts)], metadata)  # noqa: UP007 its parts are not known here
    if hint is Secret:
        return "text, kept out of logs"
    if hint in (int, float):
        return ("whole number" if hint is int else "number") + bounds(metadata)
    if hint is bool:
        return "`True`, `False`"
    if hint is str or Literal in map(get_origin, parts):
        return "text"
    if hint is Any:
        return "see its meaning"
    return "function" if callable_hint(hint) else f"`{hint.__name__}`"


def callable_hint(hint: Any) -> bool:
    return "Callable" in repr(hint)


def bounds(metadata: Mapping[str, Any]) -> str:
    low, high = metadata.get("low"), metadata.get("high")
    if low is None:
        return ""
    return f", at least {low}" if high is None else f", {low} to {high}"


def default_of(value: Any) -> str:
    if value in (None, (), ""):
        return "none"
    if isinstance(value, tuple):
        return "`" + ", ".join(map(str, value)) + "`"
    return f"`{value}`"


def broker_settings() -> dict[str, Setting]:
    """Those that do something; of what topics fall back to, that is said of the topics'."""
    of_topics = {each.broker_name: each.doc for each in TOPIC_SETTINGS.values() if each.broker_name}
    documented = {
        name: replace(each, doc=of_topics.get(name, each.doc)) for name, each in START_SETTINGS.items()
    }
    return {name: each for name, each in sorted(documented.items()) if each.doc}


def begins_with(setting: Setting) -> str:
    return BEGINS_WITH.get(setting.broker_name or setting.name, setting.default)


def table_of_broker(settings: Mapping[str, Setting]) -> Iterator[str]:
    yield from table(
        ("setting", "type", "default", "meaning"),
        [
            (
                f"`{each.name}`",
                each.type.name.lower(),
                f"`{default}`" if (default := begins_with(each)) else "none",
                each.doc,
            )
            for each in settings.values()
        ],
    )


def options_page() -> Iterator[str]:
    of_values = [renamed(option) for option in OF_A_SIDE]
    of_written_values = [renamed(option) for option in OF_A_WRITTEN_SIDE]
    yield "## Reading\n"
    yield from table_of_options(READING)
    yield "\n## Decoding and encoding\n"
    yield "Each of them with `key.` in place of `value.` as well, for keys.\n"
    yield from table_of_options(of_values)
    yield "\n## Decoding\n"
    yield from table_of_options(DECODING)
    yield "\n## Encoding\n"
    yield "With `key.` as well.\n"
    yield from table_of_options(of_written_values)
    yield "\n## Writing\n"
    yield from table_of_options(WRITING)


def renamed(option: Option) -> Option:
    return Option(f"value.{option.name}", option.default, option.doc)


def table_of_options(options: Iterable[Option]) -> Iterator[str]:
    rows = [(f"`{each.name}`", each.default or "none", each.doc) for each in options]
    yield from table(("option", "default", "meaning"), rows)


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(heads) + " |"
    yield "|" + " --- |" * len(heads)
    for row in rows:
        yield "| " + " | ".join(re.sub(r"\s*\n\s*", " ", cell).replace("|", "\\|") for cell in row) + " |"


PAGES = {"settings.md": settings_page, "spark-options.md": options_page}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing, say whether they are up to date"
    )
    arguments = parser.parse_args()
    status = 0
    for name, lines in PAGES.items():
        page = REFERENCE / name
        was = page.read_text()
        by_hand, found, _ = was.partition(MARKER)
        if not found:
            raise SystemExit(f"docs/reference/{name} has lost its marker: {MARKER}")
        now = by_hand + MARKER + "\n" + "\n".join(lines()) + "\n"
        if not arguments.check:
            page.write_text(now)
        elif was != now:
            print(f"docs/reference/{name} is out of date: run .venv/bin/python scripts/reference_pages.py")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())

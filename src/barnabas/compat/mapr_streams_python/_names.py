"""Which Kafka topic a topic of a stream is: `/path/to/stream:topic` and back.

Owns the rule and how another takes its place; the docs state it (docs/compat.md). Pure: knows no client.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol, cast

DEFAULT_NAMING = "escaped"
NAMING_VARIABLE = "BARNABAS_STREAMS_NAMING"

LONGEST_KAFKA_NAME = 249
_PLAIN = re.compile(r"[A-Za-z0-9]")
# An image begins as an absolute path does, and holds the mark between stream and topic.
_IMAGE = re.compile(r"\.[A-Za-z0-9.\-]*-\.[A-Za-z0-9.\-]*")
_PIECE = re.compile(r"-(-|\.|[0-9a-f]{2})|([A-Za-z0-9.])")


class Naming(Protocol):
    """A rule: each gives back what the other was given."""

    def kafka_name(self, stream_topic: str) -> str:
        """The Kafka topic for `/path/to/stream:topic`. Raises: ValueError, for a name it has none for."""
        ...

    def stream_topic(self, kafka_name: str) -> str | None:
        """The topic of a stream for a Kafka topic, or None for one that belongs to no stream."""
        ...


class EscapedNaming:
    """`/path/to/my-stream:a_topic` is `.path.to.my--stream-.a-5ftopic`.

    Letters and digits stay. `/` becomes `.`, the first `:` becomes `-.`, and `-` becomes `--`; any other
    character becomes its bytes in UTF-8, each as `-` and two hexadecimal digits. There is never a `_`, so no
    two names collide in Kafka, which takes `.` and `_` for the same.
    """

    def kafka_name(self, stream_topic: str) -> str:
        stream, separator, topic = stream_topic.partition(":")
        if not separator or not stream.startswith("/") or not topic:
            raise ValueError(f"{stream_topic!r} is no topic of a stream, which is /path/to/stream:topic")
        name = f"{_escaped(stream)}-.{_escaped(topic)}"
        if len(name) > LONGEST_KAFKA_NAME:
            raise ValueError(
                f"{stream_topic!r} would be a Kafka topic of {len(name)} characters: at most "
                f"{LONGEST_KAFKA_NAME} are allowed"
            )
        return name

    def stream_topic(self, kafka_name: str) -> str | None:
        if not _IMAGE.fullmatch(kafka_name):
            return None
        decoded = bytearray()
        position = 0
        has_separator = False
        while position < len(kafka_name):
            piece = _PIECE.match(kafka_name, position)
            if piece is None:
                return None
            position = piece.end()
            escaped, plain = piece.groups()
            if plain is not None:
                decoded += b"/" if plain == "." else plain.encode()
            elif escaped == ".":
                decoded += b":"
                has_separator = True
            elif escaped == "-":
                decoded += b"-"
            else:
                decoded.append(int(escaped, 16))
        try:
            stream_topic = decoded.decode()
            # Another spelling of the same name, such as a letter escaped, is no image.
            return stream_topic if has_separator and self.kafka_name(stream_topic) == kafka_name else None
        except ValueError:
            return None


def _escaped(text: str) -> str:
    return "".join(_escaped_character(character) for character in text)


def _escaped_character(character: str) -> str:
    if _PLAIN.fullmatch(character):
        return character
    if character in "/-":
        return "." if character == "/" else "--"
    return "".join(f"-{byte:02x}" for byte in character.encode())


class StreamTopics:
    """The names of one client: its rule, and the stream of topics that name none."""

    def __init__(self, naming: Naming, default_stream: str | None) -> None:
        self._naming = naming
        self._default_stream = default_stream
        self.kafka_name: Callable[[str], str] = lru_cache(maxsize=4096)(self._kafka_name)
        """The Kafka topic for a name that the program uses. Raises: ValueError."""
        self.program_name: Callable[[str], str] = lru_cache(maxsize=4096)(self._program_name)
        """What the program calls a Kafka topic: `/path/to/stream:topic`, or the Kafka topic itself."""

    def _kafka_name(self, name: str) -> str:
        if name.startswith("^"):
            # A regular expression over Kafka's names, as librdkafka has them.
            return name
        if ":" in name:
            return self._naming.kafka_name(name)
        if self._default_stream is not None:
            return self._naming.kafka_name(f"{self._default_stream}:{name}")
        return name

    def _program_name(self, kafka_name: str) -> str:
        return self._naming.stream_topic(kafka_name) or kafka_name

    def program_text(self, text: str) -> str:
        """A message for people with the program's names in it."""
        return re.sub(r"[A-Za-z0-9._\-]+", self._program_word, text)

    def _program_word(self, match: re.Match[str]) -> str:
        # A full stop or the like may follow the name.
        word = match[0].rstrip(".")
        return self.program_name(word) + match[0][len(word) :] if word else match[0]


def naming_of(setting: Any) -> Naming:
    """The rule that a setting names: `escaped`, `package.module:name`, or an object with the two methods.
    None is what the environment variable says, by default `escaped`.

    Raises: ValueError.
    """
    if setting is None:
        setting = os.environ.get(NAMING_VARIABLE) or DEFAULT_NAMING
    if setting == DEFAULT_NAMING:
        return EscapedNaming()
    if isinstance(setting, str):
        module, _, name = setting.partition(":")
        try:
            setting = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(
                f"streams.topic.naming={setting!r} is neither {DEFAULT_NAMING!r} nor package.module:name: "
                f"{error}"
            ) from None
        if isinstance(setting, type):
            setting = cast("type[Naming]", setting)()
    if not all(callable(getattr(setting, method, None)) for method in ("kafka_name", "stream_topic")):
        raise ValueError(f"streams.topic.naming: {setting!r} has no methods kafka_name and stream_topic")
    return cast("Naming", setting)

"""Small things that programs find beside the clients."""

from __future__ import annotations

import re
from typing import Any


class EnumHelper:
    """For enums whose members may be given by value, or by name in any case and with dashes."""

    @classmethod
    def build_from(cls: Any, val: Any) -> Any:
        """The member. Raises: ValueError."""
        if isinstance(val, cls):
            return val
        try:
            return cls(val)
        except ValueError:
            pass
        try:
            return cls[str(val).strip().upper().replace("-", "_")]
        except KeyError:
            raise ValueError(f"Unrecognized {cls.__name__}: {val}") from None

    @classmethod
    def value_for(cls: Any, val: Any) -> Any:
        """The member's value. Raises: ValueError."""
        if isinstance(val, cls):
            return val.value
        if isinstance(val, int):
            return cls(val).value
        try:
            return cls[str(val).upper().replace("-", "_")].value
        except KeyError:
            raise ValueError(f"Unrecognized {cls.__name__}: {val}") from None


TOPIC_MAX_LENGTH = 249
TOPIC_LEGAL_CHARS = re.compile("^[a-zA-Z0-9._-]+$")


def ensure_valid_topic_name(topic: Any) -> None:
    """Raises: TypeError, ValueError for what cannot be the name of a topic."""
    if topic is None:
        raise TypeError("All topics must not be None")
    if not isinstance(topic, str):
        raise TypeError("All topics must be strings")
    if not topic:
        raise ValueError("All topics must be non-empty strings")
    if topic in (".", ".."):
        raise ValueError('Topic name cannot be "." or ".."')
    if len(topic) > TOPIC_MAX_LENGTH:
        raise ValueError(
            f'Topic name is illegal, it can\'t be longer than {TOPIC_MAX_LENGTH} characters, topic: "{topic}"'
        )
    if not TOPIC_LEGAL_CHARS.match(topic):
        raise ValueError(
            f'Topic name "{topic}" is illegal, it contains a character other than ASCII alphanumerics, ".", '
            '"_" and "-"'
        )

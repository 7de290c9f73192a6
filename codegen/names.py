"""Kafka's names as Python writes them. Knows nothing of messages."""

from __future__ import annotations

import keyword
import re


def snake_case(name: str) -> str:
    """`ThrottleTimeMs` -> `throttle_time_ms`, `isKRaftController` -> `is_kraft_controller`."""
    text = name.replace("KRaft", "Kraft")
    text = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", text)
    text = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", text).lower()
    return text + "_" if keyword.iskeyword(text) else text


def error_class_name(code_name: str) -> str:
    """`NOT_CONTROLLER` -> `NotControllerError`; an ending _ERROR or _EXCEPTION is not doubled."""
    words = code_name.removesuffix("_ERROR").removesuffix("_EXCEPTION").split("_")
    return "".join(word.capitalize() for word in words) + "Error"

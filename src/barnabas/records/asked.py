"""What is wrong with what somebody asked for."""

from __future__ import annotations

from barnabas.errors import MisuseError


class UsageError(MisuseError):
    """Options, or fields of a form, that contradict each other, or miss one that they need."""

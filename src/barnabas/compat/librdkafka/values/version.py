"""The releases of confluent-kafka and librdkafka whose behaviour is reproduced here."""

from __future__ import annotations


def version() -> str:
    """The release of confluent-kafka that programs may take this for."""
    return "2.16.1"


def libversion() -> tuple[str, int]:
    """The release of librdkafka that programs may take this for: as text, and as a number, 0xMMmmrrff."""
    return ("2.16.0", 0x021000FF)

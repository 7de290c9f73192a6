"""Scripts that do not show the same yet, each with the releases of Kafka that this is so on."""

PENDING: dict[str, frozenset[str]] = {}
"""By a script's name."""

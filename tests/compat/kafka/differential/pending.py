"""Scripts that are not compared yet, since what they need of ours is not there or differs."""

PENDING: dict[str, frozenset[str]] = {}
"""By a script's name, the generations on which it is not."""

"""Scripts that are not compared yet, since what they need of ours is not there or differs."""

PENDING: frozenset[str] = frozenset()
